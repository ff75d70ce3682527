/* The same random traffic for both sides of a comparison: row r sends i to row[r][i], no fixed points. */
#ifndef PERMUTATION_H_INCLUDED
#define PERMUTATION_H_INCLUDED
#include <stdint.h>
__attribute__((unused)) static void permutations(int *to, int hosts, int rounds) { /* Sattolo: one cycle each */
  uint64_t x = 88172645463325252u;
  for (int r = 0; r < rounds; r++) {
    int *row = to + r * hosts;
    for (int i = 0; i < hosts; i++) row[i] = i;
    for (int i = hosts - 1; i > 0; i--) {
      x ^= x << 13, x ^= x >> 7, x ^= x << 17;
      const int j = (int)(x % (uint64_t)i), t = row[i];
      row[i] = row[j];
      row[j] = t;
    }
  }
}
/* Of the message that host i sends in round r: 0.5 to 1.5 MB. */
__attribute__((unused)) static double message_bytes(int i, int r) {
  uint64_t x = ((uint64_t)r << 32) + (uint64_t)i + 88172645463325252u;
  x ^= x << 13, x ^= x >> 7, x ^= x << 17;
  return (double)(500000 + x % 1000001);
}
/* Many flows of each host at once: flow i goes from host i % hosts to to[i], bytes[i] of it. */
__attribute__((unused)) static void dense_traffic(int *to, double *bytes, int hosts, int flows, double most) {
  uint64_t x = 88172645463325252u;
  for (int i = 0; i < hosts * flows; i++) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    to[i] = (int)((uint64_t)(i % hosts + 1) + x % (uint64_t)(hosts - 1)) % hosts;
    bytes[i] = (double)(1 + (x >> 20) % (uint64_t)most);
  }
}
#endif
