/* nicstat_serve.h: part of nicstat: the Prometheus page over HTTP, on a TCP port or a Unix socket, for
   Prometheus to fetch it itself. One client at a time, two seconds at most for each; only GET. */
#ifndef NICSTAT_SERVE_H_INCLUDED
#define NICSTAT_SERVE_H_INCLUDED
#include <sys/un.h>

enum { SERVE_LIMIT_MS = 2000, SERVE_REQUEST = 4096 };

/* Milliseconds that are left; 0 or less: none. */
static int serve_left(int64_t end_ns) { return (int)((end_ns - nic_host_now_ns(NULL)) / 1000000); }

/* The request up to its empty line. false: too long, too slow, or gone */
static bool serve_read(int fd, char request[SERVE_REQUEST], int64_t end_ns) {
  size_t got = 0;
  while (got + 1 < SERVE_REQUEST) {
    struct pollfd p = {fd, POLLIN, 0};
    const int left_ms = serve_left(end_ns);
    if (left_ms <= 0 || stop_asked) return false;
    if (poll(&p, 1, left_ms) <= 0) continue;
    const ssize_t k = recv(fd, request + got, SERVE_REQUEST - 1 - got, MSG_DONTWAIT);
    if (k == 0 || (k < 0 && errno != EAGAIN && errno != EINTR)) return false;
    if (k > 0) got += (size_t)k;
    request[got] = 0;
    if (strstr(request, "\r\n\r\n") || strstr(request, "\n\n")) return true;
  }
  return false;
}

static bool serve_write(int fd, const char *data, size_t bytes, int64_t end_ns) {
  while (bytes > 0) {
    struct pollfd p = {fd, POLLOUT, 0};
    const int left_ms = serve_left(end_ns);
    if (left_ms <= 0) return false;
    if (poll(&p, 1, left_ms) <= 0) continue;
    const ssize_t k = send(fd, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (k < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (k > 0) data += k, bytes -= (size_t)k;
  }
  return true;
}

/* The page of this moment: NICs come and go. NULL: no memory, or they cannot be listed. */
static char *serve_page(const settings *o, size_t *bytes) {
  char *page = NULL;
  nic_machine *m = NULL;
  bool short_of_memory = false;
  FILE *out = open_memstream(&page, bytes);
  if (out && nic_find(&o->find, &m, NULL) == NIC_OK)
    prometheus_page(o, m, out, &short_of_memory);
  else
    short_of_memory = true;
  nic_machine_free(m);
  if (out && (ferror(out) | fclose(out))) short_of_memory = true;
  if (short_of_memory) free(page), page = NULL;
  return page;
}

/* ret whether a page was sent */
static bool serve_one(const settings *o, int fd) {
  char request[SERVE_REQUEST], head[200];
  size_t bytes = 0;
  char *page = NULL;
  const char *status = "200 OK";
  const int64_t end_ns = nic_host_now_ns(NULL) + (int64_t)SERVE_LIMIT_MS * 1000000;
  if (!serve_read(fd, request, end_ns)) return false;
  const char *path = strchr(request, ' ');
  if (strncmp(request, "GET ", 4) != 0)
    status = "405 Method Not Allowed";
  else if (!path || (strncmp(path, " /metrics", 9) != 0 && strncmp(path, " / ", 3) != 0))
    status = "404 Not Found";
  else if (!(page = serve_page(o, &bytes)))
    status = "500 Internal Server Error";
  snprintf(head, sizeof head,
           "HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
           "Content-Length: %zu\r\nConnection: close\r\n\r\n",
           status, bytes);
  const bool sent = serve_write(fd, head, strlen(head), end_ns) &&
                    (!page || serve_write(fd, page, bytes, end_ns));
  free(page);
  return sent && status[0] == '2';
}

static int serve_unix(const char *path) {
  struct sockaddr_un at;
  memset(&at, 0, sizeof at);
  at.sun_family = AF_UNIX;
  if (strlen(path) >= sizeof at.sun_path || !*path)
    return fprintf(stderr, "nicstat: unix:%s: a path of 1 to %zu characters is wanted\n", path,
                   sizeof at.sun_path - 1),
           -1;
  strcpy(at.sun_path, path);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 8) == 0) return fd;
  fprintf(stderr, "nicstat: unix:%s: %s%s\n", path, strerror(errno),
          errno == EADDRINUSE ? "; remove it if nobody serves there" : "");
  if (fd >= 0) close(fd);
  return -1;
}

/* where: "http:PORT" (loopback), "http:HOST:PORT", "unix:PATH" */
static int run_serve(const settings *o, const char *where) {
  char address[256];
  const bool is_unix = strncmp(where, "unix:", 5) == 0;
  const char *at = where + 5;
  snprintf(address, sizeof address, "%s%s", strchr(at, ':') ? "" : "127.0.0.1:", at);
  const int server = is_unix ? serve_unix(at) : stamps_socket(address, SOCK_STREAM, true);
  if (server < 0) return server == -2 ? 2 : 1;
  fprintf(stderr, "nicstat: serving %s\n", where);
  for (long pages = 0; !stop_asked && (!o->count || pages < o->count);) {
    struct pollfd p = {server, POLLIN, 0};
    if (poll(&p, 1, 200) <= 0) continue;
    const int fd = accept4(server, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) continue;
    pages += serve_one(o, fd);
    shutdown(fd, SHUT_WR);
    close(fd);
  }
  close(server);
  if (is_unix) unlink(at);
  return 0;
}
#endif /* NICSTAT_SERVE_H_INCLUDED */
