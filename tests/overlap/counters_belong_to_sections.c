/* Counters of the machine are booked to the section that was open while they moved, by one thread. */
#include "tests/overlap/sim.h"

static uint64_t values[2];
static bool works;
static bool read_values(void *user, uint64_t *out) {
  (void)user;
  out[0] = values[0];
  out[1] = values[1];
  return works;
}
static const char *const names[] = {"wire_bytes", "retransmissions"};

static sim start(bool off) {
  static nbc_counter_source source;
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  memset(&source, 0, sizeof source);
  source.count = 2;
  source.names = names;
  source.read = read_values;
  desc.counters = &source;
  desc.start_off = off;
  values[0] = 1000; /* what was there before does not count */
  values[1] = 7;
  works = true;
  return sim_create(100, 1, desc);
}

static double value_of(const nbc_report *r, const char *section, const char *name) {
  for (size_t i = 0; i < r->counter_count; i++)
    if (strcmp(r->sections[r->counters[i].section_index].path, section) == 0 && strcmp(r->counters[i].name, name) == 0)
      return r->counters[i].value;
  return 0;
}

static void each_section_gets_what_moved_in_it(void) {
  sim s = start(false);
  values[0] += 1;
  nbc_section_begin_at(s.me, "a", 10);
  values[0] += 10;
  nbc_section_begin_at(s.me, "b", 20);
  values[0] += 100, values[1] += 2;
  nbc_section_end_at(s.me, "b", 30);
  values[0] += 1000;
  nbc_section_end_at(s.me, "a", 40);
  values[0] += 10000;
  nbc_report *r = sim_report(&s, 50);
  CHECK(value_of(r, "", "wire_bytes") == 10001);
  CHECK(value_of(r, "a", "wire_bytes") == 1010);
  CHECK(value_of(r, "a/b", "wire_bytes") == 100);
  CHECK(value_of(r, "a/b", "retransmissions") == 2);
  CHECK(r->counter_count == 4); /* those that did not move are left out */
  nbc_report_free(r);
  r = sim_report(&s, 60); /* a second report reads again and counts nothing twice */
  CHECK(value_of(r, "", "wire_bytes") == 10001);
  nbc_report_free(r);
  sim_destroy(&s);
}

static void what_moves_while_off_does_not_count(void) {
  sim s = start(true);
  values[0] += 5;
  nbc_recorder_switch_at(s.me, true, 10);
  values[0] += 50;
  nbc_recorder_switch_at(s.me, false, 20);
  values[0] += 500;
  nbc_section_begin_at(s.me, "a", 30);
  values[0] += 5000;
  nbc_section_end_at(s.me, "a", 40);
  nbc_report *r = sim_report(&s, 50);
  CHECK(value_of(r, "", "wire_bytes") == 50 && r->counter_count == 1);
  nbc_report_free(r);
  sim_destroy(&s);
}

static void counters_that_fail_or_go_back_lose_their_interval_only(void) {
  sim s = start(false);
  values[0] += 1;
  nbc_section_begin_at(s.me, "a", 10);
  values[0] = 3; /* the device was reset */
  nbc_section_end_at(s.me, "a", 20);
  values[0] += 40;
  works = false;
  nbc_section_begin_at(s.me, "a", 30);
  works = true;
  nbc_section_end_at(s.me, "a", 40);
  values[0] += 500;
  nbc_report *r = sim_report(&s, 50);
  CHECK(r->problems[NBC_PROBLEM_counter_lost] == 2);
  CHECK(value_of(r, "", "wire_bytes") == 501 && value_of(r, "a", "wire_bytes") == 0);
  nbc_report_free(r);
  sim_destroy(&s);
}

static void only_the_first_recorder_reads(void) {
  sim s = start(false);
  nbc_recorder *other;
  CHECK(nbc_recorder_attach_at(s.monitor, 0, &other) == NBC_OK);
  nbc_section_begin_at(other, "x", 10);
  values[0] += 9;
  nbc_section_end_at(other, "x", 20);
  nbc_report *r = sim_report(&s, 30);
  CHECK(value_of(r, "", "wire_bytes") == 9 && r->counter_count == 1);
  nbc_report_free(r);
  sim_destroy(&s);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(each_section_gets_what_moved_in_it);
  RUN(what_moves_while_off_does_not_count);
  RUN(counters_that_fail_or_go_back_lose_their_interval_only);
  RUN(only_the_first_recorder_reads);
  return TEST_END();
}
