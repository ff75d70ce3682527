#!/bin/sh
# The study of the thesis [R] on a simulated machine: what do a timer's worker and a dedicated core win over
# nobody, for collectives and for HPL, from a few nodes to many? And what had the dedicated-core model said?
#   make run-study          heat maps of bench_nbc and the run time of HPL, under none, timer and dedicated
#   NODES="16 64 256"       numbers of nodes; square numbers, since HPL's grid is square
#   CORES=16                of each node: of a process, which a dedicated core is taken from
#   COLL=allreduce,bcast    collectives of the heat maps; MAX_US=2000 longest computation there
#   HPL=no                  without HPL; else it is built from Debian's source of hpcc, or HPCC=FOLDER
#   N_PER_ROW=512           order of HPL's matrix, per row of its grid
#   PLATFORM=FILE           the machine (BXI-like nodes on one crossbar)
# Left in $B/study: index.html, study.csv, bench_NODES.html and .json, reports of HPL's runs.
# Expected: collectives hide nothing without progress and nearly all with a dedicated core, which slows
# computation by CORES / (CORES - 1), as the model says. HPL polls while it waits, and waits for others rather
# than for its messages: no policy wins much, inside the model's interval or beside it; the table says so.
export LC_ALL=C.UTF-8 # elsewhere awk writes 12,5
set -eu
B=${B:-build}
NODES=${NODES:-16 64 256} CORES=${CORES:-16} COLL=${COLL:-allreduce,bcast} MAX_US=${MAX_US:-2000}
stop() { echo "run_study.sh: $*" >&2; exit 1; }
B=$(cd "$B" && pwd)
study=$B/study
mkdir -p "$study"
csv=$study/study.csv
echo 'what,nodes,policy,seconds_or_overhead,predicted_least,predicted_most' >"$csv"

heat_maps() { # NODES
  "$B/bench_nbc" --sim "nodes=$1,cores=$CORES${PLATFORM:+,platform=$PLATFORM}" --coll "$COLL" --policy none,timer,dedicated \
    --max-us "$MAX_US" --html "$study/bench_$1.html" --json "$study/bench_$1.json" >"$study/bench_$1.txt" 2>&1 ||
    stop "bench_nbc failed: see $study/bench_$1.txt"
  # The model, for a collective that is long enough and computation that leaves one core: overhead
  # 0 but for computation that lasts C / (C - 1) times as long; "impact" is that ratio.
  awk -v nodes="$1" -v c="$CORES" '/^collective / { on = 1; next } !NF { on = 0 }
    on && $2 ~ /^simulated:/ { split($2, p, ":"); model = p[2] == "dedicated" ? sprintf("%.3f,%.3f", c / (c - 1), c / (c - 1)) : ","
      printf "overhead of %s,%d,%s,%s,,\n", $1, nodes, p[2], $3
      printf "computation during %s,%d,%s,%s,%s\n", $1, nodes, p[2], $4, model }' "$study/bench_$1.txt" >>"$csv"
}
hpl() { # NODES
  rows=$(awk -v n="$1" 'BEGIN { r = int(sqrt(n) + 0.5); print r * r == n ? r : 0 }')
  [ "$rows" -gt 0 ] || stop "NODES: $1 is no square"
  [ "$rows" -gt 1 ] || return 0
  for how in calls timer dedicated; do
    rm -rf "$study/hpl_$1_$how"
    # one core less computes, where one is dedicated
    mnk=$(awk -v c="$CORES" -v how="$how" 'BEGIN { printf "%.6e", 1.029e-11 * (how == "dedicated" ? c / (c - 1) : 1) }')
    N=$((${N_PER_ROW:-512} * rows)) P=$rows Q=$rows DGEMM=$mnk PM_RUN="--progress $how --report $study/hpl_$1_$how${PLATFORM:+ --platform $PLATFORM}" \
      B=$B sh tools/run_guests.sh hpl >"$study/hpl_$1_$how.txt" 2>&1 ||
      stop "HPL failed: $(tail -n 1 "$study/hpl_$1_$how.txt") ($study/hpl_$1_$how.txt)"
  done
  said=$("$B/dedicated_core" --cores "$CORES" "$study/hpl_$1_calls"/*.json | sed -nE 's/^Verdict.* now, ([0-9.e+-]+) s predicted.*/\1,\1/p; s/^Verdict.* now, ([0-9.e+-]+) to ([0-9.e+-]+) s predicted.*/\1,\2/p')
  for how in calls timer dedicated; do
    s=$(sed -nE 's/^pm_run: [0-9]+ processes, ([0-9.]+) us simulated.*/\1/p' "$study/hpl_$1_$how.txt" | awk '{ printf "%.6f", $1 / 1e6 }')
    [ -n "$s" ] || stop "HPL said no time: see $study/hpl_$1_$how.txt"
    echo "run time of HPL,$1,$(echo $how | sed 's/calls/none/'),$s,$([ $how = dedicated ] && echo "$said" || echo ,)" >>"$csv"
  done
}
for nodes in $NODES; do
  echo "run_study.sh: $nodes nodes"
  heat_maps "$nodes"
  [ "${HPL:-yes}" = no ] || hpl "$nodes"
done

# One table: a row per number of nodes, a column per policy; colours by the ratio to "none".
awk -F, '
  function colour(r) { return r < 0.98 ? "#b7e1cd" : r > 1.02 ? "#f4c7c3" : "#f3f3f3" }
  NR > 1 { if (!($1 in seen)) { seen[$1] = 1; what[++n] = $1 } if (!($2 in known)) { known[$2] = 1; nodes[++m] = $2 }
    v[$1, $2, $3] = $4; if ($5 != "") said[$1, $2] = $5 == $6 ? $5 : $5 " to " $6 }
  END {
    print "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Who makes progress?</title>"
    print "<style>body{font:15px sans-serif;max-width:60rem;margin:2rem auto}td,th{padding:.3rem .8rem;text-align:right}</style></head><body>"
    print "<h1>Who makes progress?</h1><p>Simulated. Green: better than without progress by 2 %; red: worse. The last column: what the"
    print "dedicated-core model says of \"dedicated\" from the run without progress.</p>"
    for (i = 1; i <= n; i++) {
      w = what[i]
      printf "<h2>%s</h2><table><tr><th>nodes</th><th>none</th><th>timer</th><th>dedicated</th><th>model</th></tr>\n", w
      printf "\n%-28s %10s %10s %10s  %s\n", w, "none", "timer", "dedicated", "the model said" >"/dev/stderr"
      for (k = 1; k <= m; k++) {
        o = nodes[k]; if (v[w, o, "none"] == "") continue
        printf "<tr><td>%s</td>", o; printf "  %-26s", o " nodes" >"/dev/stderr"
        j = split("none timer dedicated", p, " ")
        for (q = 1; q <= j; q++) {
          x = v[w, o, p[q]]; r = v[w, o, "none"] > 0 ? x / v[w, o, "none"] : 1
          printf "<td style=\"background:%s\">%s</td>", colour(r), x; printf " %10s", x >"/dev/stderr"
        }
        printf "<td>%s</td></tr>\n", said[w, o]; printf "  %s\n", said[w, o] >"/dev/stderr"
      }
      print "</table>"
    }
    print "<p>Heat maps:"
    for (k = 1; k <= m; k++) printf " <a href=\"bench_%s.html\">%s nodes</a>", nodes[k], nodes[k]
    print "</p></body></html>" }' "$csv" >"$study/index.html.part" 2>"$study/table.txt" || stop "the table cannot be written"
mv "$study/index.html.part" "$study/index.html"
cat "$study/table.txt"
echo "Page: $study/index.html"
