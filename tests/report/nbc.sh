#!/bin/sh
# The command nbc where no MPI is needed: a folder of reports, a file where a folder should be. And timelines of two
# runs, whose messages look the same.
. tests/test.sh
tool=$B/tests/report/page_tool
run=$T/run
mkdir "$run" "$T/bin" && "$tool" make "$run" && "$tool" timelines "$run" || exit 1
# status N COMMAND...: the command ends with N
status() { wanted=$1 && shift && { "$@" >"$T/out" 2>"$T/err"; code=$?; cat "$T/out" "$T/err"; [ "$code" = "$wanted" ]; }; }

own_usage() {
  cp "$B/nbc" "$B/dedicated_core" "$B/overlap_report" "$B/overlap_trace" "$T/bin" || return 1
  for c in see report diff trace predict get table doctor completion; do
    status 0 "$T/bin/nbc" $c --help && grep -q "^usage: nbc $c" "$T/out" && [ "$(grep -c 'nbc [a-z]* .*\(DIR\|PROGRAM\|AFTER\)' "$T/out")" -le 3 ] && ! grep -q 'no option' "$T/err" &&
      status 0 "$T/bin/nbc" --help && grep -q "nbc $c" "$T/out" && grep -q "^  $c  " "$T/out" || return 1
  done
  status 0 "$T/bin/nbc" see --help && grep -q -- '--through NAMES' "$T/out" && ! grep -q -- '--again' "$T/out" && status 0 "$T/bin/nbc" report --help && grep -q -- '--reference REF' "$T/out" &&
    status 2 "$T/bin/nbc" diff "$run" && [ "$(cat "$T/err")" = 'usage: nbc diff BEFORE AFTER' ] && status 2 "$T/bin/nbc" nothing && grep -q 'there is no nothing' "$T/err"
}
predicts() {
  cp "$B/nbc" "$B/dedicated_core" "$T/bin" && status 0 "$T/bin/nbc" predict --cores 4 "$run" && grep -q "^predicted time" "$T/out" &&
    cp "$T/out" "$T/folder" && status 0 "$T/bin/nbc" predict --cores 4 "$run"/*.json && cmp "$T/out" "$T/folder" &&
    mkdir -p "$T/empty" && status 2 "$T/bin/nbc" predict "$T/empty" && grep -q "empty: no reports in it" "$T/err"
}
# Options may stand behind the folder: nothing is written elsewhere, and no option taken for a file.
options_behind() {
  cp "$B/nbc" "$B/dedicated_core" "$B/overlap_report" "$B/overlap_trace" "$T/bin" && rm -rf "$T/behind" && cp -r "$run" "$T/behind" &&
    status 0 "$T/bin/nbc" predict --cores 4 "$T/behind" && cp "$T/out" "$T/before" && status 0 "$T/bin/nbc" predict "$T/behind" --cores 4 && cmp "$T/out" "$T/before" &&
    status 0 "$T/bin/nbc" report "$T/behind" --no-html --csv "$T/behind/csv" && [ -s "$T/behind/csv/calls.csv" ] && [ ! -e "$T/behind/overlap_report.html" ] &&
    status 0 "$T/bin/nbc" trace "$T/behind" -o "$T/behind/t.json" && [ -s "$T/behind/t.json" ] && [ ! -e "$T/behind/overlap_trace.json" ]
}
# What is beside nbc is its own: a library without contents, and a program that tells when it runs.
file_for_folder() {
  cp "$B/nbc" "$T/bin" && : >"$T/bin/libnbc_overlap_mpich.so" && echo mine >"$T/file" && rm -f "$T/ran" &&
    printf '#!/bin/sh\n: >"%s"\n' "$(cd "$T" && pwd)/ran" >"$T/program" && chmod +x "$T/program" &&
    status 1 "$T/bin/nbc" see --mpi mpich --no-table -o "$T/file" "$T/program" && grep -q "file: not a folder" "$T/err" &&
    [ ! -e "$T/ran" ] && [ "$(cat "$T/file")" = mine ] || return 1
  # nor is a table measured for it before
  mkdir -p "$T/fake" && printf '#!/bin/sh\n[ "$1" = --version ] && echo HYDRA 4 && exit\n: >"%s"\n' "$(cd "$T" && pwd)/ran" >"$T/fake/mpirun.mpich" && chmod +x "$T/fake/mpirun.mpich" && : >"$T/bin/xfer_table_mpich" &&
    status 1 env PATH="$T/fake:$PATH" XDG_CACHE_HOME="$T/cache_of_none" "$T/bin/nbc" see --mpi mpich -o "$T/file" "$T/program" && grep -q "file: not a folder" "$T/err" && [ ! -e "$T/ran" ] && rm "$T/bin/xfer_table_mpich"
}
# Runs that are started at once do not write into one folder.
at_once() {
  cp "$B/nbc" "$B/overlap_report" "$T/bin" && : >"$T/bin/libnbc_overlap_mpich.so" && rm -rf "$T/at_once" && mkdir "$T/at_once" && printf '#!/bin/sh\n' >"$T/at_once/program" && chmod +x "$T/at_once/program" &&
    (nbc=$(cd "$T/bin" && pwd)/nbc && cd "$T/at_once" && for i in $(seq 16); do "$nbc" see --mpi mpich --no-table ./program >out.$i 2>&1 & done && wait) && [ "$(ls -d "$T"/at_once/nbc-program-* | wc -l)" = 16 ]
}
# What the preload's own variables say holds, where no option says otherwise.
variables() {
  cp "$B/nbc" "$T/bin" && : >"$T/bin/libnbc_overlap_mpich.so" && cp "$B/overlap_report" "$T/bin" && printf '1 1e-6\n' >"$T/own_table" && printf '1 1e-6\n' >"$T/other_table" || return 1
  for way in "|[^ ]*/own_folder NBC_TABLE=[^ ]*/own_table" "--table $T/other_table -o $T/other_folder|[^ ]*/other_folder NBC_TABLE=[^ ]*/other_table" "--no-table|[^ ]*/own_folder NBC_TABLE= "; do
    # shellcheck disable=SC2086 # words
    NBC_REPORT_DIR=$T/own_folder NBC_TABLE=$T/own_table status 0 "$T/bin/nbc" see --mpi mpich --print ${way%|*} true && head -1 "$T/out" | grep -q "NBC_REPORT_DIR=${way#*|}" || return 1
  done
}
# As above: the program does not run.
table_that_is_none() {
  cp "$B/nbc" "$T/bin" && : >"$T/bin/libnbc_overlap_mpich.so" && rm -f "$T/ran" && mkdir -p "$T/folder_of_tables" && printf '#!/bin/sh\n: >"%s/ran"\n' "$(cd "$T" && pwd)" >"$T/program" && chmod +x "$T/program" || return 1
  for table in "$T/no_table" "$T/folder_of_tables"; do
    status 2 "$T/bin/nbc" see --mpi mpich --table "$table" -o "$T/reports" "$T/program" && grep -q "^nbc: --table: $table: " "$T/err" && [ ! -e "$T/ran" ] &&
      NBC_TABLE=$table status 2 "$T/bin/nbc" see --mpi mpich -o "$T/reports" "$T/program" && grep -q "^nbc: NBC_TABLE: $table: " "$T/err" && [ ! -e "$T/ran" ] || return 1
  done
}
two_runs() {
  status 0 "$B/overlap_trace" -o "$T/t.json" "$run" && grep -q "^1 of 1 messages have both ends" "$T/out" "$T/err" &&
    rm -rf "$T/mixed" && mkdir "$T/mixed" && cp "$run"/*.0.trace "$T/mixed" && cp "$run/nbc_overlap.heat.1-2.1.trace" "$T/mixed/nbc_overlap.heat.3-4.1.trace" &&
    status 0 "$B/overlap_trace" -o "$T/t.json" "$T/mixed" && grep -q "^0 of 1 messages have both ends; of others: they are of several runs" "$T/out" "$T/err" &&
    mv "$T/mixed/nbc_overlap.heat.3-4.1.trace" "$T/mixed/nbc_overlap.sea.1-2.1.trace" && status 0 "$B/overlap_trace" -o "$T/t.json" "$T/mixed" && grep -q "^1 of 1 messages have both ends" "$T/out" "$T/err" &&
    for run_of in heat.1-3 heat.12 heat.x-2; do # another process id, no time, no number
      rm "$T/mixed"/*.1.trace && cp "$run/nbc_overlap.heat.1-2.1.trace" "$T/mixed/nbc_overlap.$run_of.1.trace" && status 0 "$B/overlap_trace" -o "$T/t.json" "$T/mixed" && grep -q "^0 of 1 messages" "$T/out" "$T/err" || return 1
    done
}
# Drawn 30 us late and early, for no more is known: 59 us is what is missing to the 1 us that it took.
arrows_backwards() {
  rm -rf "$T/nodes" && mkdir "$T/nodes" && "$tool" nodes "$T/nodes" && status 0 "$B/overlap_trace" -o "$T/t.json" "$T/nodes" && cat "$T/out" &&
    grep -q "^6 of 6 messages have both ends" "$T/out" && grep -q "^1 arrow points backwards, by up to 5[89]\." "$T/out" &&
    rm "$T/nodes"/*.2.trace && status 0 "$B/overlap_trace" -o "$T/t.json" "$T/nodes" && cat "$T/out" && grep -q "^2 of 4 messages have both ends" "$T/out" && ! grep backwards "$T/out"
}
# The loader splits LD_PRELOAD at blanks: the program would run, and nothing of it be measured.
blank_in_path() {
  rm -f "$T/ran" && printf '#!/bin/sh\n: >"%s"\n' "$(cd "$T" && pwd)/ran" >"$T/program" && chmod +x "$T/program" || return 1
  for name in 'with blank' 'with:colon'; do
    mkdir -p "$T/$name" && cp "$B/nbc" "$B/overlap_report" "$T/$name" && : >"$T/$name/libnbc_overlap_mpich.so" && : >"$T/$name/libnbc_progress_mpich.so" || return 1
    for command in 'see --no-table' get; do
      # shellcheck disable=SC2086 # words
      status 1 "$T/$name/nbc" $command --mpi mpich "$T/program" && grep "$name.*blanks or colons" "$T/err" && [ ! -e "$T/ran" ] || return 1
    done
  done
}
# An example's prediction is no answer about a program that was not named.
predicts_nothing_of_nothing() {
  cp "$B/nbc" "$B/dedicated_core" "$T/bin" || return 1
  for words in '' '--cores 4' '--cores'; do
    # shellcheck disable=SC2086 # words
    status 2 "$T/bin/nbc" predict $words && [ ! -s "$T/out" ] && grep '^usage: nbc predict' "$T/err" || return 1
  done
  status 0 "$T/bin/nbc" predict --example && grep '^comp_s' "$T/out"
}
no_cache() {
  cp "$B/nbc" "$T/bin" && printf '#!/bin/sh\necho "HYDRA build details: Version: 4.0.2"\n' >"$T/bin/mpirun.mpich" && chmod +x "$T/bin/mpirun.mpich" && : >"$T/bin/xfer_table_mpich" && : >"$T/bin/libnbc_overlap_mpich.so" || return 1
  ask() { status "$1" env -u XDG_CACHE_HOME HOME="$T/none/at/all" PATH="$T/bin:/usr/bin:/bin" "$T/bin/nbc" $2; }
  ask 1 'table --mpi mpich' && grep 'no cache folder' "$T/err" && ! grep 'no MPI launcher' "$T/err" && ask 0 doctor && grep 'none can be kept: no cache folder' "$T/out"
}
wrong_words() {
  cp "$B/nbc" "$T/bin" && : >"$T/plain" || return 1
  said() { # STATUS SENTENCE WORDS...
    wrong=$1 sentence=$2 && shift 2
    status "$wrong" "$T/bin/nbc" "$@" && [ "$(head -1 "$T/err")" = "nbc: $sentence" ]
  }
  said 2 '-o: its value is missing' see -o && said 2 '--mpi: its value is missing' table --mpi && said 2 '-o is no option of nbc get (nbc get --help)' get -o x true &&
    said 2 'which program? (nbc get --help)' get --print && said 2 '--trace and --no-trace exclude each other' see --no-table --trace --no-trace true &&
    said 126 "$T/plain: not executable" see "$T/plain" && said 126 "$T: not executable" see "$T" && said 127 "$T/none: not found" see "$T/none" &&
    said 2 'x: nbc doctor takes nothing' doctor x && status 0 "$T/bin/nbc" --version && grep -x 'nbc_overlap [0-9]*\.[0-9]*\.[0-9]*' "$T/out" &&
    status 0 "$B/overlap_report" --version && grep -x 'overlap_report of nbc_overlap [0-9]*\.[0-9]*\.[0-9]*' "$T/out" && status 2 "$B/overlap_report" --version x
}
# What --help names, completion knows, for each command its own.
completion_knows() {
  cp "$B/nbc" "$B/dedicated_core" "$B/overlap_report" "$B/overlap_trace" "$T/bin" && "$T/bin/nbc" completion >"$T/completion" || return 1
  case $T in /*) completion=$T/completion ;; *) completion=$PWD/$T/completion ;; esac
  # shellcheck disable=SC2016 # bash's own
  complete_with='. "$1"; COMP_WORDS=(nbc "${@:2}"); COMP_CWORD=$(($# - 1)); _nbc; echo "${COMPREPLY[*]}"'
  for c in see report trace predict get table; do
    status 0 "$T/bin/nbc" $c --help && sed -n '/^usage/,/^  [a-zA-Z-]/p' "$T/out" | grep -E '^(usage|       )' | grep -oE '[[ ]--?[a-z0-9-]+' | tr -d '[ ' | sort -u >"$T/named" && grep -q . "$T/named" &&
      bash -c "$complete_with" bash "$T/completion" $c - | tr ' ' '\n' | sort -u >"$T/known" || return 1
    left=$(grep -vxFf "$T/known" "$T/named")
    [ -z "$left" ] || ! echo "$c: $left" || return 1
    [ $c != get ] || ! grep -x -- --table "$T/known" || return 1
  done
  bash -c "$complete_with" bash "$T/completion" d | grep -w 'diff doctor' || return 1
  # a name with blanks is one, also where its begin stands in quotes or behind a backslash
  mkdir -p "$T/blanks" && : >"$T/blanks/one of_two" && : >"$T/blanks/one of_both" || return 1
  # shellcheck disable=SC2016 # bash's own
  for word in 'one' 'one\ o' '"one o'; do
    (cd "$T/blanks" && bash -c '. "$1"; COMP_WORDS=(nbc report "$2"); COMP_CWORD=2; _nbc; printf "%s|" "${COMPREPLY[@]}"' bash "$completion" "$word" | grep -x 'one of_[a-z]*|one of_[a-z]*|') || return 1
  done
}
# Where more processes run than this host has cores, the report says so; elsewhere it does not know.
few_cores() {
  rm -rf "$T/crowd" && mkdir "$T/crowd" && cores=$(getconf _NPROCESSORS_ONLN) && one=$(ls "$run"/*.0.json | head -1) || return 1
  for i in $(seq 0 "$cores"); do sed "s/\"host\":\"[^\"]*\"/\"host\":\"$(hostname)\"/; s/\"rank\":[0-9]*/\"rank\":$i/; s/\"size\":[0-9]*/\"size\":$((cores + 1))/" "$one" >"$T/crowd/nbc_overlap.crowd.1-2.$i.json"; done
  status 0 "$B/overlap_report" --no-html "$T/crowd" && grep "$((cores + 1)) processes on $cores core" "$T/out" && rm "$T/crowd/nbc_overlap.crowd.1-2.$cores.json" &&
    status 0 "$B/overlap_report" --no-html "$T/crowd" && ! grep 'processes on [0-9]* core' "$T/out"
}
# A table that was disturbed is told with what cures it. A launcher that only says whose it is.
disturbed_table() {
  cp "$B/nbc" "$T/bin" && printf '#!/bin/sh\necho "HYDRA build details: Version: 4.0.2"\n' >"$T/bin/mpirun.mpich" && chmod +x "$T/bin/mpirun.mpich" && : >"$T/bin/xfer_table_mpich" || return 1
  ask() { status "$1" env XDG_CACHE_HOME="$T/cache" PATH="$T/bin:/usr/bin:/bin" "$T/bin/nbc" $2; }
  mkdir -p "$T/cache" && ask 0 'table --mpi mpich --print' && table=$(sed -n 's/.* \(.*\)\.part\.[0-9]*$/\1/p' "$T/out") && [ "$table" ] && printf '# disturbed by a test\n1 1e-6\n' >"$table" && : >"$T/bin/libnbc_overlap_mpich.so" &&
    ask 0 doctor && grep 'disturbed when it was measured.*nbc table --again' "$T/out" && printf '1 1e-6\n' >"$table" && ask 0 doctor && ! grep disturbed "$T/out"
}
# In containers programs run as root, which Open MPI wants to be told.
as_root() {
  cp "$B/nbc" "$T/bin" && printf '#!/bin/sh\necho "mpirun (Open MPI) 4.1.4"\n' >"$T/bin/mpirun.openmpi" && chmod +x "$T/bin/mpirun.openmpi" &&
    : >"$T/bin/xfer_table_mpi" && : >"$T/bin/libnbc_overlap_mpi.so" && cp "$B/overlap_report" "$T/bin" || return 1
  printed() { status 0 env XDG_CACHE_HOME="$T/cache" PATH="$T/bin:/usr/bin:/bin" "$T/bin/nbc" see --print --mpi openmpi "$T/bin/mpirun.openmpi" "$@" -n 2 true && grep 'xfer_table_mpi ' "$T/out"; }
  printed --allow-run-as-root | grep -q -- ' --allow-run-as-root .*xfer_table_mpi ' && ! printed --oversubscribe | grep -q -- --allow-run-as-root
}
# A launcher that says whose it is, and what it is to start is only printed.
printed() { # LAUNCHER WHAT-IT-IS WORDS...
  launcher=$1 is=$2 && shift 2
  cp "$B/nbc" "$B/overlap_report" "$T/bin" && : >"$T/bin/libnbc_overlap_mpi.so" && : >"$T/bin/libnbc_overlap_mpich.so" &&
    printf '#!/bin/sh\necho "%s"\n' "$is" >"$T/bin/$launcher" && chmod +x "$T/bin/$launcher" &&
    status 0 "$T/bin/nbc" see --print --no-table "$T/bin/$launcher" "$@"
}
# Each of several programs has an environment of its own there: without the preload in all of them the run would hang.
several_programs() {
  printed mpirun.openmpi 'mpirun (Open MPI) 4.1.4' -n 1 true : -n 2 true a : -n 1 true &&
    [ "$(head -1 "$T/out" | grep -o -- '-x LD_PRELOAD=[^ ]*libnbc_overlap_mpi.so -x NBC_REPORT_DIR=[^ ]* -x NBC_TRACE=first -n [12] true' | wc -l)" = 3 ] &&
    printed mpirun.mpich 'HYDRA build details: Version: 4.0.2' -n 1 true : -n 2 true && [ "$(head -1 "$T/out" | grep -o LD_PRELOAD | wc -l)" = 1 ]
}
layers_are_passed_on() {
  printed mpirun.mpich 'HYDRA build details: Version: 4.0.2' -n 1 true &&
    status 0 "$T/bin/nbc" see --print --no-table --through 'libA*,b' "$T/bin/mpirun.mpich" -n 2 true && head -1 "$T/out" | grep -F " NBC_THROUGH 'libA*,b' "
}
# What the user preloads stays, behind ours, and so does its place.
preloads_stay() {
  open='mpirun (Open MPI) 4.1.4' hydra='HYDRA build details: Version: 4.0.2'
  both='libnbc_overlap_mpi\(ch\)\?\.so:/x.so'
  LD_PRELOAD=/x.so printed mpirun.openmpi "$open" -n 1 true && head -1 "$T/out" | grep "LD_PRELOAD=[^ ]*$both -x NBC" || return 1
  for words in '-x LD_PRELOAD=/x.so -n 1 true' '-n 1 env A=b LD_PRELOAD=/x.so true' '-n 1 true LD_PRELOAD=/argument : -x LD_PRELOAD=/x.so -n 1 true'; do
    # shellcheck disable=SC2086 # words
    printed mpirun.openmpi "$open" $words && head -1 "$T/out" | grep " LD_PRELOAD=[^ ]*$both " && ! grep -E ' LD_PRELOAD=/x|:/argument' "$T/out" || return 1
  done
  LD_PRELOAD=/x.so printed mpirun.openmpi "$open" -x LD_PRELOAD -n 1 true && [ "$(head -1 "$T/out" | grep -o "$both" | wc -l)" = 2 ] || return 1
  for option in -genv -env; do
    printed mpirun.mpich "$hydra" $option LD_PRELOAD /x.so -n 1 true && head -1 "$T/out" | grep -- "$option LD_PRELOAD [^ ]*$both -n" || return 1
  done
}
# What the user wants srun to pass on is passed on, and ours: of two options it takes the last.
srun_passes_both_on() {
  ours='LD_PRELOAD=[^ ,]*/libnbc_overlap_mpich.so'
  cp "$B/nbc" "$B/overlap_report" "$T/bin" && : >"$T/bin/libnbc_overlap_mpich.so" && printf '#!/bin/sh\n' >"$T/bin/srun" && chmod +x "$T/bin/srun" || return 1
  exported() { # OPTIONS PATTERN
    # shellcheck disable=SC2086 # words
    status 0 "$T/bin/nbc" see --print --no-table --mpi mpich "$T/bin/srun" $1 -n 2 true --export=x && head -1 "$T/out" | grep -e "srun --export=$2 -n 2 true --export=x$"
  }
  exported '' "ALL,$ours,NBC_REPORT_DIR=[^ ]*" && exported --export=NONE "$ours,NBC_[^ ]*" && exported --export=NIL "$ours,NBC_[^ ]*" && exported '--export A,B=2' "A,B=2,$ours,NBC_[^ ]*" &&
    exported '--export=C --export=ALL,LD_PRELOAD=/x.so,D' "ALL,D,$ours:/x.so,NBC_[^ ]*" && SLURM_EXPORT_ENV=NONE exported '' "$ours,NBC_[^ ]*" || return 1
  status 1 "$T/bin/nbc" see --print --no-table --mpi mpich -o "$T/a,b" "$T/bin/srun" -n 2 true && grep -q '^nbc: srun passes on no variable with a comma: NBC_REPORT_DIR=' "$T/err"
}
# AddressSanitizer ends a program that finds another library before its own: the program's, or one that the user preloads.
sanitizer_first() {
  printf '#!/bin/sh\ncase $1 in */app) printf "\\tlibmpich.so.12 => /l/libmpich.so.12 (0x1)\\n\\tlibasan.so.8 => /l/libasan.so.8 (0x2)\\n" ;; esac\n' >"$T/bin/ldd" && : >"$T/bin/app" && chmod +x "$T/bin/ldd" "$T/bin/app" || return 1
  PATH=$T/bin:$PATH printed mpirun.mpich 'HYDRA build details: Version: 4.0.2' -n 2 app && head -1 "$T/out" | grep 'LD_PRELOAD /l/libasan.so.8:/[^ :]*/libnbc_overlap_mpich.so ' || return 1
  rm "$T/bin/ldd"
  LD_PRELOAD=/x/libasan.so.8 printed mpirun.openmpi 'mpirun (Open MPI) 4.1.4' -n 1 true && head -1 "$T/out" | grep 'LD_PRELOAD=/x/libasan.so.8:/[^ :]*/libnbc_overlap_mpi.so '
}
# The program is who shows an MPI, whatever stands before it.
behind_others() {
  printf '#!/bin/sh\ncase $1 in */app) echo "libmpich.so.12 => x" ;; esac\n' >"$T/bin/ldd" && : >"$T/bin/app" && chmod +x "$T/bin/ldd" "$T/bin/app" || return 1
  for words in app 'env A=b app env' 'nice -n 5 taskset -c 0 app -n 1'; do
    # shellcheck disable=SC2086 # words
    PATH="$T/bin:$PATH" printed mpirun.mpich 'HYDRA build details: Version: 4.0.2' -n 2 $words && grep -q -- "NBC_REPORT_DIR [^ ]*/nbc-app-1 .*-n 2 $words" "$T/out" &&
      PATH="$T/bin:$PATH" status 0 "$T/bin/nbc" see --print --no-table $words && grep -q "NBC_REPORT_DIR=[^ ]*/nbc-app-1 " "$T/out" || return 1
  done
  printf '#!/bin/sh\necho "mpirun (Open MPI) 4.1.4"\n' >"$T/bin/mpirun.openmpi" && chmod +x "$T/bin/mpirun.openmpi" &&
    PATH="$T/bin:$PATH" status 2 "$T/bin/nbc" see --print --no-table mpirun.openmpi -n 2 env A=b app && grep -q '^nbc: app is built with MPICH, but' "$T/err" &&
    PATH="$T/bin:$PATH" status 127 "$T/bin/nbc" see --print --no-table ./none app && grep -q '^nbc: ./none: not found' "$T/err"
}
# Who sends a signal to nbc means the program: it is told, and its report is still tried.
signals_are_handed_on() {
  cp "$B/nbc" "$B/overlap_report" "$T/bin" && : >"$T/bin/libnbc_overlap_mpich.so" && rm -f "$T/told" "$T/ready" &&
    printf '#!/bin/sh\ntrap ": >told; exit 3" TERM\n: >ready\nfor i in 1 2 3 4 5 6 7 8 9; do sleep 3; done\n' >"$T/waits" && chmod +x "$T/waits" || return 1
  (cd "$T" && exec ./bin/nbc see --mpi mpich --no-table -o waited ./waits) >"$T/out" 2>"$T/err" &
  nbc=$!
  while [ ! -e "$T/ready" ] && kill -0 $nbc; do sleep 0.1; done
  kill $nbc
  wait $nbc
  [ $? = 3 ] && [ -e "$T/told" ] && grep 'no whole report: the program ended with status 3' "$T/err"
}
# Why there is no report is guessed only where a program left none.
why_no_report() {
  cp "$B/nbc" "$B/overlap_report" "$T/bin" && : >"$T/bin/libnbc_overlap_mpich.so" && rm -rf "$T/left" || return 1
  for last in true 'echo cut >"$NBC_REPORT_DIR/nbc_overlap.x.1-2.0.json"'; do
    printf '#!/bin/sh\n%s\n' "$last" >"$T/leaves" && chmod +x "$T/leaves" && status 1 "$T/bin/nbc" see --mpi mpich --no-table -o "$T/left" "$T/leaves" &&
      grep 'no whole report: the program ended with status 0' "$T/err" && [ "$(grep -c 'killed by SIGKILL' "$T/err")" = "$([ "$last" = true ] && echo 1 || echo 0)" ] || return 1
  done
}
# A launcher may be gone before what it has launched: its reports are waited for, what stays is not, and that is said.
late_reports() {
  cp "$B/nbc" "$B/overlap_report" "$T/bin" && : >"$T/bin/libnbc_overlap_mpich.so" && reports=$(cd "$run" && pwd) &&
    printf '#!/bin/sh\n(sleep 1; cp "%s"/*.json "$NBC_REPORT_DIR") &\n' "$reports" >"$T/leaves_one" &&
    printf '#!/bin/sh\ncp "%s"/*.json "$NBC_REPORT_DIR"\nsleep 600 >/dev/null 2>&1 &\necho $! >"%s/stays"\n' "$reports" "$reports" >"$T/leaves_two" && chmod +x "$T/leaves_one" "$T/leaves_two" || return 1
  status 0 "$T/bin/nbc" see --mpi mpich --no-table -o "$T/late" "$T/leaves_one" && ! grep 'still run' "$T/err" || return 1
  status 0 "$T/bin/nbc" see --mpi mpich --no-table -o "$T/stayed" "$T/leaves_two" && grep '^nbc: processes that the program left still run' "$T/err" && kill "$(cat "$reports/stays")"
}
check "reports that come late" late_reports
check "why there is no report" why_no_report
check "several programs have their settings each" several_programs
check "nbc see --through: layers are passed on" layers_are_passed_on
check "preloads of the user stay" preloads_stay
check "srun passes on what the user says, and ours" srun_passes_both_on
check "AddressSanitizer's library comes first" sanitizer_first
check "the program behind env and others" behind_others
check "signals are handed on" signals_are_handed_on
check "each command tells its own usage" own_usage
check "nbc predict takes a folder" predicts
check "options may stand behind the folder" options_behind
check "nbc predict without a folder predicts nothing" predicts_nothing_of_nothing
check "an installation that the loader cannot preload from" blank_in_path
check "no folder for tables" no_cache
check "wrong words are named, with the status that fits" wrong_words
check "completion knows the options that help names" completion_knows
check "what root may do, measuring may do" as_root
check "more processes than cores" few_cores
check "a disturbed table" disturbed_table
check "nbc see -o FILE runs nothing" file_for_folder
check "runs that are started at once have a folder each" at_once
check "nbc see takes the folder and the table that variables name" variables
check "nbc see --table of no file runs nothing" table_that_is_none
check "timelines of two runs are not joined" two_runs
check "arrows between nodes that point backwards are counted" arrows_backwards
finish
