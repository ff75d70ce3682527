/* Dates and the time zone. libc has one zone for all and reads it from the host's environment: before it is asked, it is
   told that of the process, whose variables (timezone, daylight, tzname) it then gets. What these functions return in
   static memory is each process's own. */
#include "guest.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct dates {
  struct tm date; /* of localtime, gmtime and ctime, as libc has it */
  char text[64];  /* of any year */
} dates;
static guest_part part = {.name = "zone", .state_bytes = sizeof(dates *)};
static dates *own(void) {
  dates **at = (dates **)guest_state(&part);
  if (!*at) *at = (dates *)calloc(1, sizeof **at);
  if (!*at) guest_abort(100, "out of memory");
  return *at;
}
/* A program that was linked with a copy of libc's variable looks at it; all others see libc's. */
static void copy_to(const char *name, const char *also, const void *from, size_t bytes) {
  void *to = guest_symbol(guest_now(), name);
  if (!to) to = guest_symbol(guest_now(), also);
  if (to && to != from) memcpy(to, from, bytes);
}
static void enter(void) {
  const char *wanted = guest_getenv("TZ"), *is = getenv("TZ");
  if (wanted && (!is || strcmp(wanted, is) != 0)) setenv("TZ", wanted, 1);
  if (!wanted && is) unsetenv("TZ");
  tzset();
}
static void leave(void) {
  copy_to("timezone", "__timezone", &timezone, sizeof timezone);
  copy_to("daylight", "__daylight", &daylight, sizeof daylight);
  copy_to("tzname", "__tzname", tzname, sizeof tzname);
}
static void guest_tzset(void) {
  enter();
  leave();
}
static struct tm *guest_localtime_r(const time_t *t, struct tm *to) {
  enter();
  to = localtime_r(t, to);
  return leave(), to;
}
static struct tm *guest_localtime(const time_t *t) { return guest_localtime_r(t, &own()->date); }
static struct tm *guest_gmtime(const time_t *t) { return gmtime_r(t, &own()->date); }
static time_t guest_mktime(struct tm *of) {
  enter();
  const time_t t = mktime(of);
  return leave(), t;
}
static size_t guest_strftime(char *to, size_t bytes, const char *format, const struct tm *of) {
  enter();
  return strftime(to, bytes, format, of);
}
static char *guest_asctime(const struct tm *of) { return asctime_r(of, own()->text); }
static char *guest_ctime_r(const time_t *t, char *to) {
  struct tm local;
  return guest_localtime_r(t, &local) ? asctime_r(&local, to) : NULL;
}
static char *guest_ctime(const time_t *t) {
  const struct tm *const date = guest_localtime(t);
  return date ? guest_asctime(date) : NULL;
}

static void process_end(guest *g, int status) {
  dates **at = (dates **)guest_state_of(g, &part);
  (void)status;
  free(*at);
  *at = NULL;
}
__attribute__((constructor)) static void add(void) {
  part.process_end = process_end;
  guest_part_add(&part);
  GUEST_REPLACE("tzset", guest_tzset);
  GUEST_REPLACE("__tzset", guest_tzset);
  GUEST_REPLACE("localtime", guest_localtime);
  GUEST_REPLACE("localtime_r", guest_localtime_r);
  GUEST_REPLACE("gmtime", guest_gmtime);
  GUEST_REPLACE("mktime", guest_mktime);
  GUEST_REPLACE("timelocal", guest_mktime);
  GUEST_REPLACE("strftime", guest_strftime);
  GUEST_REPLACE("asctime", guest_asctime);
  GUEST_REPLACE("ctime", guest_ctime);
  GUEST_REPLACE("ctime_r", guest_ctime_r);
}
