#!/bin/sh
# The command overlap_report: the page and the sum of a known run, damaged and missing files, several
# runs in one folder, places that cannot be written, the comparison.
. tests/test.sh
tool=$B/tests/report/page_tool
case $B in /*) report=$B/overlap_report ;; *) report=$PWD/$B/overlap_report ;; esac
run=$T/run
mkdir "$run" && "$tool" make "$run" || exit 1
base=nbc_overlap.heat.1-2

# status N COMMAND...: the command ends with N
status() { wanted=$1 && shift && { "$@" >"$T/out" 2>"$T/err"; code=$?; cat "$T/out" "$T/err"; [ "$code" = "$wanted" ]; }; }
said() { grep -qF -- "$1" "$T/err" || { echo "not on standard error: $1"; return 1; }; }
printed() { grep -qF -- "$1" "$T/out" || { echo "not on standard output: $1"; return 1; }; }
copy() { rm -rf "$T/copy" && cp -r "$run" "$T/copy"; }

numbers() {
  status 0 "$report" -o "$T/page.html" "$run" && printed "Worst first" && printed "too little computation" &&
    status 0 "$report" --no-html --json "$run" && cp "$T/out" "$T/sum.json" && "$tool" check "$T/page.html" "$T/sum.json"
}
files_like_folder() {
  "$report" --no-html --json "$run" >"$T/1.json" && "$report" --no-html --json "$run"/*.json >"$T/2.json" && cmp "$T/1.json" "$T/2.json"
}
stamps_up_to_all() { "$report" --no-html "$run" >"$T/out" && printed "by NIC stamps" && ! grep -qE "1[0-9][0-9]\.[1-9] %" "$T/out"; }
# Transfers that shared the wire take longer than the table says, and weigh by that in a share by stamps: the reader is told. stamped TIME HIDDEN MOST
longer_than_the_table() {
  stamped() {
    sed 's/"max_overlap_ns":2020000/"max_overlap_ns":'"$3"',"exact_count":10,"exact_xfer_ns":'"$1"',"exact_overlap_lo_ns":'"$2"',"exact_overlap_hi_ns":'"$2"'/g' \
      "$T/computed.json" >"$T/stamped.json" && status 0 "$report" -o "$T/stamped.html" "$T/stamped.json"
  }
  "$tool" computed 250000 250000 "$T/computed.json" || return 1
  told='in some rows the share by NIC stamps lies outside of the bounds: transfers took up to 2.0 times the time of the table there'
  stamped 4040000 3030000 1010000 && printed "$told" && grep -qF "$told" "$T/stamped.html" && status 0 "$report" --diff "$T/stamped.json" "$T/computed.json" && printed "Note: $told" &&
    status 0 "$report" --diff "$T/computed.json" "$T/stamped.json" && printed "Note: $told" && stamped 4040000 1010000 1010000 &&
    ! printed 'lies outside of the bounds' && stamped 2020000 1010000 1010000 && ! printed 'lies outside of the bounds' || return 1
  part() { printf '"count":%s,"size_bytes":20000000,"xfer_ns":%s,"min_overlap_ns":%s,"max_overlap_ns":%s,"exact_count":%s,"exact_xfer_ns":%s,"exact_overlap_lo_ns":%s,"exact_overlap_hi_ns":%s' "$1" "$2" "$3" "$2" "$1" "$4" "$5" "$5"; }
  cell() { printf ' {"section_index":0,"kind":"%s","class_index":4,"peer":"same_node","method":"independent",%s,"case_count":[0,10,0]}' "$1" "$2"; }
  two() { # ALL SENDS RECEIVES
    sed "s|^\"total\":.*|\"total\":{\"method\":\"independent\",$1,\"case_count\":[0,20,0]},|; s|^ {\"section_index\":0,\"kind\":\"isend\",\"class.*|$(cell isend "$2"),$(cell irecv "$3")],|" "$T/computed.json" >"$T/stamped.json" &&
      status 0 "$report" --no-html "$T/stamped.json"
  }
  told='in some rows the share by NIC stamps lies outside of the bounds: transfers took up to'
  # of two kinds neither does, of both together: 50 % of 20 ms and all of 2 are 55 %, by the table at least 75; then one does, and not both
  two "$(part 20 4000000 3000000 22000000 12000000)" "$(part 10 2000000 1000000 20000000 10000000)" "$(part 10 2000000 2000000 2000000 2000000)" && printed "$told 5.5 times" &&
    two "$(part 20 22000000 2000000 24000000 13000000)" "$(part 10 2000000 2000000 4000000 3000000)" "$(part 10 20000000 0 20000000 10000000)" && printed "$told 2.0 times"
}
sum_is_a_report() { status 0 "$report" --no-html "$T/sum.json" && printed "4 processes"; }
terminal_is_safe() { "$report" --no-html "$run" >"$T/out" && ! LC_ALL=C grep -q "$(printf '\033')" "$T/out"; }
# What a collective moves is more than the table says: its time is not called waiting.
no_transfer() {
  "$tool" waits allreduce "$T/waits.json" && status 0 "$report" --no-html "$T/waits.json" && printed "at least 500 ms of the 1.50 s" &&
    "$tool" waits start "$T/waits.json" && status 0 "$report" --no-html "$T/waits.json" && printed "at least 500 ms of the 1.50 s" &&
    "$tool" waits send "$T/waits.json" && status 0 "$report" --no-html "$T/waits.json" && printed "at least 1.50 s of the 1.50 s" &&
    "$tool" waits iallreduce "$T/waits.json" && status 0 "$report" --no-html "$T/waits.json" && ! printed "in communication calls was" &&
    "$tool" waits send "$T/waits.json" && sed 's/"table_is_default":false/"table_is_default":true/' "$T/waits.json" >"$T/guess.json" &&
    ! cmp -s "$T/waits.json" "$T/guess.json" && status 0 "$report" --no-html "$T/guess.json" && ! printed "in communication calls was"
}
# Much computation beside one transfer is none beside the others.
computation_is_of_each_transfer() {
  advised() { "$tool" computed "$1" "$2" "$T/computed.json" && status 0 "$report" --no-html "$T/computed.json" && printed "same node: $3"; }
  advised 10000000 1 'too little computation' && advised 250000 250000 'cannot be told' && advised 10000000 50000 'too little computation'
}
# Places go into a report: sites FILE SITE...
sites() { file=$1 && shift && sed -i 's|^"cells":|"sites":['"$(printf '%s\n' "$@" | paste -sd,)"'],&|' "$file" && grep -q '^"sites"' "$file"; }
# Barriers, looks, files and what is made have no transfers that tell of them, and may be most of the time.
calls_without_transfers() {
  told() { "$tool" waits "$1" "$T/waits.json" && status 0 "$report" -o "$T/waits.html" "$T/waits.json" && printed "  $2: 1.00 s in 1 call" && grep -q "<b>$2</b>: 1.00 s in 1 call" "$T/waits.html"; }
  told iprobe "looking for messages" && tr -s ' \n' ' ' <"$T/out" | grep -q 'MPI_Probe and MPI_Mprobe do wait' && told test "looking for messages" && told io files && told win_create "communicators and windows" && told topology "communicators and windows" &&
    printed "barriers: 100 ms in 1 call" && ! printed "barriers: 100 ms in 1 calls" || return 1
  # what costs most comes first, here and on the page
  "$tool" waits send "$T/waits.json" && status 0 "$report" -o "$T/waits.html" "$T/waits.json" && sed -n '/^Worst first/,$p' "$T/out" | grep "^Calls that move no message" && sed 's/<h2>/\n&/g' "$T/waits.html" | sed -n '/Worst first/,$p' | grep "^<h2>Calls that move no message" &&
    [ "$(grep -c "^Calls that move no message" "$T/out")$(grep -o "<h2>Calls that move no message" "$T/waits.html" | wc -l)" = 11 ] || return 1
  sites "$T/waits.json" '{"call":"MPI_Barrier","module":"gone.so","where":"step (halo.c:7)","offset":9,"count":1,"total_ns":70000000,"max_ns":9}' '{"call":"MPI_Barrier","module":"gone.so","where":"end (halo.c:9)","offset":99,"count":1,"total_ns":30000000,"max_ns":9}' &&
    status 0 "$report" -o "$T/waits.html" --csv "$T/csv" "$T/waits.json" && grep -qx '"barriers",1,100000000,"MPI_Barrier","step (halo.c:7)",70000000' "$T/csv/unmoved.csv" && printed "barriers: 100 ms in 1 call, 70.0 ms of it in MPI_Barrier at step (halo.c:7)" && grep -q "70.0 ms of it in MPI_Barrier at step (halo.c:7)" "$T/waits.html" || return 1
  "$tool" quiet "$T/quiet.json" && status 0 "$report" -o "$T/quiet.html" "$T/quiet.json" && printed "barriers: 100 ms in 1 call" && ! printed "files:" && ! printed "Worst first" && ! printed "stands out" && grep -q "<b>barriers</b>: 100 ms" "$T/quiet.html" && ! grep -q "Worst first" "$T/quiet.html"
}
# Advice costs work: how much there is to win at most.
most_to_win() {
  most="% of all time: no more than that can be won here"
  "$tool" computed 10000000 10000000 "$T/most.json" && status 0 "$report" -o "$T/most.html" "$T/most.json" && printed "Communication calls are 2.9 $most." && grep -q "Communication calls are 2.9 $most" "$T/most.html" || return 1
  "$tool" computed 2000000 2000000 "$T/most.json" && status 0 "$report" -o "$T/most.html" "$T/most.json" && ! printed "$most" && ! grep -q "$most" "$T/most.html"
}
# Files are no partners who could be late.
files_are_not_waited_for() { "$tool" waits io "$T/waits.json" && status 0 "$report" --no-html "$T/waits.json" && printed "at least 500 ms of the 1.50 s"; }
# What ends no transfer of one's own is in no row of transfers: the time that a target waits in a window is said all the same.
windows() {
  "$tool" window "$T/window.json" && status 0 "$report" -o "$T/window.html" "$T/window.json" && printed "At least 1.40 s of the 1.50 s in communication calls were calls on windows" &&
    grep -q "At least 1.40 s of the 1.50 s in communication calls were calls on windows" "$T/window.html" &&
    "$tool" waits send "$T/waits.json" && status 0 "$report" --no-html "$T/waits.json" && ! printed "calls on windows" &&
    sites "$T/window.json" '{"call":"MPI_Win_create","offset":9,"count":1,"total_ns":4000000000,"max_ns":9}' '{"call":"MPI_Win_fence","offset":9,"count":1,"total_ns":100000000,"max_ns":9}' '{"call":"MPI_Win_flush_all","offset":9,"count":1,"total_ns":1400000000,"max_ns":9}' &&
    status 0 "$report" --no-html "$T/window.json" && printed "calls on windows (MPI_Win_flush_all)"
}
# A stripped module names what it exports, which is not where a place behind it is.
stripped_module() {
  printf 'int first(void) { return 1; }\n__attribute__((noinline, used)) static int hidden(int x) { return x + 1; }\n' >"$T/module.c" &&
    $CC -fPIC -shared -O1 -o "$T/module.so" "$T/module.c" && offset=$((0x$(nm "$T/module.so" | sed -n 's/ t hidden$//p') + 1)) && copy || return 1
  for f in "$T/copy"/*.json; do
    sed 's|^"cells":|"sites":[{"call":"MPI_Wait","module":"'"$T"'/module.so","offset":'$offset',"count":3,"total_ns":9000,"max_ns":3000}],&|' "$f" >"$T/site.json" && mv "$T/site.json" "$f"
  done
  status 0 "$report" --no-html "$T/copy" && grep '^By place' "$T/out" && grep 'MPI_Wait .* hidden (module\.c)$' "$T/out" && strip "$T/module.so" &&
    status 0 "$report" --no-html "$T/copy" && grep "MPI_Wait .* module.so+0x$(printf %x "$offset")\$" "$T/out"
}
# What to do where a file has no symbols; its debug symbols, installed later, name its places.
symbols_come_later() {
  printf '__attribute__((noinline, used)) static int hidden(int x) { return x + 1; }\n' >"$T/later.c" && (cd "$T" && $CC -g -fPIC -shared -O1 -o later.so later.c && objcopy --only-keep-debug later.so later.debug) &&
    offset=$((0x$(nm "$T/later.so" | sed -n 's/ t hidden$//p') + 1)) && strip "$T/later.so" && (cd "$T" && objcopy --add-gnu-debuglink=later.debug later.so && mv later.debug away) &&
    "$tool" waits send "$T/later.json" && sites "$T/later.json" '{"call":"MPI_Barrier","module":"'"$T"'/later.so","offset":'$offset',"count":1,"total_ns":70000000,"max_ns":9}' || return 1
  # also where its name is the end of another one's
  cp "$T/later.so" "$T/liblater.so" && "$tool" waits send "$T/two.json" && sites "$T/two.json" '{"call":"MPI_Barrier","module":"'"$T"'/liblater.so","offset":'$offset',"count":1,"total_ns":70000000,"max_ns":9}' \
    '{"call":"MPI_Barrier","module":"'"$T"'/later.so","offset":'$offset',"count":1,"total_ns":60000000,"max_ns":9}' '{"call":"MPI_Wait","module":"'"$T"'/liblater.so","offset":'$offset',"count":1,"total_ns":50000000,"max_ns":9}' &&
    status 0 "$report" --no-html "$T/two.json" && printed "Symbols are missing in liblater.so, later.so: where a place" || return 1
  status 0 "$report" -o "$T/later.html" "$T/later.json" && printed "Symbols are missing in later.so: where a place has none, its offset stands" && grep -q "Symbols are missing in later.so: where a place has none, its offset stands" "$T/later.html" &&
    mv "$T/away" "$T/later.debug" && status 0 "$report" -o "$T/later.html" "$T/later.json" && printed "hidden (later.c:1)" && ! printed "Symbols are missing in" && ! grep -q "Symbols are missing in" "$T/later.html"
}
# A wait is told of as far as both timelines show it, and how much they do not show.
rest_of_a_wait() {
  pair() { printf '"pairs":[{"rank":0,"partner":1,"sent_count":9,"sent_bytes":9,"received_count":9,"received_bytes":9,"waited_ns":100000000,"busy_ns":0,"small_waited_ns":0,"known_ns":%s,"late_ns":%s,"moving_ns":1000000,"computing_ns":0}],' "$1" "$2"; }
  told() { "$tool" waits send "$T/pair.json" && sed -i "s|^\"cells\":|$(pair "$1" "$2")&|" "$T/pair.json" && status 0 "$report" -o "$T/pair.html" "$T/pair.json" && printed "rank 1 was late: $3 of " && tr '\n' ' ' <"$T/out" | sed 's/  */ /g' >"$T/line"; }
  rest="; of the other 75.0 ms they tell nothing (sends that may leave at once, messages that were not matched)"
  told 25000000 20000000 "20.0 ms" && grep -F ", as far as both timelines show$rest" "$T/line" && grep -qF "$rest" "$T/pair.html" && told 95000000 90000000 "90.0 ms" && ! grep "they tell nothing" "$T/line" || return 1
  told 25000000 200000000 "200 ms" && grep -F "rank 0 waited 276 ms for rank 1 rank 1 was late: 200 ms of 201 ms" "$T/line" && grep -F "of the other 75.0 ms" "$T/line" # a call's time with several, of which each has its share
}
# Where all calls stand in one library, what tells its callers.
one_layer() {
  place() { printf '{"call":"MPI_Wait","module":"/opt/%s","symbol":"f%s","offset":%s,"count":1,"total_ns":%s,"max_ns":9}' "$1" "$2" "$2" "$3"; }
  hint="nearly all of this time is in calls that it makes" line="  liblayer.so.3: $hint. If it"
  layered() { "$tool" waits send "$T/layer.json" && sites "$T/layer.json" "$@" && status 0 "$report" -o "$T/layer.html" "$T/layer.json"; }
  layered "$(place liblayer.so.3 1 50)" "$(place liblayer.so.3 2 45)" "$(place app 3 5)" && printed "$line" && printed "nbc see --through 'liblayer.so.3' tells who called it" && grep -q "liblayer.so.3: $hint" "$T/layer.html" || return 1
  layered "$(place liblayer.so.3 1 50)" "$(place liblayer.so.3 2 39)" "$(place app 3 11)" && ! printed "$hint" && ! grep -q "$hint" "$T/layer.html" && layered "$(place app.so 1 50)" && ! printed "$hint" && layered "$(place app 1 50)" && ! printed "$hint" || return 1
  set -- && for i in $(seq 1 20); do set -- "$@" "$(place liblayer.so.3 "$i" 9)"; done
  layered "$@" && printed "$line" && layered "$@" "$(place liblayer.so.3 21 9)" && ! printed "$hint" && layered "$(place "lib<b>.so" 1 50)" && ! printed "$hint"
}
# Names of C++ that a stripped library exports are read out, long ones without their parameters, and without what templates are given.
names_of_cplusplus() {
  long=a_name_of_thirty_characters_xx && printf 'namespace %s { struct box { int operator()(int, struct other *); }; __attribute__((noinline)) int box::operator()(int x, struct other *) { return x + 1; } }\nint halo(int x, struct other *) { return x + 1; }\n' "$long::$long" >"$T/names.cc" &&
    printf 'template <class A, class B> struct both { template <class C> int operator<<(C x) { return (int)x + 2; } };\ntemplate int both<%s, %s>::operator<< <long>(long);\n' "$long::$long::box" "$long::$long::box" >>"$T/names.cc" &&
    g++ -std=c++17 -g -fPIC -shared -O1 -o "$T/names.so" "$T/names.cc" && first=$((0x$(nm -D "$T/names.so" | sed -n 's/ T _ZN.*$//p') + 1)) && second=$((0x$(nm -D "$T/names.so" | sed -n 's/ T _Z4halo.*$//p') + 1)) && third=$((0x$(nm -D "$T/names.so" | sed -n 's/ W _ZN4both.*$//p') + 1)) &&
    "$tool" waits send "$T/names.json" && sites "$T/names.json" '{"call":"MPI_Wait","module":"'"$T"'/names.so","symbol":"_ZN1a","offset":'$first',"count":1,"total_ns":9,"max_ns":9}' '{"call":"MPI_Send","module":"'"$T"'/names.so","symbol":"_Z4halo","offset":'$second',"count":1,"total_ns":9,"max_ns":9}' \
    '{"call":"MPI_Recv","module":"'"$T"'/names.so","symbol":"_ZN4both","offset":'$third',"count":1,"total_ns":9,"max_ns":9}' || return 1
  status 0 "$report" --no-html "$T/names.json" && grep "MPI_Wait .* $long::$long::box::operator() (names.cc:1)\$" "$T/out" && grep 'MPI_Send .* halo(int, .*) (names.cc:2)$' "$T/out" && grep 'MPI_Recv .* int both<>::operator<< <>(long) (names.cc:3)$' "$T/out" &&
    strip "$T/names.so" && status 0 "$report" --no-html "$T/names.json" && grep "MPI_Wait .* $long::$long::box::operator() in names.so\$" "$T/out" && grep 'MPI_Send .* halo(int, .*) in names.so$' "$T/out"
}
# Of Fortran's modules and of copies that compilers make of functions, the names that the source has: two copies are one place.
names_of_the_source() {
  printf 'int __bound_MOD_halo(int x) { return x + 1; }\nint step(int x) __asm__("step.constprop.0.isra.0");\nint step(int x) { return x + 2; }\n' >"$T/copies.c" &&
    $CC -g -fPIC -shared -O1 -o "$T/copies.so" "$T/copies.c" && halo=$((0x$(nm "$T/copies.so" | sed -n 's/ T __bound_MOD_halo$//p') + 1)) && step=$((0x$(nm "$T/copies.so" | sed -n 's/ T step\..*$//p') + 1)) &&
    "$tool" waits send "$T/copies.json" && sites "$T/copies.json" '{"call":"MPI_Wait","module":"'"$T"'/copies.so","offset":'$halo',"count":1,"total_ns":9,"max_ns":9}' '{"call":"MPI_Send","module":"'"$T"'/copies.so","offset":'$step',"count":1,"total_ns":9,"max_ns":9}' \
    '{"call":"MPI_Recv","module":"/gone.so","symbol":"__bound_MOD_swap.part.0","offset":9,"count":1,"total_ns":9,"max_ns":9}' '{"call":"MPI_Recv","module":"/gone.so","symbol":"__bound_MOD_swap","offset":99,"count":1,"total_ns":9,"max_ns":9}' &&
    status 0 "$report" --no-html "$T/copies.json" && grep 'MPI_Wait .* bound::halo (copies.c:1)$' "$T/out" && grep 'MPI_Send .* step (copies.c:3)$' "$T/out" && [ "$(grep -c 'MPI_Recv .* bound::swap in gone.so$' "$T/out")" = 1 ]
}
# What a simulation sees inside a blocking collective, its program cannot post earlier: the collective has a nonblocking form.
inside_a_collective() {
  inside() { # CALL: ten sends that began and ended in it
    "$tool" computed 50000 50000 "$T/inside.json" && sed -i 's/"max_overlap_ns":500000,"case_count":\[0,10,0\]/"max_overlap_ns":0,"case_count":[10,0,0]/; s/{"section_index":0,"kind":"isend","class/{"section_index":0,"site_plus1":1,"kind":"isend","class/' "$T/inside.json" &&
      sites "$T/inside.json" '{"call":"'"$1"'","module":"gone.so","where":"step (halo.c:7)","offset":9,"count":10,"total_ns":3000000,"max_ns":9}' && status 0 "$report" --no-html "$T/inside.json" && printed "$2"
  }
  inside MPI_Alltoallw "isend of MPI_Alltoallw at step (halo.c:7), 1 MiB to 16 MiB, same node: blocking calls" && inside MPI_Isend "same node: done inside one call" && inside MPI_Waitall "same node: done inside one call" && inside MPI_Ialltoallw "same node: done inside one call"
}
# Where the time in calls went stands in the report: of 1.5 s three parts and what is left; a fifth of 1.6 s without a core is
# what to look at first, whoever was waited for.
where_time_went() {
  went() { # NS without a core
    "$tool" waits send "$T/went.json" && sed -i 's|^"counters":\[\]|"counters":[{"name":"waited_for_a_core_ns","section_index":0,"value":'"$1"'}]|; s|^"problems":|"waits":{"held_ns":1500000000,"late_ns":600000000,"last_ns":300000000,"moving_ns":150000000,"computing_ns":0,"of":[{"partner":1,"late_ns":500000000,"last_ns":0},{"partner":2,"late_ns":100000000,"last_ns":300000000}]},&|' "$T/went.json" &&
      status 0 "$report" -o "$T/went.html" --csv "$T/csv" "$T/went.json" && printed '600 ms  40.0 %  before partners had called: rank 1 500 ms, rank 2 100 ms' && printed '300 ms  20.0 %  before the last at a collective had called: rank 2 300 ms' && printed '150 ms  10.0 %  all had called: transfers' && printed '450 ms  30.0 %  waits for nobody'
  }
  core='First a core for each process: they were ready to run for'
  went 330000000 && printed "$core 330 ms without one" && grep -q "<p>$core 330 ms" "$T/went.html" && [ "$(sed 1d "$T/csv/why.csv" | tr '\n' ' ')" = 'late,,600000000 last,,300000000 computing,,0 moving,,150000000 rest,,450000000 late,1,500000000 late,2,100000000 last,2,300000000 ' ] &&
    went 310000000 && ! printed "$core" && printed 'Most is won when those named call sooner' && ! grep -q "$core" "$T/went.html" || return 1
  sed 's/"late_ns":600000000/"late_ns":750000000/' "$T/went.json" >"$T/later.json" && status 0 "$report" --diff "$T/went.json" "$T/later.json" && grep -E '^ +600 ms +40.0 % +750 ms +50.0 %  before partners' "$T/out" &&
    "$tool" waits send "$T/none.json" && status 0 "$report" --diff "$T/none.json" "$T/later.json" && ! printed 'Where time in calls went'
}
more_communicators() {
  for n in 15 17; do
    "$tool" waits send "$T/comms.json" && comms=$(seq 1 $n | sed 's|.*|{"name":"c&","size":2,"count":1,"size_bytes":8,"waited_ns":9}|' | paste -sd, -) &&
      sed -i 's|^"cells":|"communicators":['"$comms"'],&|' "$T/comms.json" && status 0 "$report" --no-html "$T/comms.json" && printed "By communicator" || return 1
    [ $n = 15 ] || sed -n '/^By communicator/,/^$/p' "$T/out" | grep "^  and 2 more\$" || return 1
    [ $n = 17 ] || ! sed -n '/^By communicator/,/^$/p' "$T/out" | grep " more" || return 1
  done
}
# Two addresses of one line, in a process each: one row, as of transfers.
one_line_is_one_row() {
  copy && offset=16 && for f in "$T"/copy/*.json; do
    sed -i 's|^"cells":|"sites":[{"call":"MPI_Wait","module":"gone.so","where":"halo (halo.c:7)","offset":'$offset',"count":3,"total_ns":9000,"max_ns":3000},{"call":"MPI_Wait","module":"gone.so","where":"halo (halo.c:9)","offset":99,"count":1,"total_ns":90,"max_ns":90}],&|' "$f"
    offset=$((offset + 8))
  done
  n=$(ls "$T"/copy/*.json | wc -l)
  status 0 "$report" -o "$T/page.html" --csv "$T/csv" "$T/copy" && sed -n '/^By place/,/^$/p' "$T/out" | grep MPI_Wait >"$T/rows" && cat "$T/rows" &&
    [ "$(wc -l <"$T/rows")" = 2 ] && grep -Eq "MPI_Wait +$((3 * n)) +[0-9.]+ us +3.00 us +3.00 us  halo \(halo.c:7\)$" "$T/rows" && grep -Eq "MPI_Wait +$n +[0-9.]+ ns .*halo.c:9\)$" "$T/rows" &&
    [ "$(grep -c 'data-table="place"' "$T/page.html")" = 2 ] && [ "$(grep -c '^"MPI_Wait"' "$T/csv/places.csv")" = $((n + 1)) ]
}
# What addr2line found stands in the sum, and is enough where the module is not there any more.
places_in_json() {
  copy && for f in "$T"/copy/*.json; do sed -i 's|^"cells":|"sites":[{"call":"MPI_Wait","module":"'"$T"'/gone.so","symbol":null,"where":"hidden (module.c:7)","offset":16,"count":3,"total_ns":9000,"max_ns":3000},{"call":"MPI_Test","module":"/bin/app","symbol":"halo","offset":16,"count":3,"total_ns":9,"max_ns":3}],&|' "$f"; done
  status 0 "$report" --no-html --json "$T/copy" && cp "$T/out" "$T/where.json" && printed '"where":"hidden (module.c:7)"' && printed '"symbol":"halo","where":"halo in app"' &&
    status 0 "$report" --no-html "$T/where.json" && grep 'MPI_Wait .* hidden (module\.c:7)$' "$T/out"
}
one_more_place() {
  for n in 16 17; do
    copy && sites=$(seq 1 $n | sed 's|.*|{"call":"MPI_Wait","module":"app","symbol":"f&","offset":&,"count":1,"total_ns":9,"max_ns":9}|' | paste -sd, -) &&
      for f in "$T"/copy/*.json; do sed -i 's|^"cells":|"sites":['"$sites"'],&|' "$f"; done
    status 0 "$report" --no-html "$T/copy" && printed "and $((n - 15)) more place$([ $n = 16 ] || echo s)" && ! grep -q 'and 1 more places' "$T/out" || return 1
  done
}
# To oneself nobody moves anything beside the computation: no such advice.
messages_to_oneself() {
  "$tool" computed 250000 250000 "$T/computed.json" && sed 's/"peer":"same_node"/"peer":"self"/' "$T/computed.json" >"$T/self.json" && ! cmp -s "$T/computed.json" "$T/self.json" &&
    status 0 "$report" --no-html "$T/self.json" && printed ', itself: messages to oneself' && ! grep -q 'progress thread' "$T/out"
}
# Names longer than any room for them, as C++ has: the next place is still the next place. Calls have their whole names: cut, they are others.
long_names() {
  name=$(printf 'long_%0900d' 0) && printf '__attribute__((noinline)) int %s(int x) { return x + 1; }\n__attribute__((noinline)) int short_one(int x) { return x + 2; }\n' "$name" >"$T/long.c" &&
    $CC -fPIC -shared -O1 -g -o "$T/long.so" "$T/long.c" && first=$((0x$(nm "$T/long.so" | sed -n 's/ T long_.*$//p') + 1)) && second=$((0x$(nm "$T/long.so" | sed -n 's/ T short_one$//p') + 1)) && copy || return 1
  for f in "$T/copy"/*.json; do
    sed 's|^"cells":|"sites":[{"call":"MPI_Wait","module":"'"$T"'/long.so","offset":'$first',"count":3,"total_ns":9000,"max_ns":3000},{"call":"MPI_Ineighbor_alltoallw","module":"'"$T"'/long.so","offset":'$second',"count":3,"total_ns":8000,"max_ns":3000}],&|' "$f" >"$T/site.json" && mv "$T/site.json" "$f"
  done
  status 0 "$report" --no-html "$T/copy" && grep 'MPI_Wait .* long_0*.* (long.c:1)$' "$T/out" && grep 'MPI_Ineighbor_alltoallw .* short_one (long.c:2)$' "$T/out"
}
# A large exchange is one blocking call; only of a small one it can be that it came before.
exchanges() {
  "$tool" exchange 2000000 "$T/waits.json" && status 0 "$report" --no-html "$T/waits.json" && printed "same node: blocking calls" &&
    "$tool" exchange 40000 "$T/waits.json" && status 0 "$report" --no-html "$T/waits.json" && printed "same node: may have come before"
}
# Of what a start began, and of puts whose data may still be on its way, nobody who frees a request is to blame.
unseen() {
  "$tool" unseen start "$T/waits.json" && status 0 "$report" -o "$T/waits.html" "$T/waits.json" && printed "same node: started, and moved unseen" && printed "persistent collectives" && ! grep "freeing" "$T/out" "$T/waits.html" || return 1
  for kind in put atomic; do
    "$tool" unseen $kind "$T/waits.json" && status 0 "$report" -o "$T/waits.html" "$T/waits.json" && printed "same node: arrived unseen" && ! grep "freeing\|nonblocking send" "$T/out" "$T/waits.html" || return 1
  done
  "$tool" unseen isend "$T/waits.json" && status 0 "$report" --no-html "$T/waits.json" && printed "same node: sent unseen" && ! grep "at this size" "$T/out" &&
    "$tool" unseen irecv "$T/waits.json" && status 0 "$report" --no-html "$T/waits.json" && printed "same node: came unseen" && ! grep "of this size" "$T/out"
}
# What waits little need not be hidden.
hardly_waits() {
  "$tool" unseen put "$T/waits.json" && sed 's/"waited_ns":[0-9]*/"waited_ns":100/' "$T/waits.json" >"$T/hardly.json" && status 0 "$report" -o "$T/waits.html" "$T/hardly.json" && printed "Nothing stands out: what may not be hidden was nowhere waited for" &&
    ! grep "left unhidden" "$T/out" "$T/waits.html" && grep -q "was nowhere waited for" "$T/waits.html"
}
page_by_default() {
  mkdir -p "$T/here" && cp -r "$run" "$T/mine" && (cd "$T/here" && "$report" --json ../mine >../json.out) &&
    test ! -e "$T/mine/overlap_report.html" && (cd "$T/here" && "$report" ../mine/ >../out) &&
    test -s "$T/mine/overlap_report.html" && grep -q '^Page: ../mine/overlap_report.html$' "$T/out" &&
    rm "$T/mine/overlap_report.html" && (cd "$T/mine" && "$report" "$base.1.json" >../out) &&
    test -s "$T/mine/overlap_report.html" && rm "$T/mine/overlap_report.html" &&
    (cd "$T/here" && "$report" ../mine/"$base.1.json" >../out) && test -s "$T/mine/overlap_report.html" &&
    test -z "$(ls "$T/here")"
}
cut_off() {
  copy && head -c 700 "$run/$base.2.json" >"$T/copy/$base.2.json" && status 1 "$report" -o "$T/cut.html" "$T/copy" &&
    said "$base.2.json:" && said "cut off" && said "1 of 4 processes left no report: rank 2" && printed "3 processes" &&
    grep -q "cut off" "$T/cut.html"
}
names_the_line() {
  copy && sed 's/^"wall_ns":/"wall_ns":-/' "$run/$base.1.json" >"$T/copy/$base.1.json" && status 1 "$report" --no-html "$T/copy" &&
    said "$base.1.json:$(grep -n '^"wall_ns"' "$run/$base.1.json" | cut -d: -f1): field wall_ns" && printed "3 processes"
}
other_classes() {
  copy && sed 's/\[256,/[255,/' "$run/$base.3.json" >"$T/copy/$base.3.json" && status 1 "$report" --no-html "$T/copy" && said "other size classes"
}
empty_file() { copy && : >"$T/copy/$base.0.json" && status 1 "$report" --no-html "$T/copy" && said "$base.0.json:1:"; }
not_there() { status 1 "$report" --no-html "$run/$base.0.json" "$T/nothing.json" && said "nothing.json"; }
nothing() { mkdir -p "$T/empty" && status 2 "$report" "$T/empty" && said "nothing to report"; }
missing_rank() { copy && rm "$T/copy/$base.1.json" && status 0 "$report" --no-html "$T/copy" && said "left no report: rank 1" && ! grep "other nodes" "$T/err"; }
# Those of one host alone: the others' are perhaps in their own folder of that name.
missing_node() {
  copy && rm "$T/copy/$base.2.json" "$T/copy/$base.3.json" && status 0 "$report" --no-html "$T/copy" &&
    said "2 of 4 processes left no report here: ranks 2 3; others ran on other nodes: is this folder one that all nodes share?" &&
    sed -i 's/"other_node"/"same_node"/' "$T/copy"/*.json && status 0 "$report" --no-html "$T/copy" && said "left no report: ranks 2 3" && ! grep "other nodes" "$T/err"
}
twice() { status 0 "$report" --no-html "$run/$base.0.json" "$run/$base.0.json" && said "rank 0 is there twice"; }
several_runs() {
  copy && touch -t 200001010000 "$T/copy"/* && cp "$run/$base.0.json" "$T/copy/nbc_overlap.heat.9-9.0.json" &&
    status 0 "$report" --no-html "$T/copy" && said "several runs" && printed "1 process" && said "another run, 4 files: nbc report $T/copy/$base.*.json" && ! grep "9-9\..*json" "$T/err" || return 1
  # what is said of another run reports it
  # shellcheck disable=SC2046 # as words
  status 0 "$report" --no-html $(sed -n 's/.*another run, 4 files: nbc report //p' "$T/err") && printed "4 processes" && ! grep "several runs" "$T/err" || return 1
  for i in 1 2 3 4 5 6; do cp "$run/$base.0.json" "$T/copy/nbc_overlap.heat.1-$i$i.0.json" && touch -t 200001010000 "$T/copy/nbc_overlap.heat.1-$i$i.0.json"; done
  status 0 "$report" --no-html "$T/copy" && [ "$(grep -c "another run, [14] file" "$T/err")" = 5 ] && said "and 2 more runs" && said "another run, 1 file: nbc"
}
# Programs of one world (mpirun A : B) are one run; another run may have programs of the same names.
several_programs() {
  copy && mv "$T/copy/$base.3.json" "$T/copy/nbc_overlap.a.sea.1-2.3.json" && status 0 "$report" --no-html "$T/copy" && printed "4 processes" && ! grep "several runs\|left no report" "$T/err" || return 1
  touch -t 200001010000 "$T/copy"/*.json && for p in a.sea heat sea; do cp "$run/$base.0.json" "$T/copy/nbc_overlap.$p.1-21.0.json"; done && rm "$T/copy/nbc_overlap.sea.1-21.0.json" && mv "$T/copy/nbc_overlap.heat.1-21.0.json" "$T/copy/nbc_overlap.heat.1-21.1.json" || return 1
  status 0 "$report" --no-html "$T/copy" && printed "2 processes" && said "another run, 4 files: nbc report $T/copy/nbc_overlap.*.1-2.*.json" && [ "$(grep -c "another run" "$T/err")" = 1 ] || return 1
  # a shell takes the command as it is said
  for folder in "a copy" "it's" '*$(x)"'; do
    cp -a "$T/copy" "$T/$folder" && status 0 "$report" --no-html "$T/$folder" && eval "set -- $(sed -n 's/.*another run, 4 files: nbc report //p' "$T/err")" && status 0 "$report" --no-html "$@" && printed "4 processes" || return 1
  done
  # ... of any length
  long=$(printf '%0200d' 1) && mkdir -p "$T/$long/$long" && cp -a "$T/copy" "$T/$long/$long/$long" && status 0 "$report" --no-html "$T/$long/$long/$long" && said "/$long/nbc_overlap.*.1-2.*.json"
}
page_cannot_be_written() {
  status 1 "$report" -o "$T/no/such/folder/page.html" "$run" && said "the page was not written" && printed "4 processes" && printed "Worst first"
}
output_full() { [ ! -w /dev/full ] || { "$report" --no-html "$run" >/dev/full 2>"$T/err"; [ $? = 1 ] && said "standard output"; }; }
differences() {
  copy && sed 's/"max_overlap_ns":[0-9]*/"max_overlap_ns":0/g; s/"min_overlap_ns":[0-9]*/"min_overlap_ns":0/g' "$run/$base.0.json" >"$T/copy/$base.0.json" &&
    status 0 "$report" --diff "$run" "$T/copy" && printed "By section" && printed "solve/halo" &&
    status 2 "$report" --diff "$run" && status 2 "$report" --diff "$run" "$T/empty" &&
    : >"$T/copy/$base.2.json" && status 1 "$report" --diff "$run" "$T/copy"
}
on_the_wire() { # two NICs; the port and the driver of one count the same bytes; a still counter is 0, not "-"
  copy && sed -i 's|^"counters":\[|&{"name":"ib0:port1/port_xmit_data","section_index":1,"value":3145728},{"name":"ib0:net/tx_bytes","section_index":1,"value":1048576},{"name":"eth0:net/tx_bytes","section_index":1,"value":1048576},{"name":"eth0:net/rx_bytes","section_index":0,"value":0},{"name":"host/TcpRetransSegs","section_index":1,"value":7},{"name":"freed","section_index":1,"value":99}|' "$T/copy/$base.0.json" &&
    status 0 "$report" -o "$T/wire.html" "$T/copy" && grep -A3 '^On the wire' "$T/out" >"$T/wire" &&
    grep -Eq '^  \(outside sections\) +[0-9.]+ [KMG]?i?B +0 B +0 B +0 +- +-$' "$T/wire" &&
    grep -Eq '^  [^(]+ [0-9.]+ [KMG]?i?B +4 MiB +0 B +7 +- +-$' "$T/wire" && grep -q '<td>4 MiB</td><td>0 B</td><td>7</td>' "$T/wire.html" &&
    "$report" --no-html --json "$run" >"$T/sum.json" && "$tool" check "$T/wire.html" "$T/sum.json" && status 0 "$report" --no-html "$run" && ! grep -q '^On the wire' "$T/out" || return 1
  # of a long name the end is what tells it from others; characters of UTF-8 count once
  copy && sed -i 's|^"counters":\[|&{"name":"eth0:net/tx_bytes","section_index":2,"value":1048576}|; s|"solve/halo |"solve/halo of a long name/fläche |' "$T/copy/$base.0.json" && status 0 "$report" --no-html "$T/copy" && sed -n '/^On the wire/,/^$/p' "$T/out" >"$T/wire" && cat "$T/wire" && grep -qF '  ..long name/fläche <1> & "2"  ' "$T/wire"
}
fifo() { # a pipe in the folder is not waited for
  copy && rm "$T/copy/$base.1.json" && mkfifo "$T/copy/$base.1.json" && status 1 timeout 60 "$report" --no-html "$T/copy" &&
    said "not a file" && printed "3 processes"
}
places_differ() { # the same place at another address is the same place; the largest change is first
  at='"sites":[{"call":"MPI_Wait","module":"app","symbol":"halo","offset":%s,"count":3,"total_ns":%s,"max_ns":300},{"call":"MPI_Send","module":"app","symbol":"out","offset":16,"count":2,"total_ns":90000,"max_ns":50}],&'
  copy && rm -rf "$T/before" && cp -r "$run" "$T/before" &&
    sed -i "s|^\"cells\":|$(printf "$at" 4660 5000000)|" "$T/before/$base.0.json" &&
    sed -i "s|^\"cells\":|$(printf "$at" 9999 2000000)|" "$T/copy/$base.0.json" &&
    status 0 "$report" --diff "$T/before" "$T/copy" && grep -A1 '^By place' "$T/out" | grep -Eq 'MPI_Wait +3 +3 +5.00 ms +2.00 ms +-3.00 ms  halo in app' &&
    grep -Eq 'MPI_Send +2 +2 .* 0 ns +out in app' "$T/out"
}
# What began at two addresses of one place is one row, of all processes, everywhere; advice names the place.
begun_at_places() {
  at='"sites":[{"call":"MPI_Wait","module":"app","symbol":"halo","offset":7,"count":3,"total_ns":9,"max_ns":3},{"call":"MPI_Isend","module":"app","symbol":"halo","offset":%s,"count":2,"total_ns":9,"max_ns":5}],&'
  copy || return 1
  for f in "$T/copy"/*.json; do
    sed -i -e "s|^\"cells\":|$(printf "$at" $((1000 + $(wc -c <"$f") % 3)))|" -e 's/"class_index":\([0-9]*\),"peer"/"class_index":\1,"site_plus1":2,"peer"/' "$f"
  done
  sed -i 's/"offset":100[0-9]/"offset":7777/' "$T/copy/$base.1.json" && status 0 "$report" -o "$T/placed.html" --csv "$T/csv" "$T/copy" &&
    grep '^Transfers by place' "$T/out" && all=$("$report" --no-html --json "$run" | sed -n 's/.*"total":{"method":"independent","count":\([0-9]*\),.*/\1/p') && [ -n "$all" ] &&
    [ "$(grep -c ' halo in app$' "$T/out")" -ge 1 ] && grep -E "^  MPI_Isend +$all .* halo in app\$" "$T/out" && grep -E '^  1\. [a-z]+ at halo in app, ' "$T/out" && [ -z "$(sed -n 's/^  [0-9]\. //p' "$T/out" | sort | uniq -d)" ] &&
    grep -F 'data-table="begun at" data-name="MPI_Isend halo in app" data-count="'"$all"'"' "$T/placed.html" >/dev/null &&
    head -1 "$T/csv/transfers.csv" | grep ',call,where,exact_count,' && [ "$(grep -c ',"MPI_Isend","halo in app",' "$T/csv/transfers.csv")" = $(($(wc -l <"$T/csv/transfers.csv") - 1)) ] &&
    status 0 "$report" --diff "$T/copy" "$T/copy" && sed -n '/^Transfers by place/,$p' "$T/out" | grep -E '^  MPI_Isend .* halo in app$' &&
    status 0 "$report" --diff "$run" "$T/copy" && sed -n '/^Transfers by place/,$p' "$T/out" | grep -E '^  - .*\(not known\)$' &&
    grep -E '^  MPI_Isend  *- .* no transfers  .* %  halo in app$' "$T/out" && grep -E '^  - .* %  *no transfers  \(not known\)$' "$T/out" &&
    status 0 "$report" --no-html "$run" && ! printed 'Transfers by place' && status 0 "$report" --diff "$run" "$run" && ! printed 'Transfers by place'
}
# A run against itself hid nothing; against one ten times as slow, the reference must be wrong.
references() {
  "$report" --no-html --json "$run" >"$T/sum.json" && status 0 "$report" -o "$T/ref.html" --reference "$run" "$run" && printed "Against the reference" && printed "no progression: 0 %" &&
    grep -q "no progression: 0 %" "$T/ref.html" && "$tool" check "$T/ref.html" "$T/sum.json" &&
    "$report" --json --reference "$run" "$run" >"$T/with.json" && grep -q '"comm_ref_ns"' "$T/with.json" &&
    status 0 "$report" --no-html "$T/with.json" && printed "no progression: 0 %" &&
    copy && sed -i 's/"\(comp\|call\|wall\)_ns":\([1-9][0-9]*\)/"\1_ns":\20/g' "$T/copy"/* &&
    status 0 "$report" --no-html --reference "$T/copy" "$run" && printed "reference imprecise" &&
    status 0 "$report" --no-html --reference "$run/$base.0.json" "$run" && said "the reference has 1 process, this run 4" &&
    copy && sed -i 's/"program":"[^"]*"/"program":"cold"/' "$T"/copy/*.json && status 0 "$report" --no-html --reference "$T/copy" "$run" && said "a run of another program, cold: this one is heat<3d>?[31m" &&
    status 0 "$report" --no-html --reference "$run" "$run" && ! grep "another program" "$T/err" &&
    mkdir -p "$T/empty" && status 1 "$report" --no-html --reference "$T/empty" "$run" && ! grep -q "Against the reference" "$T/out"
}
first_measure() { head -1 "$T/out" | grep -q "^Measure the transfer table on this machine first: $1"; }
useless_table() {
  status 0 "$report" --no-html "$run" && ! grep -q "^Measure" "$T/out" &&
    copy && sed -i 's/"table_is_default":false/"table_is_default":true/' "$T/copy"/* && status 0 "$report" -o "$T/guess.html" "$T/copy" &&
    first_measure "xfer_table" && grep -q "Measure the transfer table" "$T/guess.html" && "$tool" check "$T/guess.html" "$T/sum.json" &&
    copy && sed -i 's/"table_too_slow":[0-9]*/"table_too_slow":250/; s/"library":null/"library":"MPICH Version: 4"/' "$T/copy"/* &&
    status 0 "$report" --no-html "$T/copy" && printed "% of the transfers were over before" && first_measure "mpirun -n 3 --map-by node xfer_table_mpich"
}
# Each table of the summary and of its JSON is a file, with the same numbers.
tables() {
  status 0 "$report" --no-html --csv "$T/csv" "$run" && cp "$T/out" "$T/text" && "$report" --no-html --json "$run" >"$T/sum.json" &&
    for one in transfers calls places pairs communicators ranks bounds offenders unmoved counters sections spread; do
      test -s "$T/csv/$one.csv" || { echo "no $one.csv"; return 1; }
    done
  jq -r '.counters[]|[.name, .value]|"\(.[0]) \(.[1])"' "$T/sum.json" | sort >"$T/counters.1"
  sed -n 's/^".*","\(.*\)",\([^,"]*\)$/\1 \2/p' "$T/csv/counters.csv" | sort >"$T/counters.2"
  diff "$T/counters.1" "$T/counters.2" || return 1
  # offenders: those that the summary names, in its order
  sed -n 's/^  [1-6]\. \(.*\): [a-z ]*$/\1/p' "$T/text" >"$T/named"
  test -s "$T/named" && sed -n 's/""/"/g; s/^"\(.*\)","[a-z ]*",[0-9].*/\1/p' "$T/csv/offenders.csv" | head -n "$(wc -l <"$T/named")" | diff "$T/named" - || return 1
  # the extremes of computation are those of ranks.csv
  awk -F, 'NR > 1 { v = $4 + 0; if (NR == 2 || v < least) least = v; if (v > most) most = v } END { printf "%.15g %.15g\n", least, most }' "$T/csv/ranks.csv" >"$T/ends.1"
  awk -F, '$1 == "\"computation\"" { print $3, $5 }' "$T/csv/spread.csv" | diff "$T/ends.1" -
}
csv_full() { mkdir -p "$T/full" && for one in offenders unmoved counters sections spread; do
    ln -sf /dev/full "$T/full/$one.csv" && status 1 "$report" --no-html --csv "$T/full" "$run" && said "the tables were not all written" && rm "$T/full/$one.csv" || return 1
  done; }
wrong_usage() { status 2 "$report" && said "usage:" && status 2 "$report" --nonsense "$run" && said "nonsense: unknown option" && status 2 "$report" -o && said "o: its value is missing" && status 0 "$report" --help && printed NBC_NIC_COUNTERS; }

check "page and sum hold the same numbers; page is well-formed" numbers
check "files and their folder give the same" files_like_folder
check "stamps never show more than all as hidden" stamps_up_to_all
check "a sum can be reported again" sum_is_a_report
check "no control character reaches the terminal" terminal_is_safe
check "time in calls that was more than transfers: not of collectives, not by a guess" no_transfer
check "time waited in windows is told to targets" windows
check "calls that move no message are told of, most time first" calls_without_transfers
check "how much can be won, where it is little" most_to_win
check "files are no partners that are waited for" files_are_not_waited_for
check "computation beside one transfer is none beside the others" computation_is_of_each_transfer
check "a stripped module's exports are no places" stripped_module
check "a file without symbols is named, and its debug symbols name its places" symbols_come_later
check "a wait that timelines show in part: how much they do not" rest_of_a_wait
check "where all calls stand in one library, what tells its callers" one_layer
check "names of C++ are read out, too long ones without parameters" names_of_cplusplus
check "messages of a blocking collective are not to be posted earlier" inside_a_collective
check "Fortran's modules and copies of functions have the names of the source" names_of_the_source
check "where the time in calls went, and that there was no core, is told from one report" where_time_went
check "communicators that are left out are counted" more_communicators
check "what is known of places is in the JSON" places_in_json
check "one more place is one" one_more_place
check "addresses of one line are one row" one_line_is_one_row
check "messages to oneself get no advice of progress" messages_to_oneself
check "places behind one with a long name are right" long_names
check "persistent collectives, partitions and puts that moved unseen get no advice of messages" unseen
check "of what is hardly waited for it is not said that it is hidden" hardly_waits
check "a large exchange is a blocking call, a small one may have come before" exchanges
check "the page goes beside the reports, nothing into the working folder" page_by_default
check "a file that is cut off" cut_off
check "a wrong number: file, line and field" names_the_line
check "a file of other size classes" other_classes
check "an empty file" empty_file
check "a file that is not there" not_there
check "a folder without reports" nothing
check "a rank without a report" missing_rank
check "a node without reports" missing_node
check "a rank twice" twice
check "the newest of several runs" several_runs
check "programs of one world are one run" several_programs
check "a page that cannot be written" page_cannot_be_written
check "standard output that is full" output_full
check "differences" differences
check "differences by place" places_differ
check "what began at a place is one row, whatever its addresses" begun_at_places
check "a pipe in the folder" fifo
check "NIC counters beside what was asked for" on_the_wire
check "a share by stamps outside of the bounds is explained" longer_than_the_table
check "a diagnosis against a reference" references
check "a guessed or wrong table: first measure" useless_table
check "every table is a file" tables
check "a table that finds no room" csv_full
check "wrong usage" wrong_usage
finish
