/* pm_rtl_wave.h: what of a run is saved as waveforms, read from a text and begun. Part of pm_rtl.h, which includes it. */
#ifndef PM_RTL_WAVE_H_INCLUDED
#define PM_RTL_WAVE_H_INCLUDED
PM_RTL__API const char *pm_rtl_wave_read(pm_rtl_wave *wave, const char *text) {
  const size_t bytes = strcspn(text, ",");
  memset(wave, 0, sizeof *wave);
  wave->until_us = 1e12;
  if (bytes < 5 || bytes >= sizeof wave->path ||
      (memcmp(text + bytes - 4, ".vcd", 4) != 0 && memcmp(text + bytes - 4, ".fst", 4) != 0))
    return "a name that ends in .vcd or .fst expected";
  memcpy(wave->path, text, bytes);
  for (text += bytes; *text == ',';) {
    const char *key = ++text;
    char *end = (char *)(uintptr_t)(key + strcspn(key, "=,"));
    const size_t key_bytes = (size_t)(end - key);
    const double x = *end == '=' ? strtod(end + 1, &end) : -1;
    if (*end && *end != ',') return "numbers end at a comma";
    if (!(x >= 0 && x <= 1e12)) return "nic=N, from=US or until=US expected";
    if (key_bytes == 3 && memcmp(key, "nic", 3) == 0) {
      if (!(x < 64) || x != (int)x) return "nic=N: 0 to 63";
      wave->nics |= (uint64_t)1 << (int)x;
    } else if (key_bytes == 4 && memcmp(key, "from", 4) == 0)
      wave->from_us = x;
    else if (key_bytes == 5 && memcmp(key, "until", 5) == 0)
      wave->until_us = x;
    else
      return "nic=N, from=US or until=US expected";
    text = end;
  }
  if (!wave->nics) wave->nics = 1;
  return wave->from_us < wave->until_us ? NULL : "until= must be later than from=";
}
PM_RTL__API int pm_rtl_wave_start(const pm_rtl_wave *wave, cosim *sim, int nic_count) {
  int nic;
  for (nic = 0; nic < 64; nic++) {
    char path[sizeof wave->path + 16];
    const int stem = (int)strlen(wave->path) - 4;
    if (!(wave->nics >> nic & 1)) continue;
    if (nic >= nic_count) return 0;
    if (wave->nics & (wave->nics - 1))
      snprintf(path, sizeof path, "%.*s.%d%s", stem, wave->path, nic, wave->path + stem);
    else
      snprintf(path, sizeof path, "%s", wave->path);
    if (cosim_trace(sim, nic, path, (int64_t)(wave->from_us * 1e6),
                    (int64_t)(wave->until_us * 1e6)))
      return 0;
  }
  return 1;
}
#endif /* PM_RTL_WAVE_H_INCLUDED */
