/* The locale of each process. libc has one for all and one per thread of the host; the processes run in turns on one
   such thread, so what a process chose by setlocale, or one of its threads by uselocale, becomes that thread's whenever it runs. */
#include "guest.h"
#include <locale.h>
#include <stdlib.h>
#include <string.h>

enum { CATEGORIES = LC_IDENTIFICATION + 1 }; /* LC_ALL is one of the numbers in between */
static const char *const categories[CATEGORIES] = {[LC_CTYPE] = "LC_CTYPE",
                                                   [LC_NUMERIC] = "LC_NUMERIC",
                                                   [LC_TIME] = "LC_TIME",
                                                   [LC_COLLATE] = "LC_COLLATE",
                                                   [LC_MONETARY] = "LC_MONETARY",
                                                   [LC_MESSAGES] = "LC_MESSAGES",
                                                   [LC_PAPER] = "LC_PAPER",
                                                   [LC_NAME] = "LC_NAME",
                                                   [LC_ADDRESS] = "LC_ADDRESS",
                                                   [LC_TELEPHONE] = "LC_TELEPHONE",
                                                   [LC_MEASUREMENT] = "LC_MEASUREMENT",
                                                   [LC_IDENTIFICATION] = "LC_IDENTIFICATION"};
typedef struct own_locale {
  locale_t made;                   /* of the names */
  char *name[CATEGORIES], *answer; /* answer: to LC_ALL where names differ */
} own_locale;
static guest_part part = {.name = "locale", .state_bytes = sizeof(own_locale *)};
static locale_t in_force; /* of the host's thread; 0: the one that all have */
static bool is_used;      /* by any process */

static own_locale *of(const guest *g) {
  return g ? *(own_locale **)guest_state_of(g, &part) : NULL;
}
void guest_locale_switch(const guest *g, const guest_context *c) {
  if (!is_used) return;
  const own_locale *o = of(g);
  const locale_t wanted = c && c->locale ? (locale_t)c->locale : o ? o->made : (locale_t)0;
  if (wanted == in_force) return;
  in_force = wanted;
  uselocale(wanted ? wanted : LC_GLOBAL_LOCALE);
}
static void drop(own_locale *o) {
  if (!o) return;
  for (int k = 0; k < CATEGORIES; k++) free(o->name[k]);
  free(o->answer);
  if (o->made) freelocale(o->made);
  free(o);
}

/* "": what the environment of the process says. */
static const char *chosen(const char *name, int category) {
  const char *const asked[] = {"LC_ALL", categories[category], "LANG"};
  for (int i = 0; i < 3 && !*name; i++) {
    const char *value = guest_getenv(asked[i]);
    if (value) name = value;
  }
  return !*name || strcmp(name, "POSIX") == 0 ? "C" : name;
}
/* ret a copy of what text, a name or all of them as setlocale(LC_ALL, NULL) gives them, says of a category; NULL */
static char *name_in(const char *text, int category) {
  const size_t bytes = strlen(categories[category]);
  if (!strchr(text, ';')) return strdup(chosen(text, category));
  while (text && (strncmp(text, categories[category], bytes) != 0 || text[bytes] != '=')) {
    text = strchr(text, ';');
    if (text) text++;
  }
  return text ? strndup(text + bytes + 1, strcspn(text + bytes + 1, ";")) : NULL;
}
static char *all_names(own_locale *o) {
  size_t bytes = 1;
  bool is_one = true;
  for (int k = 0; k < CATEGORIES; k++) {
    if (k == LC_ALL) continue;
    bytes += strlen(categories[k]) + strlen(o->name[k]) + 2;
    is_one = is_one && strcmp(o->name[k], o->name[LC_CTYPE]) == 0;
  }
  if (is_one) return o->name[LC_CTYPE];
  free(o->answer);
  char *at = o->answer = (char *)malloc(bytes);
  for (int k = 0; at && k < CATEGORIES; k++)
    if (k != LC_ALL) at += sprintf(at, "%s%s=%s", k ? ";" : "", categories[k], o->name[k]);
  return o->answer;
}
/* What the process had, with a category changed, or all. NULL: there is no such locale */
static own_locale *changed(const own_locale *before, int category, const char *name) {
  own_locale *o = (own_locale *)calloc(1, sizeof *o);
  bool is_good = o && (o->made = newlocale(LC_ALL_MASK, "C", (locale_t)0)) != (locale_t)0;
  for (int k = 0; k < CATEGORIES && is_good; k++) {
    if (k == LC_ALL) continue;
    o->name[k] = category == LC_ALL || category == k ? name_in(name, k)
                                                     : strdup(before ? before->name[k] : "C");
    const locale_t next = o->name[k] ? newlocale(1 << k, o->name[k], o->made) : (locale_t)0;
    is_good = next != (locale_t)0;
    if (is_good) o->made = next;
  }
  if (!is_good) drop(o);
  return is_good ? o : NULL;
}
static char *guest_setlocale(int category, const char *name) {
  static char plain[] = "C";
  const guest *g = guest_now();
  own_locale *o = of(g), *const before = o;
  if (category < 0 || category >= CATEGORIES) return NULL;
  if (name) {
    o = changed(before, category, name);
    if (!o) return NULL;
    *(own_locale **)guest_state(&part) = o;
    is_used = true;
    guest_locale_switch(g, guest_context_now());
    drop(before);
  }
  return !o ? plain : category == LC_ALL ? all_names(o) : o->name[category];
}
static locale_t guest_uselocale(locale_t l) {
  guest_context *c = guest_context_now();
  const locale_t before = c->locale ? (locale_t)c->locale : LC_GLOBAL_LOCALE;
  if (l) c->locale = l == LC_GLOBAL_LOCALE ? NULL : (void *)l, is_used = true;
  guest_locale_switch(guest_now(), c);
  return before;
}
static locale_t guest_duplocale(locale_t l) {
  const own_locale *o = of(guest_now());
  return duplocale(l == LC_GLOBAL_LOCALE && o ? o->made : l);
}
static void process_end(guest *g, int status) {
  own_locale *const o = of(g);
  (void)status;
  *(own_locale **)guest_state_of(g, &part) = NULL;
  guest_locale_switch(g, NULL);
  drop(o);
}

__attribute__((constructor)) static void add(void) {
  part.process_end = process_end;
  guest_part_add(&part);
  GUEST_REPLACE("setlocale", guest_setlocale);
  GUEST_REPLACE("uselocale", guest_uselocale);
  GUEST_REPLACE("__uselocale", guest_uselocale);
  GUEST_REPLACE("duplocale", guest_duplocale);
  GUEST_REPLACE("__duplocale", guest_duplocale);
}
