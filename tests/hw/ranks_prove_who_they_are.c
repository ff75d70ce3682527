/* nic_meet: ranks find each other among strangers that are silent, loud or many; only who knows the
   job's token becomes a rank, a replayed handshake does not; a connection that leads back is noticed. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#define NIC_HW_IMPLEMENTATION
#define NIC_WITH_NBC
#include "hw/nic_hw.h"
#include "hw/nic_meet.h"
#include "tests/test.h"
#include <arpa/inet.h>
#include <pthread.h>

#define LIMIT_NS 20000000000
enum { RANKS = 3 };
static int64_t limit_ns = LIMIT_NS;
static char address_text[RANKS][32];
static const char *const addresses[RANKS] = {address_text[0], address_text[1], address_text[2]};
static const char *const token = "000102030405060708090a0b0c0d0e0f";

typedef struct member {
  nic_meet_desc desc;
  nic_meet_peer peers[RANKS];
  nbc_status status;
  nbc_error error;
  int64_t took_ns;
  pthread_t thread;
} member;

/* Ports that were free a moment ago. */
static bool choose_ports(void) {
  for (int i = 0; i < RANKS; i++) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof at;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const bool ok = bind(fd, (struct sockaddr *)&at, sizeof at) == 0 &&
                    getsockname(fd, (struct sockaddr *)&at, &bytes) == 0;
    close(fd);
    if (!ok) return false;
    snprintf(address_text[i], sizeof address_text[i], "127.0.0.1:%d", ntohs(at.sin_port));
  }
  return true;
}
static int call(int rank) { /* connected to a rank's port, or -1 */
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  at.sin_port = htons((uint16_t)atoi(strchr(addresses[rank], ':') + 1));
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0) return fd;
  close(fd);
  return -1;
}
static int call_until_there(int rank) {
  for (int tries = 0; tries < 2000; tries++) {
    const int fd = call(rank);
    if (fd >= 0) return fd;
    poll(NULL, 0, 5);
  }
  return -1;
}

static void *member_main(void *arg) {
  member *m = (member *)arg;
  const int64_t start_ns = nic_host_now_ns(NULL);
  m->status = nic_meet(&m->desc, m->peers, &m->error);
  m->took_ns = nic_host_now_ns(NULL) - start_ns;
  return NULL;
}
static void member_start(member *m, int rank, int size, const char *with_token) {
  memset(m, 0, sizeof *m);
  m->desc.rank = rank;
  m->desc.size = size;
  m->desc.addresses = addresses;
  m->desc.token = with_token;
  m->desc.limit_ns = limit_ns;
  m->desc.mine[0] = (uint8_t)(10 + rank);
  pthread_create(&m->thread, NULL, member_main, m);
}
static void member_end(member *m) {
  for (int i = 0; i < m->desc.size && m->status == NBC_OK; i++)
    if (m->peers[i].fd >= 0) close(m->peers[i].fd);
}
static bool all_met(member *m, int size) {
  bool ok = true;
  for (int i = 0; i < size; i++) {
    pthread_join(m[i].thread, NULL);
    if (m[i].status != NBC_OK) printf("  rank %d: %s\n", i, m[i].error.text);
    ok &= m[i].status == NBC_OK;
  }
  for (int i = 0; i < size && ok; i++)
    for (int k = 0; k < size; k++) {
      if (i == k) continue;
      CHECK(m[i].peers[k].fd >= 0 && m[i].peers[k].same_host && m[i].peers[k].theirs[0] == 10 + k);
      CHECK(memcmp(m[i].peers[k].key, m[k].peers[i].key, 16) == 0);
    }
  return ok;
}

static void siphash_is_the_published_one(void) {
  /* vectors_sip128 of the authors' reference: key 00..0f, text 00..len-1 */
  static const uint8_t empty[16] = {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6,
                                    0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93},
                       one[16] = {0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44,
                                  0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc, 0x45};
  uint8_t key[16], result[16], text[64];
  for (int i = 0; i < 64; i++) text[i] = (uint8_t)i;
  memcpy(key, text, 16);
  nic_siphash(key, text, 0, result);
  CHECK(memcmp(result, empty, 16) == 0);
  nic_siphash(key, text, 1, result);
  CHECK(memcmp(result, one, 16) == 0);
}

/* Rank 0 first: then everybody who is no rank, and only then the others. */
static void strangers_stop_no_start(void) {
  member m[RANKS];
  int strangers[40];
  if (!choose_ports()) SKIP("no loopback interface");
  member_start(&m[0], 0, RANKS, token);
  for (int i = 0; i < 40; i++) {
    char garbage[4096];
    memset(garbage, i, sizeof garbage);
    strangers[i] = call_until_there(0);
    CHECK(strangers[i] >= 0);
    if (i % 2 && send(strangers[i], garbage, sizeof garbage, MSG_NOSIGNAL) < 0) continue;
  }
  for (int i = 1; i < RANKS; i++) member_start(&m[i], i, RANKS, token);
  CHECK(all_met(m, RANKS));
  CHECK(m[1].took_ns < 10000000000 && m[2].took_ns < 10000000000);
  for (int i = 0; i < 40; i++) close(strangers[i]);
  for (int i = 0; i < RANKS; i++) member_end(&m[i]);
}

/* Who does not know the token is turned away until its time is over, and harms nobody. */
static void the_token_decides(void) {
  member m[2], wrong;
  if (!choose_ports()) SKIP("no loopback interface");
  member_start(&m[0], 0, 2, token);
  limit_ns = 300000000;
  member_start(&wrong, 1, 2, "ffffffffffffffffffffffffffffffff");
  pthread_join(wrong.thread, NULL);
  limit_ns = LIMIT_NS;
  CHECK(wrong.status == NBC_E_TIMEOUT && strstr(wrong.error.text, "token"));
  member_start(&m[1], 1, 2, token);
  CHECK(all_met(m, 2));
  for (int i = 0; i < 2; i++) member_end(&m[i]);
}

/* What a right rank said once, said again by another: byte for byte. */
static void a_replayed_handshake_is_refused(void) {
  member m[2];
  uint8_t said[sizeof(nic__hello) + 16];
  if (!choose_ports()) SKIP("no loopback interface");
  /* rank 1 talks to a listener of ours, which hands its words on to rank 0 and keeps them */
  int tap = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t bytes = sizeof at;
  CHECK(bind(tap, (struct sockaddr *)&at, sizeof at) == 0 && listen(tap, 8) == 0 &&
        getsockname(tap, (struct sockaddr *)&at, &bytes) == 0);
  member_start(&m[0], 0, 2, token);
  char through[32];
  snprintf(through, sizeof through, "127.0.0.1:%d", ntohs(at.sin_port));
  const char *const detour[2] = {through, addresses[1]};
  memset(&m[1], 0, sizeof m[1]);
  m[1].desc = m[0].desc;
  m[1].desc.rank = 1;
  m[1].desc.addresses = detour;
  m[1].desc.mine[0] = 11;
  pthread_create(&m[1].thread, NULL, member_main, &m[1]);
  const int from_1 = accept(tap, NULL, NULL), to_0 = call_until_there(0);
  size_t got = 0;
  for (bool over = false; !over;) { /* a wire between the two */
    struct pollfd p[2] = {{from_1, POLLIN, 0}, {to_0, POLLIN, 0}};
    uint8_t data[256];
    if (poll(p, 2, 10000) <= 0) break;
    for (int i = 0; i < 2; i++) {
      const ssize_t k = p[i].revents ? recv(p[i].fd, data, sizeof data, 0) : 0;
      if (p[i].revents && (k <= 0 || send(p[1 - i].fd, data, (size_t)k, MSG_NOSIGNAL) != k))
        over = true;
      for (ssize_t b = 0; i == 0 && b < k && got < sizeof said; b++) said[got++] = data[b];
      if (i == 1 && k == 8 && memcmp(data, nic__meet_welcome, 8) == 0) over = true;
    }
  }
  CHECK(got == sizeof said);
  CHECK(all_met(m, 2));
  for (int i = 0; i < 2; i++) member_end(&m[i]);
  close(from_1);
  close(to_0);
  close(tap);
  /* the job starts again; the recorded words come first */
  member_start(&m[0], 0, 2, token);
  const int thief = call_until_there(0);
  CHECK(send(thief, said, sizeof said, MSG_NOSIGNAL) == (ssize_t)sizeof said);
  uint8_t answer[256];
  ssize_t k, heard = 0;
  while ((k = recv(thief, answer, sizeof answer, 0)) > 0) heard += k;
  CHECK(heard <= (ssize_t)sizeof(nic__hello) + 16); /* hello, a proof of its own; no welcome */
  close(thief);
  member_start(&m[1], 1, 2, token);
  CHECK(all_met(m, 2));
  for (int i = 0; i < 2; i++) member_end(&m[i]);
}

static void tokens_are_checked(void) {
  const char *const open_to_all[1] = {"0.0.0.0:0"};
  uint8_t bytes[16];
  bool found;
  nbc_error error;
  char path[64];
  unsetenv("NBC_TOKEN");
  unsetenv("NBC_TOKEN_FILE");
  CHECK(nic_token(NULL, bytes, &found, &error) == NBC_OK && !found);
  CHECK(nic_token(NULL, NULL, &found, &error) == NBC_E_INVAL && nic_token(NULL, bytes, NULL, &error) == NBC_E_INVAL);
  CHECK(nic_token(token, bytes, &found, &error) == NBC_OK && found && bytes[1] == 1 &&
        bytes[15] == 15);
  CHECK(nic_token("00", bytes, &found, &error) == NBC_E_INVAL && !strstr(error.text, "00"));
  CHECK(nic_token("000102030405060708090a0b0c0d0e0g", bytes, &found, &error) == NBC_E_INVAL);
  CHECK(nic_token("000102030405060708090a0b0c0d0e0f0", bytes, &found, &error) == NBC_E_INVAL);
  snprintf(path, sizeof path, "/tmp/nic_token_%ld", (long)getpid());
  FILE *f = fopen(path, "w");
  CHECK(f && fprintf(f, "%s\n", token) > 0 && fclose(f) == 0 && chmod(path, 0644) == 0);
  setenv("NBC_TOKEN_FILE", path, 1);
  CHECK(nic_token(NULL, bytes, &found, &error) == NBC_E_INVAL &&
        strstr(error.text, "others may read"));
  CHECK(chmod(path, 0600) == 0 && nic_token(NULL, bytes, &found, &error) == NBC_OK && found &&
        bytes[15] == 15);
  remove(path);
  CHECK(nic_token(NULL, bytes, &found, &error) == NBC_E_INVAL &&
        strstr(error.text, "NBC_TOKEN_FILE"));
  unsetenv("NBC_TOKEN_FILE");
  /* without one: loopback only */
  nic_meet_peer peers[2];
  const char *const two[2] = {open_to_all[0], "127.0.0.1:1"};
  nic_meet_desc desc = {.rank = 0, .size = 2, .addresses = two, .limit_ns = 1000000};
  CHECK(nic_meet(&desc, peers, &error) == NBC_E_INVAL && strstr(error.text, "NBC_TOKEN"));
  desc.open_to_all = true;
  CHECK(nic_meet(&desc, peers, &error) == NBC_E_TIMEOUT);
  desc.open_to_all = false;
  desc.token = token;
  CHECK(nic_meet(&desc, peers, &error) == NBC_E_TIMEOUT);
}

/* ---- launchers ---- */
static void set(const char *name, const char *value) {
  if (value)
    setenv(name, value, 1);
  else
    unsetenv(name);
}
/* Variables as pairs, NULL-ended; ret what nic_place_env says; the variables are unset again. */
static nbc_status place_with(const char *const *pairs, nic_place *place, nbc_error *error) {
  for (int i = 0; pairs[i]; i += 2) set(pairs[i], pairs[i + 1]);
  const nbc_status status = nic_place_env(place, error);
  for (int i = 0; pairs[i]; i += 2) set(pairs[i], NULL);
  return status;
}
static void launchers_are_understood(void) {
  static const char *const own[] = {"NBC_RANK",      "1",           "NBC_SIZE", "2",
                                    "NBC_ADDRESSES", "a:1,[::1]:2", NULL},
                           *const ompi[] = {"OMPI_COMM_WORLD_RANK",
                                            "2",
                                            "OMPI_COMM_WORLD_SIZE",
                                            "3",
                                            "OMPI_COMM_WORLD_LOCAL_SIZE",
                                            "3",
                                            "NBC_PORT",
                                            "5000",
                                            NULL},
                           *const far[] = {"PMI_RANK",        "0", "PMI_SIZE", "4",
                                           "MPI_LOCALNRANKS", "2", NULL},
                           *const srun[] = {"SLURM_PROCID",
                                            "6",
                                            "SLURM_NTASKS",
                                            "7",
                                            "SLURM_STEP_NODELIST",
                                            "login,n[08-10,2]x,z",
                                            "SLURM_STEP_TASKS_PER_NODE",
                                            "1(x2),2,1(x3)",
                                            NULL},
                           *const plain[] = {"SLURM_PROCID",
                                             "1",
                                             "SLURM_NTASKS",
                                             "2",
                                             "SLURM_STEP_NODELIST",
                                             "n[1-2]",
                                             "SLURM_STEP_TASKS_PER_NODE",
                                             "1(x2)",
                                             NULL};
  nic_place place;
  nbc_error error;
  CHECK(nic_place_env(&place, &error) == NBC_E_NOT_FOUND);
  CHECK(place_with(own, &place, &error) == NBC_OK && place.rank == 1 && place.size == 2);
  CHECK_STR(place.addresses[1], "[::1]:2");
  nic_place_free(&place);
  CHECK(place_with(ompi, &place, &error) == NBC_OK && place.rank == 2);
  CHECK_STR(place.addresses[2], "127.0.0.1:5002");
  nic_place_free(&place);
  CHECK(place_with(far, &place, &error) == NBC_E_INVAL && strstr(error.text, "NBC_ADDRESSES"));
  CHECK(place_with(plain, &place, &error) == NBC_OK);
  CHECK_STR(place.addresses[0], "n1:24000");
  CHECK_STR(place.addresses[1], "n2:24001");
  nic_place_free(&place);
  /* text behind a bracket is not Slurm's: refused, not guessed */
  CHECK(place_with(srun, &place, &error) == NBC_E_INVAL);
  static const char *const wide[] = {"SLURM_PROCID",
                                     "6",
                                     "SLURM_NTASKS",
                                     "7",
                                     "SLURM_STEP_NODELIST",
                                     "login,n[08-10,2],z",
                                     "SLURM_STEP_TASKS_PER_NODE",
                                     "1(x2),2,1(x3)",
                                     NULL};
  static const char *const at[7] = {"login:24000", "n08:24001", "n09:24002", "n09:24003",
                                    "n10:24004",   "n2:24005",  "z:24006"};
  CHECK(place_with(wide, &place, &error) == NBC_OK && place.size == 7);
  for (int i = 0; i < 7 && place.addresses; i++) CHECK_STR(place.addresses[i], at[i]);
  nic_place_free(&place);
  static const char *const bad[][7] = {
      {"NBC_RANK", "2", "NBC_SIZE", "2", NULL},
      {"NBC_RANK", "x", "NBC_SIZE", "2", NULL},
      {"NBC_RANK", "0", "NBC_SIZE", "2", "NBC_ADDRESSES", "a:1", NULL},
      {"NBC_RANK", "0", "NBC_SIZE", "2", "NBC_ADDRESSES", "a:1,b:2,c:3", NULL},
      {"NBC_RANK", "0", "NBC_SIZE", "0", NULL}};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    CHECK(place_with(bad[i], &place, &error) == NBC_E_INVAL);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(siphash_is_the_published_one);
  RUN(strangers_stop_no_start);
  RUN(the_token_decides);
  RUN(a_replayed_handshake_is_refused);
  RUN(tokens_are_checked);
  RUN(launchers_are_understood);
  return TEST_END();
}
