/* Any stream of events, in any order and with any times: no crash, min <= max <= transfer time,
   computation + call + off = wall. One byte picks the event, the next ones its arguments. */
#include "tests/overlap/sim.h"

typedef struct input { const uint8_t *data; size_t size; } input;
static uint64_t take(input *in, int bytes) {
  uint64_t v = 0;
  while (bytes-- > 0 && in->size) v = v << 8 | *in->data++, in->size--;
  return v;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  input in = {data, size};
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.ring_events = desc.max_transfers = 16;
  desc.history_calls = 8;
  desc.max_cells = 1 + take(&in, 1) % 8;
  desc.max_sections = 1 + take(&in, 1) % 4;
  sim s = sim_create(100, 1, desc);
  static const char *const names[] = {"a", "b", "a/b", ""};
  int64_t t = 0, last = 0;
  while (in.size) {
    const int what = (int)take(&in, 1);
    t += (int16_t)take(&in, 2); /* may step back */
    if (t < 0) t = 0;
    if (t > last) last = t;
    const uint64_t id = take(&in, 1) % 24, bytes = what & 128 ? take(&in, 8) : take(&in, 2);
    switch (what % 14) {
    case 0: nbc_call_enter_at(s.me, (nbc_kind)(bytes % 60), t); break;
    case 1: nbc_call_exit_at(s.me, t); break;
    case 2: nbc_xfer_begin_at(s.me, id, bytes, (nbc_kind)(bytes % 60), (nbc_peer)(bytes % 5), t); break;
    case 3: nbc_xfer_end_at(s.me, id, t); break;
    case 4: nbc_xfer_end_sized_at(s.me, id, bytes, (nbc_peer)(bytes % 3), t); break;
    case 5: nbc_xfer_end_only_at(s.me, bytes, NBC_KIND_IRECV, NBC_PEER_UNKNOWN, t); break;
    case 6: nbc_xfer_cancel(s.me, id); break;
    case 7: nbc_foreign_begin_at(s.me, id, bytes, NBC_KIND_ISEND, NBC_PEER_SAME_NODE, t); break;
    case 8: nbc_foreign_end_at(s.me, id, t); break;
    case 9: nbc_section_begin_at(s.me, names[bytes % 4], t); break;
    case 10: nbc_section_end_at(s.me, bytes & 4 ? names[bytes % 4] : NULL, t); break;
    case 11: nbc_recorder_switch_at(s.me, bytes & 1, t); break;
    case 12: nbc_xfer_stamp(s.me, id, t, t + (int16_t)bytes, (int64_t)(bytes >> 48 & 1023)); break;
    default:
      nbc_recorder_detach_at(s.me, t);
      if (nbc_recorder_attach_at(s.monitor, last, &s.me) != NBC_OK) abort();
      t = last;
    }
  }
  nbc_report *r = NULL;
  if (nbc_monitor_report_at(s.monitor, last, &r) != NBC_OK) abort();
  if (r->total.min_overlap_ns > r->total.max_overlap_ns || r->total.max_overlap_ns > r->total.xfer_ns) abort();
  if (r->comp_ns + r->call_ns + r->off_ns != r->wall_ns || r->comp_ns < 0 || r->call_ns < 0) abort();
  FILE *out = fopen("/dev/null", "w");
  if (out) {
    if (nbc_report_write_text(r, out) != NBC_OK || nbc_report_write_json(r, out) != NBC_OK) abort();
    fclose(out);
  }
  nbc_report_free(r);
  sim_destroy(&s);
  return 0;
}
