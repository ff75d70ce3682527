/* nic_run: starts the ranks of a program that talks over nic_tcp.h, on this host or on several.

     nic_run -n 4 ./program ARGUMENTS...
     nic_run --hosts FILE --interface eth0 ./program ARGUMENTS...
     nic_run --hosts FILE --rsh "ssh -o BatchMode=yes" --remote /usr/bin/nic_run ./program

   FILE: one host a line, "NAME [slots=N]"; # begins a comment. Each rank finds NBC_RANK, NBC_SIZE,
   NBC_ADDRESSES, NBC_TOKEN and NBC_JOB in its environment; nic_place_env reads them. Addresses are those
   of the interface on each host (default: 127.0.0.1 for one host, else the interface that has the
   default route or, without one, the first that is up); ports are free ones there.

   On each host `nic_run --serve` does the work: it is started by the command of --rsh with the host's name
   (words are split at blanks), is told everything through its standard input, so that the token stands on
   no command line, and ends its ranks when that input ends: nothing outlives a job whose nic_run was
   killed. Exit status: 0, or that of the first rank that failed; the others are ended then. */
#include "nbc_overlap.h"
#include "tools/options.h"
#include "tools/output.h"
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

enum { HOSTS = 1024, RANKS = 4096, LINE = 65536, ADDRESS = 64 };

typedef struct host {
  char name[128];
  int slots, first_rank;
  pid_t pid;
  int in, out; /* the helper's; -1: ended */
  char line[LINE];
  size_t used;
  bool said; /* its addresses */
} host;

static host *hosts;
static int host_count, rank_count;
static char addresses[RANKS][ADDRESS];
static volatile sig_atomic_t stop_asked;
static void on_signal(int number) { (void)number, stop_asked = 1; }

static int fail(const char *what, const char *why) {
  fprintf(stderr, "nic_run: %s: %s\n", what, why);
  return 1;
}
/* ---- on each host ------------------------------------------------------------------------------- */
/* An address of this host for others; ret false with a line on stderr. */
static bool own_address(const char *interface, char text[ADDRESS]) {
  struct ifaddrs *list, *a, *best = NULL;
  char routed[IF_NAMESIZE] = "", line[256];
  FILE *routes = *interface ? NULL : fopen("/proc/net/route", "re");
  while (routes && fgets(line, sizeof line, routes)) {
    char name[IF_NAMESIZE + 1];
    unsigned destination;
    if (sscanf(line, "%16s %x", name, &destination) == 2 && destination == 0 && !*routed)
      snprintf(routed, sizeof routed, "%.15s", name);
  }
  if (routes) fclose(routes);
  if (getifaddrs(&list) != 0) return fail("addresses", strerror(errno)), false;
  for (a = list; a; a = a->ifa_next) {
    if (!a->ifa_addr || a->ifa_addr->sa_family != AF_INET || !(a->ifa_flags & IFF_UP)) continue;
    const bool wanted = *interface ? strcmp(a->ifa_name, interface) == 0
                        : *routed  ? strcmp(a->ifa_name, routed) == 0
                                   : !(a->ifa_flags & IFF_LOOPBACK);
    if (wanted && !best) best = a;
  }
  if (best) {
    struct sockaddr_in at;
    memcpy(&at, best->ifa_addr, sizeof at);
    inet_ntop(AF_INET, &at.sin_addr, text, ADDRESS);
  }
  freeifaddrs(list);
  if (!best) fail(*interface ? interface : "interfaces", "none with an IPv4 address that is up");
  return best != NULL;
}

/* Ports that are free now; all sockets are held until the last one is known. */
static bool free_ports(const char *address, int count, int *ports) {
  int fds[RANKS], k = 0;
  bool ok = true;
  for (; k < count && ok; k++) {
    struct sockaddr_in at;
    socklen_t bytes = sizeof at;
    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    inet_pton(AF_INET, address, &at.sin_addr);
    fds[k] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ok = fds[k] >= 0 && bind(fds[k], (struct sockaddr *)&at, sizeof at) == 0 &&
         getsockname(fds[k], (struct sockaddr *)&at, &bytes) == 0;
    ports[k] = ntohs(at.sin_port);
  }
  while (k-- > 0)
    if (fds[k] >= 0) close(fds[k]);
  return ok || fail(address, strerror(errno)) == 0;
}

/* A line of our input as nic_run meant it (see tell): "\\n" is a newline in it, "\\\\" a backslash. NULL: the
   end, or no memory. */
static char *input_line(void) {
  static char *line;
  static size_t capacity;
  if (getline(&line, &capacity, stdin) < 0) return NULL;
  char *to = line;
  for (const char *at = line; *at && *at != '\n'; at++) {
    if (*at == '\\' && at[1])
      at++, *to++ = *at == 'n' ? '\n' : *at;
    else
      *to++ = *at;
  }
  *to = 0;
  return line;
}

static pid_t start_rank(int rank, char **words) {
  char text[16];
  snprintf(text, sizeof text, "%d", rank);
  fflush(NULL);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  setenv("NBC_RANK", text, 1);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  setpgid(0, 0);
  const int null = open("/dev/null", O_RDONLY);
  if (null >= 0) dup2(null, 0);
  execvp(words[0], words);
  fprintf(stderr, "nic_run: %s: %s\n", words[0], strerror(errno));
  _exit(127);
}

/* Until all ranks are over, one failed, or nic_run's end of our input is gone. */
static int watch_ranks(pid_t *pids, int count) {
  int code = 0, left = count;
  int64_t killed_at = 0;
  for (time_t now; left > 0;) {
    int status;
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    for (int i = 0; i < count && pid > 0; i++)
      if (pids[i] == pid) {
        pids[i] = 0;
        left--;
        const int end = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        if (code == 0) code = end;
      }
    if (pid > 0) continue;
    struct pollfd p = {0, POLLIN, 0};
    char rest[64];
    const bool over = code != 0 || stop_asked ||
                      (poll(&p, 1, 20) > 0 && p.revents && read(0, rest, sizeof rest) <= 0);
    if (!over) continue;
    if (code == 0) code = 143;
    now = time(NULL);
    for (int i = 0; i < count; i++)
      if (pids[i] > 0) kill(-pids[i], killed_at && now - killed_at > 2 ? SIGKILL : SIGTERM);
    if (!killed_at) killed_at = now;
    poll(NULL, 0, 20);
  }
  return code;
}

/* Input: "interface NAME", "ranks N"; then, after our line of addresses: "first N", "set NAME=VALUE"...,
   "word TEXT"..., "folder PATH", "go". */
static int serve(void) {
  char interface[64] = "", address[ADDRESS], *line, **words = NULL;
  static int ports[RANKS];
  static pid_t pids[RANKS];
  int count = 0, first = 0, word_count = 0;
  setvbuf(stdin, NULL, _IONBF, 0); /* the end of the input must reach watch_ranks */
  while ((line = input_line()) != NULL && strcmp(line, "go ") != 0) {
    if (strncmp(line, "interface ", 10) == 0)
      snprintf(interface, sizeof interface, "%.63s", line + 10);
    if (strncmp(line, "ranks ", 6) == 0) {
      count = atoi(line + 6);
      if (count < 1 || count > RANKS) return fail("ranks", "out of range");
      if (strcmp(interface, "lo") == 0)
        strcpy(address, "127.0.0.1");
      else if (!own_address(interface, address))
        return 1;
      if (!free_ports(address, count, ports)) return 1;
      printf("nic_run-addresses");
      for (int i = 0; i < count; i++) printf(" %s:%d", address, ports[i]);
      putchar('\n');
      if (!output_flush()) return 1;
    }
    if (strncmp(line, "first ", 6) == 0) first = atoi(line + 6);
    if (strncmp(line, "set ", 4) == 0 && strchr(line + 4, '=')) {
      char *equals = strchr(line + 4, '=');
      *equals = 0;
      setenv(line + 4, equals + 1, 1);
    }
    if (strncmp(line, "folder ", 7) == 0 && chdir(line + 7) != 0)
      return fail(line + 7, strerror(errno));
    if (strncmp(line, "word ", 5) == 0) {
      char **grown = (char **)realloc(words, (size_t)(word_count + 2) * sizeof *words);
      if (!grown || !(grown[word_count++] = strdup(line + 5)))
        return fail("memory", "out of memory");
      words = grown;
      words[word_count] = NULL;
    }
  }
  if (!line || !words) return fail("serve", "is started by nic_run, not by hand");
  for (int i = 0; i < count; i++)
    if ((pids[i] = start_rank(first + i, words)) < 0) {
      count = i;
      stop_asked = 1;
      fail("fork", strerror(errno));
    }
  const int code = watch_ranks(pids, count);
  for (int i = 0; i < word_count; i++) free(words[i]);
  free(words);
  return code;
}

/* ---- the launcher ------------------------------------------------------------------------------- */
/* "NAME [slots=N]"; false: something else. ret true with an empty name: a line without a host. */
static bool take_host(char *line, host *h) {
  static const char blanks[] = " \t\r";
  line[strcspn(line, "#\n")] = 0;
  char *name = line + strspn(line, blanks), *more = name + strcspn(name, blanks);
  const size_t name_bytes = (size_t)(more - name);
  more += strspn(more, blanks);
  char *end = more + strcspn(more, blanks);
  if (end[strspn(end, blanks)] || name_bytes >= sizeof h->name || *name == '-') return false;
  *end = 0;
  memcpy(h->name, name, name_bytes);
  h->name[name_bytes] = 0;
  int64_t slots = 1;
  const bool is_good =
      !*more || (strncmp(more, "slots=", 6) == 0 && number_whole(more + 6, 1, RANKS, &slots));
  h->slots = (int)slots;
  return is_good;
}
static int read_hosts(const char *path) {
  char *line = NULL;
  size_t capacity = 0;
  int number = 1, bad = 0;
  FILE *file = fopen(path, "re");
  if (!file) return fail(path, strerror(errno)), 2;
  for (; !bad && getline(&line, &capacity, file) >= 0; number++) {
    host h = {.in = -1, .out = -1};
    bad = !take_host(line, &h) || (h.name[0] && host_count == HOSTS);
    if (!bad && h.name[0]) hosts[host_count++] = h;
  }
  if (bad)
    fprintf(stderr, "nic_run: %s:%d: must be NAME [slots=N], %d hosts and %d slots at most\n", path,
            number - 1, HOSTS, RANKS);
  else if (ferror(file))
    fail(path, strerror(errno)), bad = 1;
  else if (!host_count)
    fail(path, "no host in it"), bad = 1;
  free(line);
  fclose(file);
  return bad ? 2 : 0;
}

/* rsh NULL: this host. */
static bool start_host(host *h, const char *rsh, const char *remote) {
  int in[2], out[2];
  char *words[64], *copy = strdup(rsh ? rsh : "");
  int count = 0;
  if (!copy) return fail("memory", "out of memory"), false;
  for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
    if (count == 60) return free(copy), fail("--rsh", "at most 60 words"), false;
    words[count++] = word;
  }
  if (rsh) words[count++] = h->name;
  words[count++] = (char *)(uintptr_t)remote;
  words[count++] = (char *)(uintptr_t) "--serve";
  words[count] = NULL;
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
    return free(copy), fail("pipe", strerror(errno)), false;
  fflush(NULL);
  h->pid = fork();
  if (h->pid == 0) {
    dup2(in[0], 0);
    dup2(out[1], 1);
    setpgid(0, 0); /* Ctrl-C reaches nic_run alone, which ends all in order */
    execvp(words[0], words);
    fprintf(stderr, "nic_run: %s: %s\n", words[0], strerror(errno));
    _exit(127);
  }
  free(copy);
  close(in[0]);
  close(out[1]);
  h->in = in[1];
  h->out = out[0];
  return h->pid > 0 || fail("fork", strerror(errno)) == 0;
}

/* One line: a word and any text, however long, also with newlines. */
static bool tell(const host *h, const char *word, const char *text) {
  const size_t word_bytes = strlen(word), text_bytes = strlen(text);
  char *line = (char *)malloc(word_bytes + 2 * text_bytes + 3), *to = line;
  if (!line) return fail("memory", "out of memory"), false;
  memcpy(to, word, word_bytes);
  to += word_bytes;
  *to++ = ' ';
  for (const char *at = text; *at; at++) {
    if (*at == '\\' || *at == '\n') *to++ = '\\';
    *to++ = *at == '\n' ? 'n' : *at;
  }
  *to++ = '\n';
  bool ok = true;
  for (const char *at = line; at < to && ok;) {
    const ssize_t k = write(h->in, at, (size_t)(to - at));
    if (k > 0) at += k;
    ok = k > 0 || (k < 0 && errno == EINTR && !stop_asked);
  }
  free(line);
  return ok;
}
static bool tell_variable(const host *h, const char *name, const char *value) {
  char word[64];
  snprintf(word, sizeof word, "set %s=", name);
  const size_t n = strlen(word), bytes = strlen(value);
  char *text = (char *)malloc(n + bytes); /* without "set " */
  if (!text) return fail("memory", "out of memory"), false;
  memcpy(text, word + 4, n - 4);
  memcpy(text + n - 4, value, bytes + 1);
  const bool ok = tell(h, "set", text);
  free(text);
  return ok;
}

/* Its addresses, from the line that says them. */
static bool take_addresses(host *h) {
  char *at = h->line + strlen("nic_run-addresses");
  for (int i = 0; i < h->slots; i++) {
    int used = 0;
    if (sscanf(at, " %63s%n", addresses[h->first_rank + i], &used) != 1) return false;
    at += used;
  }
  return h->said = true;
}

/* What a host printed: first its addresses, then its ranks' lines. false: its end. */
static bool take_output(host *h) {
  const ssize_t k = read(h->out, h->line + h->used, sizeof h->line - 1 - h->used);
  if (k <= 0) {
    if (h->used && h->said) fwrite(h->line, 1, h->used, stdout);
    close(h->out);
    h->out = -1;
    return false;
  }
  h->used += (size_t)k;
  h->line[h->used] = 0;
  for (char *end;
       (end = memchr(h->line, '\n', h->used)) != NULL || h->used == sizeof h->line - 1;) {
    const size_t n = end ? (size_t)(end - h->line) + 1 : h->used;
    if (h->said)
      fwrite(h->line, 1, n, stdout);
    else if (strncmp(h->line, "nic_run-addresses ", 18) == 0 && !take_addresses(h))
      return fail(h->name, "does not say its addresses"), false;
    memmove(h->line, h->line + n, h->used - n);
    h->used -= n;
  }
  fflush(stdout);
  return true;
}

/* Until all have said their addresses (first), or have ended. ret false: one ended too early. */
static bool listen_to_hosts(bool first) {
  static struct pollfd p[HOSTS];
  while (!stop_asked) {
    int left = 0;
    for (int i = 0; i < host_count; i++) {
      p[i].fd = first && hosts[i].said ? -1 : hosts[i].out;
      p[i].events = POLLIN;
      left += p[i].fd >= 0;
    }
    if (left == 0) return true;
    if (poll(p, (nfds_t)host_count, 1000) < 0) continue;
    for (int i = 0; i < host_count; i++) {
      if (p[i].fd < 0 || !p[i].revents || take_output(&hosts[i])) continue;
      int status;
      if (first) return false;
      if (waitpid(hosts[i].pid, &status, 0) == hosts[i].pid) {
        hosts[i].pid = 0;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
          return hosts[i].slots = WIFEXITED(status) ? -WEXITSTATUS(status) : -1, false;
      }
    }
  }
  return false;
}

static bool tell_all(char **words, const char *interface) {
  static char list[RANKS * ADDRESS];
  char token[33], number[16], folder[4096];
  uint8_t secret[16];
  const char *given = getenv("NBC_TOKEN"), *job = getenv("NBC_JOB");
  bool ok = getrandom(secret, sizeof secret, 0) == (ssize_t)sizeof secret;
  for (int i = 0; i < 16; i++) snprintf(token + 2 * i, 3, "%02x", secret[i]);
  for (int i = 0; i < host_count && ok; i++) {
    snprintf(number, sizeof number, "%d", hosts[i].slots);
    ok = tell(&hosts[i], "interface", interface) && tell(&hosts[i], "ranks", number);
  }
  if (!ok || !listen_to_hosts(true)) return false;
  for (int i = 0, used = 0; i < rank_count; i++)
    used += snprintf(list + used, sizeof list - (size_t)used, "%s%s", i ? "," : "", addresses[i]);
  const bool here = getcwd(folder, sizeof folder) != NULL;
  for (int i = 0; i < host_count && ok; i++) {
    const host *h = &hosts[i];
    snprintf(number, sizeof number, "%d", rank_count);
    ok = tell_variable(h, "NBC_SIZE", number) && tell_variable(h, "NBC_ADDRESSES", list) &&
         tell_variable(h, "NBC_TOKEN", given ? given : token) &&
         tell_variable(h, "NBC_JOB", job ? job : token + 24) &&
         (!here || tell(h, "folder", folder));
    snprintf(number, sizeof number, "%d", h->first_rank);
    ok = ok && tell(h, "first", number);
    for (char **word = words; *word && ok; word++) ok = tell(h, "word", *word);
    ok = ok && tell(h, "go", "");
  }
  return ok;
}

static int run(char **words, const char *interface, const char *rsh, const char *remote) {
  int code = 0;
  bool ok = true;
  for (int i = 0; i < host_count; i++) hosts[i].in = hosts[i].out = -1;
  for (int i = 0; i < host_count && ok; i++) ok = start_host(&hosts[i], rsh, remote);
  ok = ok && tell_all(words, interface) && listen_to_hosts(false);
  for (int i = 0; i < host_count; i++) /* the end of its input ends what still runs */
    if (hosts[i].in >= 0) close(hosts[i].in);
  for (int i = 0; i < host_count; i++) {
    int status = 0;
    if (hosts[i].slots < 0 && code == 0) code = -hosts[i].slots;
    while (hosts[i].out >= 0 && take_output(&hosts[i])) {
    }
    if (hosts[i].pid > 0 && waitpid(hosts[i].pid, &status, 0) > 0 && code == 0 && status && ok)
      code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  }
  if (stop_asked) return 130;
  return ok ? code : code ? code : 1;
}

int main(int argc, char **argv) {
  int slots = 0;
  const char *file = NULL, *interface = NULL, *rsh = "ssh -o BatchMode=yes", *remote = argv[0];
  uint64_t wanted = 0;
  const option options[] = {
      {"-n", "RANKS", "so many, over the hosts' slots in order (default: all slots; 1)",
       .whole = &wanted, .range = {1, RANKS}},
      {"--hosts", "FILE", "one host a line: NAME [slots=N]; without it: this host", .text = &file},
      {"--interface", "NAME", "whose addresses the ranks use on each host", .text = &interface},
      {"--rsh", "COMMAND", "starts a command on a host: COMMAND HOST ... (ssh -o BatchMode=yes)",
       .text = &rsh},
      {"--remote", "PATH", "nic_run on the hosts (as this one was called)", .text = &remote},
      {0}};
  const command_line command = {
      "usage: nic_run [-n RANKS] [--hosts FILE] [--interface NAME] [--rsh COMMAND] [--remote "
      "PATH]\n"
      "               PROGRAM [ARGUMENTS...]\n",
      options, NULL};
  output_begin("nic_run");
  const struct sigaction action = {.sa_handler = on_signal};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  if (argc == 2 && strcmp(argv[1], "--serve") == 0) return serve();
  const int at = options_before(&command, 1, argc, argv);
  if (at == argc) return fputs(command.usage, stderr), 2;
  hosts = (host *)calloc(HOSTS, sizeof *hosts);
  if (!hosts) return fail("memory", "out of memory");
  if (file) {
    const int bad = read_hosts(file);
    if (bad) return bad;
  } else {
    host_count = 1;
    hosts[0].slots = wanted ? (int)wanted : 1;
    if (!interface) interface = "lo";
  }
  for (int i = 0; i < host_count; i++) slots += hosts[i].slots;
  rank_count = wanted ? (int)wanted : slots;
  if (rank_count > slots || rank_count > RANKS)
    return fail("-n", "more ranks than the hosts have slots"), 2;
  for (int i = 0, rank = 0; i < host_count; i++) {
    host *h = &hosts[i];
    h->first_rank = rank;
    if (h->slots > rank_count - rank) h->slots = rank_count - rank;
    rank += h->slots;
    if (h->slots == 0) host_count = i;
  }
  const int code = run(argv + at, interface ? interface : "", file ? rsh : NULL, remote);
  free(hosts);
  return code;
}
