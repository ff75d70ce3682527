# Chrome's JSON, a step per line as pm_trace_write_json writes it: steps of a track lie beside or within each other, or
# Perfetto draws them wrong; every track has a name.
function number(key) { return match($0, "\"" key "\":[0-9.]+") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) : "none" }
/"name":"thread_name"/ { named[number("pid") " " number("tid")]++ }
/"ph":"X"/ {
  track = number("pid") " " number("tid")
  from = number("ts") * 1e6
  to = from + number("dur") * 1e6
  steps++
  while (depth[track] && end[track, depth[track]] <= from + 0.5) depth[track]--
  if (from + 0.5 < last[track] || (depth[track] && end[track, depth[track]] + 0.5 < to) || named[track] != 1) { print "wrong: " $0; wrong = 1 }
  end[track, ++depth[track]] = to
  last[track] = from
}
END { print steps + 0, "steps"; exit wrong || !steps }
