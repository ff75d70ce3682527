#!/bin/sh
# The command nbc where no MPI is needed: a folder of reports, a file where a folder should be. And timelines of two
# runs, whose messages look the same.
. tests/test.sh
tool=$B/tests/report/page_tool
run=$T/run
mkdir "$run" "$T/bin" && "$tool" make "$run" && "$tool" timelines "$run" || exit 1
# status N COMMAND...: the command ends with N
status() { wanted=$1 && shift && { "$@" >"$T/out" 2>"$T/err"; code=$?; cat "$T/out" "$T/err"; [ "$code" = "$wanted" ]; }; }

predicts() {
  cp "$B/nbc" "$B/dedicated_core" "$T/bin" && status 0 "$T/bin/nbc" predict --cores 4 "$run" && grep -q "^predicted time" "$T/out" &&
    cp "$T/out" "$T/folder" && status 0 "$T/bin/nbc" predict --cores 4 "$run"/*.json && cmp "$T/out" "$T/folder" &&
    mkdir -p "$T/empty" && status 2 "$T/bin/nbc" predict "$T/empty" && grep -q "empty: no reports in it" "$T/err"
}
# What is beside nbc is its own: a library without contents, and a program that tells when it runs.
file_for_folder() {
  cp "$B/nbc" "$T/bin" && : >"$T/bin/libnbc_overlap_mpich.so" && echo mine >"$T/file" && rm -f "$T/ran" &&
    printf '#!/bin/sh\n: >"%s"\n' "$(cd "$T" && pwd)/ran" >"$T/program" && chmod +x "$T/program" &&
    status 1 "$T/bin/nbc" see --mpi mpich --no-table -o "$T/file" "$T/program" && grep -q "file: not a folder" "$T/err" &&
    [ ! -e "$T/ran" ] && [ "$(cat "$T/file")" = mine ]
}
two_runs() {
  status 0 "$B/overlap_trace" -o "$T/t.json" "$run" && grep -q "^1 of 1 messages have both ends" "$T/out" "$T/err" &&
    rm -rf "$T/mixed" && mkdir "$T/mixed" && cp "$run"/*.0.trace "$T/mixed" && cp "$run/nbc_overlap.heat.1-2.1.trace" "$T/mixed/nbc_overlap.heat.3-4.1.trace" &&
    status 0 "$B/overlap_trace" -o "$T/t.json" "$T/mixed" && grep -q "^0 of 1 messages have both ends; of others: they are of several runs" "$T/out" "$T/err"
}
check "nbc predict takes a folder" predicts
check "nbc see -o FILE runs nothing" file_for_folder
check "timelines of two runs are not joined" two_runs
finish
