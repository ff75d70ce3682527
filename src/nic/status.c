/* Status codes, errors with text, host time, memory. */
#include "status.h"
#include "options.h"

/* ============================================================================================== */
/* [STATUS] 2. Status codes, errors with text                                                     */
/* ============================================================================================== */
NIC_API const char *nic_status_name(nic_status status) {
  switch (status) {
#define NIC__X(name, value, text)                                                                  \
  case name: return #name;
    NIC_STATUS_LIST(NIC__X)
#undef NIC__X
  case NIC_STATUS_FORCE_INT32: break;
  }
  return "NIC_?";
}

NIC_API const char *nic_status_text(nic_status status) {
  switch (status) {
#define NIC__X(name, value, text)                                                                  \
  case name: return text;
    NIC_STATUS_LIST(NIC__X)
#undef NIC__X
  case NIC_STATUS_FORCE_INT32: break;
  }
  return "unknown status";
}

NIC__PRIVATE nic_status nic__fail(nic_error *err, nic_status status, const char *format, ...) {
  NIC__FILL_ERROR(err, status, format);
  return status;
}

NIC__PRIVATE nic_status nic__of_errno(int number) {
  switch (number) {
  case EACCES:
  case EPERM: return NIC_E_RIGHTS;
  case ENODEV:
  case ENXIO: return NIC_E_GONE;
  case ENOENT: return NIC_E_NOT_FOUND;
  case EOPNOTSUPP:
  case ENOTTY: return NIC_E_UNSUPPORTED;
  case ENOMEM: return NIC_E_NOMEM;
  default: return NIC_E_SYSTEM;
  }
}

NIC_API int64_t nic_host_now_ns(const nic_host *host) {
  struct timespec t;
  if (host && host->now_ns) return host->now_ns(host->user);
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

NIC__PRIVATE void *nic__zalloc(size_t size_bytes) {
  void *memory = NIC_MALLOC(size_bytes ? size_bytes : 1);
  if (memory) memset(memory, 0, size_bytes);
  return memory;
}

/* Room for one more item in an array of count items; capacity doubles. NULL when memory is out (the
   old array stays). */
NIC__PRIVATE void *nic__grow(void *array, size_t count, size_t *capacity, size_t item_bytes) {
  if (count < *capacity) return array;
  const size_t wanted = *capacity ? *capacity * 2 : 16;
  void *bigger = nic__zalloc(wanted * item_bytes);
  if (!bigger) return NULL;
  if (array) memcpy(bigger, array, count * item_bytes);
  NIC_FREE(array);
  *capacity = wanted;
  return bigger;
}

/* Copies text, cut to fit, without control characters: names come from files we did not write. */
NIC__PRIVATE void nic__copy(char *to, size_t to_bytes, const char *from) {
  size_t n = 0;
  for (; from[n] && n + 1 < to_bytes; n++) to[n] = (unsigned char)from[n] < 32 ? '?' : from[n];
  to[n] = 0;
}
