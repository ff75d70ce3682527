# Sourced by tests of bounds: scenes of $PROGRAM under the preload, with a table that tempts to say too much.
work=${work:?} B=${B:?}
# shellcheck disable=SC2154 # of preload_common.sh
export OMPI_MCA_osc=sm,$pt2pt # shared flags
said="# eager_bytes 4000
# tail_bytes 0
# link_bytes_per_s 1e10"
printf '%s\n0 1e-7\n8388608 2e-7\n' "$said" >"$work/fast"
printf '%s\n0 5e-3\n8388608 6e-3\n' "$said" >"$work/slow"
printf '%s\n4096 1e-7\n1048576 3e-3\n8388608 24e-3\n' "$said" >"$work/middle"

# scene MPI PROCESSES TABLE SCENE [HOW]: rank 0's report as a table, its output in $reports/out
scene() {
  reports=$work/$1.$3.$4$5
  mkdir -p "$reports"
  NBC_TABLE=$work/$3 NBC_TABLE_OTHER=$work/$3 measured "$1" "$2" "$B/tests/mpi/$PROGRAM.$1" "$4" ${5:+"$5"} >"$reports/out" 2>"$reports/err" || cat "$reports/err"
  "$B/overlap_report" --no-html --csv "$reports/csv" "$reports"/nbc_overlap.*.0.json >"$reports/text" 2>&1 || cat "$reports/text"
}
# of KIND COLUMN: the sum over the cells of messages of more than 256 bytes in transfers.csv
of() { awk -F, -v kind="$1" -v at="$2" '$2 == kind && $3 !~ /^"?up to 256/ && $3 != "256 B" { s += $at } END { printf "%.0f\n", s }' "$reports/csv/transfers.csv"; }
# unknown WHAT KIND: nothing is known: no minimum, no maximum
unknown() {
  x=$(of "$2" 7) least=$(of "$2" 8) most=$(of "$2" 9)
  if [ "$x" -gt 0 ] && [ "$least" = 0 ] && [ "$most" = "$x" ]; then ok "$1: $2: anything from 0 to all"
  else bad "$1: $2: $least to $most of $x ns: $(cat "$reports/err")"; fi
}
no_minimum() {
  x=$(of "$2" 7) least=$(of "$2" 8)
  if [ "$x" -gt 0 ] && [ "$least" = 0 ]; then ok "$1: $2: no minimum"; else bad "$1: $2: at least $least of $x ns: $(cat "$reports/err")"; fi
}
# most_is_all WHAT KIND: all may have been hidden
most_is_all() {
  x=$(of "$2" 7) most=$(of "$2" 9)
  if [ "$x" -gt 0 ] && [ "$most" = "$x" ]; then ok "$1: $2: all may be hidden"; else bad "$1: $2: at most $most of $x ns: $(cat "$reports/err")"; fi
}
