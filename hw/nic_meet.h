/* nic_meet.h: processes find each other over TCP and prove that they belong to one job.
   Linux. Public domain or MIT-0, at your choice (end of file).

   Include after nbc_overlap.h and nic_hw.h (NIC_WITH_NBC); implemented where NIC_HW_IMPLEMENTATION is
   defined. nic_tcp.h and nic_udp.h stand on it; programs use those, and read here what a token is.

   HOW. Every rank listens at its address and connects to all ranks below it, all at once. Both sides
   say hello (job, size, rank, 16 fresh random bytes), then each proves that it knows the job's token:
   SipHash-2-4 of 128 bits, keyed by the token, over both hellos. The lower rank then says welcome. A
   connection that does not finish this within 2 s is dropped, so are all but 16 at a time; whoever is
   turned away, or reached somebody else, or itself (a port of its own range), tries again while time
   is left. So a silent or talking stranger at a port neither stops a start nor becomes a rank.

   TOKEN. 128 bits as 32 hexadecimal digits: desc.token, or the environment's NBC_TOKEN, or the first
   line of the file that NBC_TOKEN_FILE names, which nobody else may read (mode 0600). It never travels;
   a recorded handshake cannot be replayed. It decides who takes part in the job. It does not hide or
   sign what is sent afterwards: where others can read or change packets on the way, run the job through
   stunnel, ssh -L or WireGuard, each rank's address being the tunnel's end. Without a token a rank
   listens on loopback only (desc.open_to_all lifts that). */
#if !defined(NIC_HW_H_INCLUDED) || !defined(NBC_OVERLAP_H_INCLUDED)
#  error "nic_meet.h: include nbc_overlap.h and nic_hw.h (NIC_WITH_NBC) first"
#endif
#ifndef NIC_MEET_H_INCLUDED
#  define NIC_MEET_H_INCLUDED
#  ifdef __cplusplus
extern "C" {
#  endif

typedef struct nic_meet_desc {
  int rank, size;
  const char *const
      *addresses;         /* size of them, "host:port" or "[v6]:port", the same on all ranks; or */
  const int *sockets;     /* size connected stream sockets, [rank] ignored; become the meeting's */
  const char *token;      /* 32 hexadecimal digits; NULL = the environment's, or none */
  const char *job;        /* other jobs' ranks are strangers; NULL = NBC_JOB, or "" */
  bool open_to_all;       /* without a token too, listen on addresses other hosts can reach */
  int64_t limit_ns;       /* of the whole meeting; 0 = 30 s */
  int64_t hello_limit_ns; /* of one connection's hello; 0 = 2 s */
  const nbc_clock *clock; /* borrowed for the call; NULL = CLOCK_MONOTONIC_RAW */
  uint8_t mine[16];       /* travels with the hello, for what stands above */
  /* a connection before its first byte, and one that was given up; may be NULL */
  void *(*opened)(void *user, int fd);
  void (*dropped)(void *user, void *handle);
  void *user;
} nic_meet_desc;

typedef struct nic_meet_peer {
  int fd;              /* connected, yours; -1 for the own rank */
  void *handle;        /* of desc.opened */
  bool same_host;      /* both under one running kernel */
  uint64_t sent_bytes; /* on fd so far */
  uint8_t theirs[16];  /* what the other side gave as mine */
  uint8_t key[16];     /* known to both sides of this connection; a secret where there is a token */
} nic_meet_peer;

/* All ranks call it. out  peers  size entries, filled on success
   ret NBC_OK | NBC_E_INVAL (address, token, loopback only) | NBC_E_NOMEM | NBC_E_SYSTEM (cannot listen) |
       NBC_E_TIMEOUT (somebody did not come) | NBC_E_PEER (given sockets: the other side is none of us) */
NIC_API nbc_status nic_meet(const nic_meet_desc *desc, nic_meet_peer *peers, nbc_error *err);
/* Who this process is, and where all ranks are, as its launcher said in the environment:
     nic_run             NBC_RANK, NBC_SIZE, NBC_ADDRESSES ("host:port,host:port,...")
     mpirun of Open MPI  OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_SIZE
     MPICH, Slurm's pmi  PMI_RANK, PMI_SIZE, MPI_LOCALNRANKS
     srun                SLURM_PROCID, SLURM_NTASKS, SLURM_STEP_NODELIST, SLURM_STEP_TASKS_PER_NODE
   NBC_ADDRESSES serves with each of them. Without it: all ranks on this host are 127.0.0.1, srun's are
   on the nodes of its list, in blocks; ports count up from NBC_PORT (default 24000).
   ret NBC_OK | NBC_E_NOT_FOUND (no launcher) | NBC_E_INVAL (a variable is wrong, err names it) | NBC_E_NOMEM */
typedef struct nic_place {
  int rank, size;
  const char *const *addresses; /* size of them */
  void *memory;                 /* freed by nic_place_free */
} nic_place;
NIC_API nbc_status nic_place_env(nic_place *place, nbc_error *err);
NIC_API void nic_place_free(nic_place *place);
/* SipHash-2-4 with 128 bits of result. Source: Aumasson, Bernstein: "SipHash: a fast short-input PRF",
   2012, and the authors' reference for the long result. */
NIC_API void nic_siphash(const uint8_t key[16], const void *data, size_t size_bytes,
                         uint8_t result[16]);
/* A token's text to its 16 bytes. text NULL: NBC_TOKEN, NBC_TOKEN_FILE. found false: there is none.
   ret NBC_OK | NBC_E_INVAL (err says where and what) */
NIC_API nbc_status nic_token(const char *text, uint8_t token[16], bool *found, nbc_error *err);

#  ifdef __cplusplus
}
#  endif
#endif /* NIC_MEET_H_INCLUDED */

/* ============================================================================================== */
/*                                        IMPLEMENTATION                                          */
/* ============================================================================================== */
#if defined(NIC_HW_IMPLEMENTATION) && !defined(NIC_MEET_IMPLEMENTATION_ONCE)
#  define NIC_MEET_IMPLEMENTATION_ONCE
#  include <netdb.h>
#  include <netinet/tcp.h>
#  include <poll.h>
#  include <sys/random.h>

#  ifdef __cplusplus
extern "C" {
#  endif

__attribute__((format(printf, 3, 4))) static nbc_status nic__nbc_fail(nbc_error *err,
                                                                      nbc_status status,
                                                                      const char *format, ...) {
  NIC__FILL_ERROR(err, status, format);
  return status;
}

/* ---- token ------------------------------------------------------------------------------------ */
static uint64_t nic__rotl(uint64_t x, int bits) { return x << bits | x >> (64 - bits); }
static void nic__sip_round(uint64_t v[4]) {
  v[0] += v[1], v[1] = nic__rotl(v[1], 13) ^ v[0], v[0] = nic__rotl(v[0], 32);
  v[2] += v[3], v[3] = nic__rotl(v[3], 16) ^ v[2];
  v[0] += v[3], v[3] = nic__rotl(v[3], 21) ^ v[0];
  v[2] += v[1], v[1] = nic__rotl(v[1], 17) ^ v[2], v[2] = nic__rotl(v[2], 32);
}
/* Little-endian words, whatever the machine. */
static uint64_t nic__le64(const uint8_t *bytes, size_t count) {
  uint64_t word = 0;
  for (size_t i = 0; i < count; i++) word |= (uint64_t)bytes[i] << 8 * i;
  return word;
}
__attribute__((unused)) static void nic__to_le64(uint8_t *bytes, uint64_t word) {
  for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(word >> 8 * i);
}
NIC_API void nic_siphash(const uint8_t key[16], const void *data, size_t size_bytes,
                         uint8_t result[16]) {
  const uint8_t *at = (const uint8_t *)data;
  const uint64_t k0 = nic__le64(key, 8), k1 = nic__le64(key + 8, 8);
  uint64_t v[4] = {k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du ^ 0xee,
                   k0 ^ 0x6c7967656e657261u, k1 ^ 0x7465646279746573u};
  size_t left = size_bytes;
  for (bool last = false; !last;) {
    last = left < 8;
    const uint64_t word =
        last ? nic__le64(at, left) | (uint64_t)size_bytes << 56 : nic__le64(at, 8);
    v[3] ^= word;
    nic__sip_round(v);
    nic__sip_round(v);
    v[0] ^= word;
    if (!last) at += 8, left -= 8;
  }
  for (int half = 0; half < 2; half++) {
    if (half)
      v[1] ^= 0xdd;
    else
      v[2] ^= 0xee;
    for (int i = 0; i < 4; i++) nic__sip_round(v);
    const uint64_t word = v[0] ^ v[1] ^ v[2] ^ v[3];
    for (int i = 0; i < 8; i++) result[8 * half + i] = (uint8_t)(word >> 8 * i);
  }
}

/* The time does not depend on where they differ. */
static bool nic__same_secret(const uint8_t *a, const uint8_t *b, size_t size_bytes) {
  unsigned differ = 0;
  for (size_t i = 0; i < size_bytes; i++) differ |= (unsigned)(a[i] ^ b[i]);
  return differ == 0;
}

NIC_API nbc_status nic_token(const char *text, uint8_t token[16], bool *found, nbc_error *err) {
  char line[64];
  struct stat st;
  const char *from = "token", *path = getenv("NBC_TOKEN_FILE");
  if (!token || !found) return nic__nbc_fail(err, NBC_E_INVAL, "token, found: must not be NULL");
  *found = false;
  memset(token, 0, 16);
  if (!text) text = getenv("NBC_TOKEN"), from = "NBC_TOKEN";
  if (!text && path) {
    from = path;
    if (stat(path, &st) != 0 || nic__read_line(path, line, sizeof line) < 0)
      return nic__nbc_fail(err, NBC_E_INVAL, "NBC_TOKEN_FILE: %.150s: %s", path, strerror(errno));
    if (st.st_mode & 077)
      return nic__nbc_fail(err, NBC_E_INVAL,
                           "NBC_TOKEN_FILE: %.150s: others may read it: chmod 600", path);
    text = line;
  }
  if (!text) return NBC_OK;
  for (size_t i = 0; i < 33; i++) {
    const char c = text[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (i == 32 ? c != 0 : digit < 0) /* never shows the text: it is a secret */
      return nic__nbc_fail(err, NBC_E_INVAL, "%.150s: a token is 32 hexadecimal digits", from);
    if (i < 32) token[i / 2] = (uint8_t)(token[i / 2] << 4 | digit);
  }
  *found = true;
  return NBC_OK;
}

/* ---- a connection on its way ------------------------------------------------------------------ */
enum {
  NIC__MEET_MAGIC = 0x6e696332, /* "nic2", in the byte order of the sender */
  NIC__MEET_PENDING = 16,       /* strangers at a time, besides those that we called */
  NIC__MEET_RETRY_NS = 20000000
};
static const uint8_t nic__meet_welcome[8] = {'w', 'e', 'l', 'c', 'o', 'm', 'e', '\n'};

typedef struct nic__hello {
  uint32_t magic;
  int32_t rank, size;
  uint32_t reserved; /* 0 */
  uint8_t job[16], nonce[16], mine[16];
  char boot_id[36]; /* the same on all processes of one running kernel */
  uint8_t rest[4];
} nic__hello;

typedef enum nic__meet_stage {
  NIC__MEET_FREE = 0,
  NIC__MEET_CONNECTING,
  NIC__MEET_HELLO, /* theirs is awaited */
  NIC__MEET_PROOF,
  NIC__MEET_WELCOME
} nic__meet_stage;

typedef struct nic__meeting {
  int fd, expected; /* rank that we called; -1: a caller */
  nic__meet_stage stage;
  void *handle;
  int64_t end_ns;
  nic__hello mine, theirs;
  uint8_t in[sizeof(nic__hello)];
  size_t got_bytes;
  uint64_t sent_bytes;
} nic__meeting;

/* A rank below ours, which we call. */
typedef struct nic__called {
  struct addrinfo *list, *at;
  int64_t t_next_ns;
  bool on_its_way;
  char why[100]; /* the last try failed */
} nic__called;

typedef struct nic__meet {
  nic_meet_desc desc;
  nic_host host;
  nic_meet_peer *peers;
  uint8_t token[16], job[16];
  int listener, missing, meeting_count;
  nic__meeting *meetings;
  nic__called *called;
  struct pollfd *polls;
  nbc_status status; /* of given sockets: there is no second try */
  bool adopted;
  nbc_error *err;
} nic__meet;

static int64_t nic__meet_clock(void *user) { return nbc_clock_now_ns((const nbc_clock *)user); }
static int64_t nic__meet_now(const nic__meet *m) { return nic_host_now_ns(&m->host); }

static void nic__meet_drop(nic__meet *m, nic__meeting *c, nbc_status status, const char *why) {
  if (c->handle && m->desc.dropped) m->desc.dropped(m->desc.user, c->handle);
  close(c->fd);
  c->stage = NIC__MEET_FREE;
  if (c->expected < 0) return;
  nic__called *k = &m->called[c->expected];
  k->on_its_way = false;
  k->t_next_ns = nic__meet_now(m) + NIC__MEET_RETRY_NS;
  snprintf(k->why, sizeof k->why, "%s", why);
  if (m->desc.sockets && m->status == NBC_OK)
    m->status = nic__nbc_fail(m->err, status, "rank %d: %s", c->expected, why);
}

/* Small, on a fresh connection: it goes whole, or the connection is of no use. */
static bool nic__meet_say(nic__meeting *c, const void *data, size_t size_bytes) {
  const ssize_t k = send(c->fd, data, size_bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (k > 0) c->sent_bytes += (uint64_t)k;
  return k == (ssize_t)size_bytes;
}

static bool nic__meet_to_itself(int fd) {
  struct sockaddr_storage own, peer;
  socklen_t own_bytes = sizeof own, peer_bytes = sizeof peer;
  memset(&own, 0, sizeof own);
  memset(&peer, 0, sizeof peer);
  return getsockname(fd, (struct sockaddr *)&own, &own_bytes) == 0 &&
         getpeername(fd, (struct sockaddr *)&peer, &peer_bytes) == 0 && own_bytes == peer_bytes &&
         memcmp(&own, &peer, own_bytes) == 0;
}

/* The connection stands: says hello. */
static void nic__meet_begin(nic__meet *m, nic__meeting *c) {
  const int on = 1;
  if (nic__meet_to_itself(c->fd)) { /* reset, or the port would be taken for another minute */
    const struct linger hard = {1, 0};
    setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    nic__meet_drop(m, c, NBC_E_PEER, "the connection led back to this process");
    return;
  }
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  c->handle = m->desc.opened ? m->desc.opened(m->desc.user, c->fd) : NULL;
  c->stage = NIC__MEET_HELLO;
  c->got_bytes = 0;
  c->end_ns = nic__meet_now(m) + m->desc.hello_limit_ns;
  memset(&c->mine, 0, sizeof c->mine);
  c->mine.magic = NIC__MEET_MAGIC;
  c->mine.rank = m->desc.rank;
  c->mine.size = m->desc.size;
  memcpy(c->mine.job, m->job, sizeof c->mine.job);
  memcpy(c->mine.mine, m->desc.mine, sizeof c->mine.mine);
  char text[64];
  if (nic__read_line("/proc/sys/kernel/random/boot_id", text, sizeof text) ==
      (int)sizeof c->mine.boot_id)
    memcpy(c->mine.boot_id, text, sizeof c->mine.boot_id);
  if (getrandom(c->mine.nonce, sizeof c->mine.nonce, 0) != (ssize_t)sizeof c->mine.nonce ||
      !nic__meet_say(c, &c->mine, sizeof c->mine))
    nic__meet_drop(m, c, NBC_E_PEER, "no hello could be sent");
}

/* What `from` shows to `to`; with a word of its own it is a key for both. */
static void nic__meet_prove(const nic__meet *m, const nic__hello *from, const nic__hello *to,
                            const char word[8], uint8_t proof[16]) {
  uint8_t text[8 + 2 * sizeof *from];
  memcpy(text, word, 8);
  memcpy(text + 8, from, sizeof *from);
  memcpy(text + 8 + sizeof *from, to, sizeof *to);
  nic_siphash(m->token, text, sizeof text, proof);
}

static void nic__meet_joined(nic__meet *m, nic__meeting *c) {
  nic_meet_peer *p = &m->peers[c->theirs.rank];
  if (p->fd >= 0) { /* it came before, and that connection ended: it tried again */
    if (p->handle && m->desc.dropped) m->desc.dropped(m->desc.user, p->handle);
    close(p->fd);
  } else
    m->missing--;
  memset(p, 0, sizeof *p);
  p->fd = c->fd;
  p->handle = c->handle;
  p->sent_bytes = c->sent_bytes;
  p->same_host =
      c->mine.boot_id[0] && memcmp(c->mine.boot_id, c->theirs.boot_id, sizeof c->mine.boot_id) == 0;
  memcpy(p->theirs, c->theirs.mine, sizeof p->theirs);
  const bool below = c->theirs.rank < m->desc.rank;
  nic__meet_prove(m, below ? &c->theirs : &c->mine, below ? &c->mine : &c->theirs, "nbc-key",
                  p->key);
  c->stage = NIC__MEET_FREE;
  if (c->expected >= 0) m->called[c->expected].on_its_way = false;
}

/* NULL, or why the hello is refused */
static const char *nic__meet_refuses(const nic__meet *m, const nic__meeting *c) {
  const nic__hello *h = &c->theirs;
  if (h->magic != NIC__MEET_MAGIC) return "somebody else answered (no hello of ours)";
  if (memcmp(h->job, m->job, sizeof h->job) != 0) return "a rank of another job answered";
  if (h->size != m->desc.size) return "a rank of a job of another size answered";
  if (h->rank < 0 || h->rank >= m->desc.size || h->rank == m->desc.rank ||
      (c->expected >= 0 ? h->rank != c->expected : h->rank < m->desc.rank))
    return "another rank answered";
  const nic_meet_peer *p = &m->peers[h->rank];
  struct pollfd old = {p->fd, POLLRDHUP, 0};
  if (p->fd >= 0 && poll(&old, 1, 0) == 0) return "this rank is there already";
  return NULL;
}

/* All bytes of a stage are there. */
static void nic__meet_take(nic__meet *m, nic__meeting *c) {
  uint8_t proof[16];
  const char *why = NULL;
  c->got_bytes = 0;
  if (c->stage == NIC__MEET_HELLO) {
    memcpy(&c->theirs, c->in, sizeof c->theirs);
    why = nic__meet_refuses(m, c);
    if (!why) nic__meet_prove(m, &c->mine, &c->theirs, "nbc-own", proof);
    if (!why && !nic__meet_say(c, proof, sizeof proof)) why = "it hung up";
    c->stage = NIC__MEET_PROOF;
  } else if (c->stage == NIC__MEET_PROOF) {
    nic__meet_prove(m, &c->theirs, &c->mine, "nbc-own", proof);
    if (!nic__same_secret(proof, c->in, sizeof proof))
      why = "it does not know the job's token";
    else if (c->theirs.rank < m->desc.rank)
      c->stage = NIC__MEET_WELCOME;
    else if ((why = nic__meet_refuses(m, c)) ==
             NULL) { /* again: another one may have been faster */
      if (nic__meet_say(c, nic__meet_welcome, sizeof nic__meet_welcome))
        nic__meet_joined(m, c);
      else
        why = "it hung up";
    }
  } else if (memcmp(c->in, nic__meet_welcome, sizeof nic__meet_welcome) != 0)
    why = "it says no welcome";
  else
    nic__meet_joined(m, c);
  if (why) nic__meet_drop(m, c, NBC_E_PEER, why);
}

static void nic__meet_read(nic__meet *m, nic__meeting *c) {
  static const size_t want[] = {0, 0, sizeof(nic__hello), 16, sizeof nic__meet_welcome};
  while (c->stage >= NIC__MEET_HELLO) {
    const ssize_t k =
        recv(c->fd, c->in + c->got_bytes, want[c->stage] - c->got_bytes, MSG_DONTWAIT);
    if (k < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
    if (k <= 0) {
      nic__meet_drop(m, c, NBC_E_PEER,
                     c->stage == NIC__MEET_HELLO ? "it hung up before its hello"
                                                 : "it turned us away");
      return;
    }
    c->got_bytes += (size_t)k;
    if (c->got_bytes == want[c->stage]) nic__meet_take(m, c);
  }
}

/* ---- addresses -------------------------------------------------------------------------------- */
/* A number beyond 65535 would be taken modulo that by getaddrinfo. */
static bool nic__is_port(const char *text) {
  char *end;
  const unsigned long number = strtoul(text, &end, 10);
  return *end || (*text >= '0' && *text <= '9' && number <= 65535); /* else a service's name */
}

static nbc_status nic__resolve(const char *address, int type, bool passive, struct addrinfo **list,
                               nbc_error *err) {
  char host[200];
  const char *colon = strrchr(address, ':');
  struct addrinfo hints;
  memset(&hints, 0, sizeof hints);
  hints.ai_socktype = type;
  hints.ai_flags = passive ? AI_PASSIVE : 0;
  size_t host_bytes = colon ? (size_t)(colon - address) : 0;
  if (!colon || !host_bytes || host_bytes >= sizeof host)
    return nic__nbc_fail(err, NBC_E_INVAL, "address \"%.100s\": must be host:port", address);
  if (!nic__is_port(colon + 1))
    return nic__nbc_fail(err, NBC_E_INVAL, "address \"%.100s\": port: 0 to 65535", address);
  const bool brackets = address[0] == '[' && address[host_bytes - 1] == ']';
  memcpy(host, address + brackets, host_bytes - 2 * (size_t)brackets);
  host[host_bytes - 2 * (size_t)brackets] = 0;
  const int code = getaddrinfo(host, colon + 1, &hints, list);
  if (!code) return NBC_OK;
  return nic__nbc_fail(err, code == EAI_MEMORY ? NBC_E_NOMEM : NBC_E_INVAL,
                       "address \"%.100s\": %s", address, gai_strerror(code));
}

static bool nic__is_loopback(const struct sockaddr *a) {
  if (a->sa_family == AF_INET) {
    struct sockaddr_in v4;
    memcpy(&v4, a, sizeof v4);
    return ntohl(v4.sin_addr.s_addr) >> 24 == 127;
  }
  struct sockaddr_in6 v6;
  memset(&v6, 0, sizeof v6);
  if (a->sa_family == AF_INET6) memcpy(&v6, a, sizeof v6);
  return a->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

/* A listening socket at one of the addresses, or -1 with errno. */
static int nic__meet_bind(const struct addrinfo *list) {
  const int on = 1;
  int number = EADDRNOTAVAIL;
  for (const struct addrinfo *a = list; a; a = a->ai_next) {
    const int s =
        socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
    if (s >= 0) setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (s >= 0 && bind(s, a->ai_addr, a->ai_addrlen) == 0 && listen(s, 128) == 0) return s;
    number = errno;
    if (s >= 0) close(s);
  }
  return errno = number, -1;
}

/* A port that is taken may be so for a moment only: a caller of this host was given it as its own. */
static nbc_status nic__meet_listen(nic__meet *m, bool has_token) {
  struct addrinfo *list = NULL;
  const char *address = m->desc.addresses[m->desc.rank];
  nbc_status status = nic__resolve(address, SOCK_STREAM, true, &list, m->err);
  for (const struct addrinfo *a = list; a && status == NBC_OK; a = a->ai_next)
    if (!has_token && !m->desc.open_to_all && !nic__is_loopback(a->ai_addr))
      status = nic__nbc_fail(m->err, NBC_E_INVAL,
                             "%.80s: other hosts can reach it: give the job a token (NBC_TOKEN, "
                             "NBC_TOKEN_FILE), or open_to_all",
                             address);
  int number = 0;
  for (int tries = 0; status == NBC_OK && m->listener < 0 && tries < 100; tries++) {
    if (tries) poll(NULL, 0, NIC__MEET_RETRY_NS / 1000000);
    m->listener = nic__meet_bind(list);
    number = errno;
    if (m->listener < 0 && number != EADDRINUSE) break;
  }
  if (list) freeaddrinfo(list);
  if (status == NBC_OK && m->listener < 0)
    status =
        nic__nbc_fail(m->err, NBC_E_SYSTEM, "%.100s: cannot listen: %s", address, strerror(number));
  return status;
}

/* A free place. All taken by callers: that of the one that is here longest. */
static nic__meeting *nic__meet_place(nic__meet *m, int first, int last) {
  nic__meeting *oldest = NULL;
  for (int i = first; i < last; i++) {
    nic__meeting *c = &m->meetings[i];
    if (c->stage == NIC__MEET_FREE) return memset(c, 0, sizeof *c), c;
    if (!oldest || c->end_ns < oldest->end_ns) oldest = c;
  }
  nic__meet_drop(m, oldest, NBC_E_PEER, "too many at once");
  memset(oldest, 0, sizeof *oldest);
  return oldest;
}

/* Calls rank i at the next of its addresses. */
static void nic__meet_call(nic__meet *m, int i) {
  nic__called *k = &m->called[i];
  const struct addrinfo *a = k->at ? k->at : k->list;
  k->at = a->ai_next;
  k->t_next_ns = nic__meet_now(m) + NIC__MEET_RETRY_NS;
  const int s = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
  if (s < 0 || (connect(s, a->ai_addr, a->ai_addrlen) != 0 && errno != EINPROGRESS)) {
    snprintf(k->why, sizeof k->why, "cannot connect: %s", strerror(errno));
    if (s >= 0) close(s);
    return;
  }
  nic__meeting *c = &m->meetings[i];
  memset(c, 0, sizeof *c);
  c->fd = s;
  c->expected = i;
  c->stage = NIC__MEET_CONNECTING;
  c->end_ns = nic__meet_now(m) + m->desc.hello_limit_ns;
  k->on_its_way = true;
}

static void nic__meet_connected(nic__meet *m, nic__meeting *c) {
  int number = 0;
  socklen_t bytes = sizeof number;
  char why[100];
  if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &number, &bytes) == 0 && number == 0) {
    nic__meet_begin(m, c);
    return;
  }
  snprintf(why, sizeof why, "cannot connect: %s", strerror(number));
  nic__meet_drop(m, c, NBC_E_PEER, why);
}

/* A host that vanishes without a word ends the connection after so long, 0 = a minute; else also one that
   does not acknowledge what was sent, or whose program does not read it. */
__attribute__((unused)) static void nic__meet_watch(int fd, int64_t silence_limit_ns) {
  const int on = 1;
  const int64_t silence_ns = silence_limit_ns > 0 ? silence_limit_ns : 60000000000;
  const int idle_s = silence_ns >= 4000000000
                         ? (int)(silence_ns / 2000000000 < 30000 ? silence_ns / 2000000000 : 30000)
                         : 1;
  const int between_s = idle_s >= 4 ? idle_s / 4 : 1, probes = 4;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &between_s, sizeof between_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  if (silence_limit_ns > 0) {
    const unsigned limit_ms =
        (unsigned)(silence_ns / 1000000 < 2000000000 ? silence_ns / 1000000 : 2000000000) + 1;
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof limit_ms);
  }
}

/* ---- the meeting ------------------------------------------------------------------------------ */
/* One look at everything that may have moved. */
static void nic__meet_turn(nic__meet *m) {
  const int64_t now_ns = nic__meet_now(m);
  nfds_t count = 0;
  for (int i = 0; i < m->desc.rank && m->called && !m->desc.sockets; i++)
    if (m->peers[i].fd < 0 && !m->called[i].on_its_way && now_ns >= m->called[i].t_next_ns)
      nic__meet_call(m, i);
  for (int i = 0; i < m->meeting_count; i++) {
    nic__meeting *c = &m->meetings[i];
    if (c->stage && now_ns > c->end_ns)
      nic__meet_drop(m, c, NBC_E_TIMEOUT,
                     c->stage == NIC__MEET_CONNECTING ? "cannot connect: it does not answer"
                                                      : "no hello from it");
    m->polls[count].fd = c->stage ? c->fd : -1;
    m->polls[count].events = c->stage == NIC__MEET_CONNECTING ? POLLOUT : POLLIN;
    m->polls[count++].revents = 0;
  }
  m->polls[count].fd = m->listener;
  m->polls[count].events = POLLIN;
  m->polls[count].revents = 0;
  if (poll(m->polls, count + 1, 10) <= 0) return;
  for (int i = 0; i < m->meeting_count; i++) {
    nic__meeting *c = &m->meetings[i];
    if (!m->polls[i].revents || !c->stage) continue;
    if (c->stage == NIC__MEET_CONNECTING)
      nic__meet_connected(m, c);
    else
      nic__meet_read(m, c);
  }
  int fd;
  while (m->listener >= 0 && m->polls[count].revents &&
         (fd = accept4(m->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
    nic__meeting *c = nic__meet_place(m, m->desc.size, m->meeting_count);
    c->fd = fd;
    c->expected = -1;
    nic__meet_begin(m, c);
  }
}

static nbc_status nic__meet_late(nic__meet *m) {
  int first = -1, above = 0;
  for (int i = 0; i < m->desc.size; i++)
    if (i != m->desc.rank && m->peers[i].fd < 0) {
      if (i < m->desc.rank && first < 0) first = i;
      if (i > m->desc.rank) above++;
    }
  if (first >= 0)
    return nic__nbc_fail(m->err, NBC_E_TIMEOUT, "rank %d at %.80s: %s", first,
                         m->desc.addresses[first], m->called[first].why);
  return nic__nbc_fail(m->err, NBC_E_TIMEOUT, "%d ranks did not connect", above);
}

static nbc_status nic__meet_prepare(nic__meet *m) {
  const size_t size = (size_t)m->desc.size;
  bool has_token;
  nbc_status status = nic_token(m->desc.token, m->token, &has_token, m->err);
  if (status != NBC_OK) return status;
  const char *job = m->desc.job ? m->desc.job : getenv("NBC_JOB");
  static const uint8_t zero[16] = {0};
  nic_siphash(zero, job ? job : "", job ? strlen(job) : 0, m->job);
  m->meeting_count = m->desc.size + (m->desc.sockets ? 0 : NIC__MEET_PENDING);
  m->meetings = (nic__meeting *)nic__zalloc((size_t)m->meeting_count * sizeof *m->meetings);
  m->polls = (struct pollfd *)nic__zalloc((size_t)(m->meeting_count + 1) * sizeof *m->polls);
  m->called = (nic__called *)nic__zalloc(size * sizeof *m->called);
  if (!m->meetings || !m->polls || !m->called)
    return nic__nbc_fail(m->err, NBC_E_NOMEM, "out of memory");
  if (m->desc.sockets) {
    m->adopted = true;
    for (int i = 0; i < m->desc.size; i++) {
      if (i == m->desc.rank) continue;
      m->meetings[i].fd = m->desc.sockets[i];
      m->meetings[i].expected = i;
      m->called[i].on_its_way = true;
      nic__meet_begin(m, &m->meetings[i]);
    }
    return NBC_OK;
  }
  status = nic__meet_listen(m, has_token);
  for (int i = 0; i < m->desc.rank && status == NBC_OK; i++) {
    status = nic__resolve(m->desc.addresses[i], SOCK_STREAM, false, &m->called[i].list, m->err);
    snprintf(m->called[i].why, sizeof m->called[i].why, "cannot connect");
  }
  return status;
}

/* Keeps what succeeded, or nothing. */
static void nic__meet_end(nic__meet *m, bool keep) {
  if (m->listener >= 0) close(m->listener);
  for (int i = 0; m->meetings && i < m->meeting_count; i++) {
    nic__meeting *c = &m->meetings[i];
    if (!c->stage) continue;
    if (c->handle && m->desc.dropped) m->desc.dropped(m->desc.user, c->handle);
    close(c->fd);
  }
  for (int i = 0; i < m->desc.size; i++) {
    nic_meet_peer *p = &m->peers[i];
    if (m->called && m->called[i].list) freeaddrinfo(m->called[i].list);
    if (keep || p->fd < 0) continue;
    if (p->handle && m->desc.dropped) m->desc.dropped(m->desc.user, p->handle);
    close(p->fd);
    p->fd = -1;
  }
  for (int i = 0; m->desc.sockets && !m->adopted && i < m->desc.size; i++)
    if (i != m->desc.rank) close(m->desc.sockets[i]); /* ours, though nothing came of it */
  NIC_FREE(m->meetings);
  NIC_FREE(m->polls);
  NIC_FREE(m->called);
}

NIC_API nbc_status nic_meet(const nic_meet_desc *desc, nic_meet_peer *peers, nbc_error *err) {
  nic__meet m;
  memset(&m, 0, sizeof m);
  if (!desc || !peers || desc->size < 1 || desc->rank < 0 || desc->rank >= desc->size ||
      (!desc->addresses == !desc->sockets && desc->size > 1))
    return nic__nbc_fail(err, NBC_E_INVAL,
                         "rank, size, and either addresses or sockets: out of range or missing");
  m.desc = *desc;
  m.peers = peers;
  m.err = err;
  m.listener = -1;
  m.missing = desc->size - 1;
  if (desc->clock) m.host.now_ns = nic__meet_clock, m.host.user = (void *)(uintptr_t)desc->clock;
  const bool limited = desc->hello_limit_ns > 0;
  if (m.desc.limit_ns <= 0) m.desc.limit_ns = 30000000000;
  if (!limited) m.desc.hello_limit_ns = desc->sockets ? m.desc.limit_ns : 2000000000;
  memset(peers, 0, (size_t)desc->size * sizeof *peers);
  for (int i = 0; i < desc->size; i++) peers[i].fd = -1;
  nbc_status status = desc->size > 1 ? nic__meet_prepare(&m) : NBC_OK;
  const int64_t end_ns = nic__meet_now(&m) + m.desc.limit_ns;
  while (m.missing > 0 && status == NBC_OK) {
    nic__meet_turn(&m);
    status = m.status;
    if (m.missing > 0 && status == NBC_OK && !m.desc.sockets && nic__meet_now(&m) > end_ns)
      status = nic__meet_late(&m);
  }
  nic__meet_end(&m, status == NBC_OK);
  return status;
}

/* ---- what the launcher says ------------------------------------------------------------------- */
/* A variable as a number in lo ... hi; *found false: not set. */
static nbc_status nic__env_number(const char *name, long lo, long hi, int *value, bool *found,
                                  nbc_error *err) {
  const char *text = getenv(name);
  char *end = NULL;
  *found = text != NULL;
  if (!text) return NBC_OK;
  errno = 0;
  const long number = strtol(text, &end, 10);
  if (errno || end == text || *end || number < lo || number > hi)
    return nic__nbc_fail(err, NBC_E_INVAL, "%s: must be a number from %ld to %ld", name, lo, hi);
  *value = (int)number;
  return NBC_OK;
}

/* The next host of a list as Slurm writes it, "n[01-03,7],m": `at` moves on inside brackets by `inside`.
   false: the end, or malformed (*bad). */
typedef struct nic__hosts {
  const char *at;    /* of the next item */
  const char *item;  /* inside brackets: the number that is next begins here; NULL: outside */
  char head[128];    /* before the bracket */
  long number, last; /* of a range that is not used up; number > last: none */
  int digits;
  bool bad;
} nic__hosts;
static bool nic__host_next(nic__hosts *h, char *host, size_t host_bytes) {
  while (true) {
    if (h->number <= h->last) {
      snprintf(host, host_bytes, "%.128s%0*ld", h->head, h->digits, h->number++);
      return true;
    }
    if (h->item) {
      char *end;
      if (*h->item == ']') {
        h->bad = h->item[1] != ',' && h->item[1] != 0; /* one dimension only */
        if (h->bad) return false;
        h->at = h->item + 1 + (h->item[1] == ',');
        h->item = NULL;
        continue;
      }
      if (*h->item == ',') h->item++;
      h->number = h->last = strtol(h->item, &end, 10);
      h->digits = (int)(end - h->item);
      if (*end == '-') h->last = strtol(end + 1, &end, 10);
      h->bad = end == h->item || (*end != ',' && *end != ']') || h->last < h->number ||
               h->last - h->number > 1000000 || h->number < 0;
      if (h->bad) return false;
      h->item = end;
      continue;
    }
    if (!*h->at) return false;
    const size_t n = strcspn(h->at, ",[");
    h->bad = n == 0 || n >= sizeof h->head || n >= host_bytes;
    if (h->bad) return false;
    memcpy(h->head, h->at, n);
    h->head[n] = 0;
    if (h->at[n] == '[') {
      h->item = h->at + n + 1;
      h->number = 1, h->last = 0;
      continue;
    }
    h->at += n + (h->at[n] == ',');
    snprintf(host, host_bytes, "%s", h->head);
    return true;
  }
}

/* Tasks on the next node of "2(x3),1". 0: malformed or at its end. */
static long nic__tasks_next(const char **at, long *again) {
  char *end;
  static const char repeat[] = "(x";
  const long count = strtol(*at, &end, 10);
  const char *next = end;
  long times = 1;
  if (end == *at || count < 1) return 0;
  if (strncmp(end, repeat, 2) == 0) {
    times = strtol(end + 2, &end, 10);
    if (*end != ')') return 0;
    next = end + 1;
  }
  if (++*again >= times) {
    *again = 0;
    *at = next + (*next == ',');
  }
  return count;
}

/* text: room for size addresses of 160 bytes. */
static bool nic__place_slurm(int size, int port, char (*text)[160]) {
  const char *list = getenv("SLURM_STEP_NODELIST"), *tasks = getenv("SLURM_STEP_TASKS_PER_NODE");
  if (!list) list = getenv("SLURM_JOB_NODELIST");
  if (!tasks) tasks = getenv("SLURM_TASKS_PER_NODE");
  nic__hosts h;
  char host[140];
  long again = 0;
  memset(&h, 0, sizeof h);
  h.at = list ? list : "";
  h.number = 1;
  int rank = 0;
  while (tasks && rank < size && nic__host_next(&h, host, sizeof host)) {
    const long count = nic__tasks_next(&tasks, &again);
    if (count == 0) return false;
    for (long k = 0; k < count && rank < size; k++, rank++)
      snprintf(text[rank], sizeof text[rank], "%s:%d", host, port + rank);
  }
  return rank == size && !h.bad;
}

static bool nic__place_list(const char *list, int size, char (*text)[160]) {
  int rank = 0;
  for (const char *at = list; rank < size; rank++) {
    const size_t n = strcspn(at, ",");
    if (n == 0 || n >= sizeof text[0]) return false;
    memcpy(text[rank], at, n);
    text[rank][n] = 0;
    at += n;
    if (*at != ',') return !*at && rank + 1 == size;
    at++;
  }
  return false; /* more than size */
}

NIC_API nbc_status nic_place_env(nic_place *place, nbc_error *err) {
  static const char *const names[4][3] = {
      {"NBC_RANK", "NBC_SIZE", "NBC_SIZE"},
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
      {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
      {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_NTASKS"}};
  bool has_rank = false, has_size = false, has_local, has_port;
  int local = 0, port = 24000, who = 0;
  if (!place) return nic__nbc_fail(err, NBC_E_INVAL, "place: must not be NULL");
  memset(place, 0, sizeof *place);
  nbc_status status = nic__env_number("NBC_PORT", 1, 65000, &port, &has_port, err);
  for (; who < 4 && status == NBC_OK; who++) {
    status = nic__env_number(names[who][1], 1, 1000000, &place->size, &has_size, err);
    if (status == NBC_OK && has_size)
      status = nic__env_number(names[who][0], 0, place->size - 1, &place->rank, &has_rank, err);
    if (has_rank && has_size) break;
  }
  if (status != NBC_OK) return status;
  if (!has_rank || !has_size)
    return nic__nbc_fail(err, NBC_E_NOT_FOUND,
                         "no launcher: neither NBC_RANK, OMPI_COMM_WORLD_RANK, PMI_RANK nor "
                         "SLURM_PROCID is set");
  status = nic__env_number(names[who][2], 0, 1000000, &local, &has_local, err);
  if (status != NBC_OK) return status;
  const size_t size = (size_t)place->size;
  const char **addresses = (const char **)nic__zalloc(size * (sizeof *addresses + 160));
  if (!addresses) return nic__nbc_fail(err, NBC_E_NOMEM, "out of memory");
  char(*text)[160] = (char(*)[160])(void *)(addresses + size);
  const char *list = getenv("NBC_ADDRESSES");
  const bool fits = port + place->size <= 65536;
  bool ok = list ? nic__place_list(list, place->size, text) : fits;
  if (!list && who == 3)
    ok = ok && nic__place_slurm(place->size, port, text);
  else if (!list) {
    ok = ok && has_local && who != 0 && local == place->size;
    for (int i = 0; ok && i < place->size; i++)
      snprintf(text[i], sizeof text[i], "127.0.0.1:%d", port + i);
  }
  for (size_t i = 0; i < size; i++) addresses[i] = text[i];
  place->addresses = addresses;
  place->memory = (void *)addresses;
  if (ok) return NBC_OK;
  nic_place_free(place);
  return nic__nbc_fail(
      err, NBC_E_INVAL,
      list ? "NBC_ADDRESSES: must be as many host:port with commas as there are ranks"
           : "where the other ranks are is not known: set NBC_ADDRESSES, or start "
             "with nic_run");
}
NIC_API void nic_place_free(nic_place *place) {
  if (!place) return;
  NIC_FREE(place->memory);
  memset(place, 0, sizeof *place);
}

#  ifdef __cplusplus
}
#  endif
#endif /* NIC_MEET_IMPLEMENTATION_ONCE */

/* ----------------------------------------------------------------------------------------------
   LICENCE: either public domain (unlicense.org: copy, modify, publish, use, compile, sell or
   distribute, for any purpose, by any means) or MIT No Attribution (MIT-0), whichever you choose;
   full text in LICENSE. The software is provided "as is", without warranty of any kind.
   ---------------------------------------------------------------------------------------------- */
