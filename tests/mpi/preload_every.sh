#!/bin/sh
# Every form of every call that moves data, and MPI-IO, with counts of type int and (where the MPI has
# them) MPI_Count: the same results with the preload, and in the reports the transfers and bytes that
# the programs reckon for themselves. Then the lists: the preload wraps every call of the MPI that
# communicates or waits, and these tests call every wrapper.
. tests/mpi/preload_common.sh
n=3
export OMPI_MCA_osc=$pt2pt,sm # sm: shared windows

# What the processes say they moved, summed up in the form of preload_show; other calls left out.
every() { # mpi, build of the program
  reports=$work/every.$2
  mkdir "$reports"
  run "$1" $n "$B/tests/mpi/preload_every.$2" "$reports/without"
  measured "$1" $n "$B/tests/mpi/preload_every.$2" "$reports/with"
  cat "$reports"/without.* >"$reports/results"
  if cat "$reports"/with.* | diff "$reports/results" - && [ -s "$reports/results" ]; then ok "$2: same results"
  else bad "$2: results differ"; fi
  grep '^= ' "$reports/results" |
    awk '{ t[$2 " " $3] += $4; b[$2 " " $3] += $5 }
         END { for (k in t) printf "%s transfers %d bytes %.0f\n", k, t[k], b[k] }' | sort >"$reports/expected"
  show -n "$reports"/*.json >"$reports/counted"
  awk '$5 == "transfers" && $6 > 0 { print $1, $2, $5, $6, $7, $8 }' "$reports/counted" | sort >"$reports/moved"
  if [ -s "$reports/expected" ] && diff "$reports/expected" "$reports/moved"
  then ok "$2: $(wc -l <"$reports/moved") kinds of transfers, counts and bytes"
  else bad "$2: counts or bytes differ"; fi
  # nothing was lost, ended twice or left behind; only what was freed while active has no end
  if grep -E '^(problem|counter)' "$reports/counted" | grep -Ev '^(problem cancelled|counter requests_freed)'
  then bad "$2: problems"; else ok "$2: no problems"; fi
  waits "$2"
}

# A call's time is shared by the transfers that end in it: those of a section waited no longer than its calls took.
waits() { # build: of every
  "$B/overlap_report" --no-html --csv "$reports/csv" "$reports" >"$reports/text" 2>&1
  awk -F, 'FNR == 1 { file++; next } file == 1 { call_ns[$1] = $4; next } { waited_ns[$1] += $13 }
           END { for (s in waited_ns) if (waited_ns[s] > call_ns[s] * 1.000001 + 100) print s, waited_ns[s], "of", call_ns[s]; if (!length(call_ns)) print "none" }' \
    "$reports/csv/sections.csv" "$reports/csv/transfers.csv" >"$reports/longer"
  if [ -s "$reports/csv/transfers.csv" ] && [ ! -s "$reports/longer" ]
  then ok "$1: transfers waited no longer than their calls took"; else bad "$1: transfers waited longer than their calls took: $(cat "$reports/longer")"; fi
}

# 112 calls in every process: 48 that read and write (a split one is two), 44 that synchronise, 20
# that open, position, set and close.
files() { # mpi, build
  same_with_preload "$1" $n preload_files "$2" "$work/file"
  if grep ' rc ' "$reports/without" | grep -v ' rc 0 '; then bad "$2: MPI-IO fails"; fi
  if awk '/^processes|^barrier|^counter FILE:/ { next } $1 == "io" && $3 == n * 112 && $5 == 0 { good = 1; next } { good = 0; exit }
          END { exit !good }' n=$n "$reports/counted"
  then ok "$2: time in calls of MPI-IO, no transfers"; else bad "$2: calls of MPI-IO"; cat "$reports/counted"; fi
}

# NBC_TRACE=calls: what has no line in a trace is told by its name, and what is left runs.
traced='([BSR]s|S)end|I([bsr]s|s)end|M?recv|Im?recv|Recv|Sendrecv(_replace)?|Start(all)?|Waitall|(Wait|Test)(any|some|all)?|(I?([Bb]cast|[Rr]educe|[Aa]llreduce|[Ss]can|[Ee]xscan|[Gg]ather|[Ss]catter|[Aa]llgather|[Aa]lltoall|[Rr]educe_scatter_block))|Barrier|Ibarrier'
traced_int='I?([Gg]atherv|[Ss]catterv|[Aa]llgatherv|[Aa]lltoallv|[Rr]educe_scatter)'
# Of MPI 4.1, which Debian 13's MPICH has, calls that look at requests or wait for a buffer move nothing either.
no_data='.*_init|Comm_(create|create_group|disconnect|dup|dup_with_info|free|idup|idup_with_info|split|split_type)|Intercomm_(create|merge)|Cart_(create|sub)|(Dist_g|G)raph_create(_adjacent)?|Pready(_list|_range)?|Parrived|Request_free|Request_get_status_(all|any|some)|Buffer_(detach|i?flush)|(Comm|Session)_(detach|i?flush)_buffer|M?[Pp]robe|Im?probe|Win_(allocate|allocate_shared|create|create_dynamic|set_info|sync|test)'
traces() { # mpi, build
  reports=$work/traces.$2
  mkdir "$reports"
  NBC_TRACE=calls measured "$1" $n "$B/tests/mpi/preload_every.$2" "$reports/out" 2>"$reports/err"
  "$B/overlap_report" --no-html --csv "$reports/csv" "$reports"/*.0.json >/dev/null 2>&1
  sed -n 's/.*rank 0: the trace of calls lacks //p' "$reports/err" | tr ',' '\n' | sed 's/.* times //' | LC_ALL=C sort -u >"$reports/told"
  sed -n 's/^"\(MPI[^"]*\)".*/\1/p' "$reports/csv/places.csv" | grep -Ev "^MPIX?_((($traced|$no_data)(_c)?)|$traced_int)$" | LC_ALL=C sort -u | LC_ALL=C comm -23 - "$reports/told" >"$reports/untold"
  if [ "$(grep -c MPI_ "$reports/told")" -gt 20 ] && [ ! -s "$reports/untold" ] && grep -q '^starts of persistent' "$reports/told"; then ok "$2: $(grep -c . "$reports/told") sorts of calls that a trace lacks are told"
  else bad "$2: not in a trace, and not told: $(cat "$reports/untold" "$reports/err")"; fi
  if timeout 60 "$B/pm_replay" "$reports"/nbc_calls.*.calls >"$reports/replayed" 2>&1; then ok "$2: the rest runs: $(cat "$reports/replayed")"; else bad "$2: the rest does not run: $(cat "$reports/replayed")"; fi
}

functions() { nm -D "$2" | sed -n "s/.* $1 P\{0,1\}\(MPIX\{0,1\}_[A-Z][a-z].*\)/\1/p" | sed 's/@.*//' | sort -u; }
# Local: they move nothing and wait for nobody; or run before MPI_Init; or set attributes.
local_calls='MPI_(T_|Type_|Info_|Group_|Attr_|Errhandler_|Error_|Keyval_|Op_|Add_error|Remove_error|Aint_|Address|Status|Cart_(coords|get|map|rank|shift)|Cartdim|Dims_|Dist_graph_neigh|Graph_(get|map|neigh)|Graphdims|Topo_test|Get_|W(time|tick)|Wti|Initialized|Finalized|Query_thread|Is_thread|Alloc_mem|Free_mem|Buffer_attach|Comm_attach_buffer|Pack|Unpack|Reduce_local|Grequest|Register_datarep|Test_cancelled|Session_|(Comm|Win|File)_(call|create|get|set|free)_?(errhandler|keyval|attr|name|group)|(Comm|Win|File)_get_info|(Comm|Win)_delete_attr|Comm_(compare|group|rank|size|remote|test_inter|get_parent)|Win_(attach|detach|shared_query)|File_(get_|seek$))'
# MPICH 4.2's streams, and threads as ranks: not seen (docs/limits.md)
streams='MPIX_(Stream_|Threadcomm_|.*_enqueue|(Start|Stop)_progress_thread|Comm_(get_failed|get_stream|test_threadcomm))'
lists() { # mpi
  mpi=$(ldd "$B/tests/mpi/preload_p2p.$1" | sed -n 's/.*libmpi[a-z]*\.so[^ ]* => \([^ ]*\).*/\1/p' | head -1)
  functions '[TW]' "$mpi" >"$work/mpi.$1"
  functions '[TW]' "$(library "$1")" >"$work/wrapped.$1"
  comm -23 "$work/mpi.$1" "$work/wrapped.$1" | grep -Ev "^$local_calls|^MPIX_(Delete_error|GPU_|Query_|Grequest|Type_iov|Info_)|^$streams" |
    grep -Ev '_f2c$|_c2f|_f082|2f08$|_cdesc|^MPI_Pcontrol$' >"$work/unwrapped.$1"
  if [ -s "$work/mpi.$1" ] && [ ! -s "$work/unwrapped.$1" ]
  then ok "$1: $(wc -l <"$work/wrapped.$1") wrappers: every call that communicates or waits"
  else bad "$1: without a wrapper:"; cat "$work/unwrapped.$1"; fi
  for p in "$B"/tests/mpi/preload_*."$1" "$B"/tests/mpi/preload_*."$1"_c; do
    if [ -e "$p" ]; then functions U "$p"; fi
  done | sort -u >"$work/called.$1"
  # these need a name server, a socket or a session
  comm -23 "$work/wrapped.$1" "$work/called.$1" |
    grep -Ev '^MPI_(Comm_(accept|connect|join|spawn_multiple|create_from_group)|Session_(i?flush|detach)_buffer(_c)?|Intercomm_create_from_groups|.*_(port|name))$' >"$work/uncalled.$1"
  if [ -s "$work/called.$1" ] && [ ! -s "$work/uncalled.$1" ]; then ok "$1: all wrappers are called by a test"
  else bad "$1: not called:"; cat "$work/uncalled.$1"; fi
}

if [ -n "$TEST_ONLY" ]; then # "traces mpich mpich_c": this check alone (tests/mutate)
  # shellcheck disable=SC2086 # words
  set -- $TEST_ONLY
  if have_mpi "$2" && [ -e "$B/tests/mpi/preload_every.$3" ]; then "$@"; else skip "$TEST_ONLY: no $2"; fi
  finish
fi
if [ -e "$B/tests/mpi/preload_every.mpich_c" ]; then every mpich mpich_c; files mpich mpich_c; traces mpich mpich_c
else skip "MPI_Count: no MPI 4 here"; fi
both() { every $1 $1; files $1 $1; traces $1 $1; lists $1; }
each_mpi both
finish
