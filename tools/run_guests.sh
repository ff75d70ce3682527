#!/bin/sh
# Real programs under pm_run: hpcc whole, and its HPL with kernels as models, 64 processes.
#   make run-guests        hpcc: HPL, PTRANS, RandomAccess, FFT, latencies; what it says of its own results
#   make run-hpl           HPL alone: simulated GFlop/s, CPU time and memory of the simulation
#   (bench guest_hpl)      hpl-smpi: the same HPL on SimGrid's SMPI; PLATFORM= HOSTS= SMPI_RUN=
#   HPCC=FOLDER            the source of hpcc 1.5.0; without it, Debian's source package is fetched (apt-get source)
#   PM_RUN="--progress timer ..."  more options of pm_run, for run-hpl
#   N=8000 NB=128 P=8 Q=8  of run-hpl;  DGEMM=1.029e-11 seconds per m n k
#   FOLD=BYTES    folds larger pieces of memory but the panels' pivots, and makes models of all kernels and copies: pivots
#                 are random rows, so that N=500000 P=16 Q=32 runs on a laptop
#   DEPTH=1       of lookahead
# Built with MPICH's compiler and a BLAS (Debian: libmpich-dev, libblas-dev), in the source's own folder or below $B/guests.
export LC_ALL=C.UTF-8 # elsewhere awk writes 12,5
set -eu
B=${B:-build}
work=$B/guests
mkdir -p "$work"
stop() { echo "run_guests.sh: $*" >&2; exit 1; }
command -v mpicc.mpich >/dev/null || stop "mpicc.mpich is missing (Debian: libmpich-dev)"
timer=$(command -v time) || stop "the command time is missing (Debian: time)"

source=${HPCC:-}
if [ -z "$source" ]; then
  source=$(find "$work" -maxdepth 1 -name 'hpcc-*' -type d | head -1)
  if [ -z "$source" ]; then
    (cd "$work" && apt-get source --download-only hpcc >fetch.log 2>&1) || :
    archive=$(find "$work" -maxdepth 1 -name 'hpcc_*.orig.tar.gz' | head -1)
    [ -n "$archive" ] || stop "no source of hpcc: give HPCC=FOLDER, or a deb-src line to apt (see $work/fetch.log)"
    tar xf "$archive" -C "$work"
    source=$(find "$work" -maxdepth 1 -name 'hpcc-*' -type d | head -1)
  fi
fi
[ -f "$source/hpl/Makefile" ] || stop "$source: not the source of hpcc"
if [ ! -x "$source/hpcc" ] || [ ! -f "$source/hpl/lib/simulated/libhpl.a" ]; then
  # shellcheck disable=SC2016 # for make
  defines='-DAdd_ -DStringSunStyle -DF77_INTEGER=int -DHPL_COPY_L -I$(INCdir) -I$(INCdir)/$(ARCH)'
  # shellcheck disable=SC2016 # for make
  {
    printf 'SHELL=/bin/sh\nCD=cd\nCP=cp\nLN_S=ln -s\nMKDIR=mkdir\nRM=/bin/rm -f\nTOUCH=touch\nARCH=simulated\nTOPdir=../../..\n'
    printf 'INCdir=$(TOPdir)/include\nBINdir=$(TOPdir)/bin/$(ARCH)\nLIBdir=$(TOPdir)/lib/$(ARCH)\nHPLlib=$(LIBdir)/libhpl.a\n'
    printf 'LAlib=-lblas\nHPL_LIBS=$(HPLlib) $(LAlib) -lm\nHPL_DEFS=%s\nCC=mpicc.mpich\nCCNOOPT=$(HPL_DEFS)\n' "$defines"
    printf 'CCFLAGS=$(HPL_DEFS) -O2 -w -fcommon\nLINKER=mpicc.mpich\nLINKFLAGS=\nARCHIVER=ar\nARFLAGS=r\nRANLIB=echo\n'
  } >"$source/hpl/Make.simulated"
  make -C "$source" arch=simulated >"$work/build.log" 2>&1 || stop "hpcc does not build: see $work/build.log"
fi
root=$(pwd)
here=$(cd "$source" && pwd)
pm_run=$(cd "$B" && pwd)/pm_run

run_hpcc() {
  cd "$work" && rm -f hpccoutf.txt
  sed '6s/.*/400 Ns/; 8s/.*/40 NBs/' "$here/_hpccinf.txt" >hpccinf.txt
  "$timer" -p "$pm_run" -n 4 "$here/hpcc"
  grep -E '^(Success|HPL_Tflops|PTRANS_GBs|MPIRandomAccess_GUPs|MPIFFT_Gflops|MaxPingPongLatency_usec|RandomlyOrderedRingLatency_usec)=' hpccoutf.txt
  echo "checks passed: $(grep -c PASSED hpccoutf.txt), failed: $(grep -c FAILED hpccoutf.txt || :)"
  grep -q '^Success=1' hpccoutf.txt
}
hpl_flags="-O2 -w -DAdd_ -DStringSunStyle -DF77_INTEGER=int -DHPL_COPY_L -I$here/hpl/include -I$here/include"
# HPL of hpcc reads the first lines of hpccinf.txt; its main program is one call. Written in the current folder, with the kernels.
write_hpl() {
  rm -f hpccoutf.txt
  cat >xhpl.c <<'C'
#include <hpl.h>
#define PANEL_ARGS(X)                                                                              \
  X(HPL_T_grid *, grid), X(HPL_T_palg *, algo), X(const int, m), X(const int, n), X(const int, jb), \
      X(HPL_T_pmat *, a), X(const int, ia), X(const int, ja), X(const int, tag), X(HPL_T_panel *, panel)
#define DECLARED(type, name) type name
#define NAMED(type, name)    name
int HPL_main(int, char **, HPL_RuntimeData *, int *);
/* Of pm_run: the pivots of a panel stay its process's own when memory is folded. */
__attribute__((weak)) void pm_fold_own(void *memory, size_t bytes);
void __real_HPL_pdpanel_init(PANEL_ARGS(DECLARED));
void __wrap_HPL_pdpanel_init(PANEL_ARGS(DECLARED)) {
  __real_HPL_pdpanel_init(PANEL_ARGS(NAMED));
  if (pm_fold_own) pm_fold_own(panel->DPIV, (size_t)(jb + 1) * sizeof(double));
}
int main(int argc, char **argv) {
  HPL_RuntimeData data;
  int failure = 0;
  MPI_Init(&argc, &argv);
  HPL_main(argc, argv, &data, &failure);
  return MPI_Finalize();
}
C
  sed "6s/.*/${N:-8000} Ns/; 8s/.*/${NB:-128} NBs/; 11s/.*/${P:-8} Ps/; 12s/.*/${Q:-8} Qs/; s/.*DEPTHs.*/${DEPTH:-1} DEPTHs/" "$here/_hpccinf.txt" >hpccinf.txt
  printf 'dgemm_ m=*3 n=*4 k=*5 mnk=%s one=2e-7\ndtrsm_ m=*5 n=*6 k=*5 mnk=%s one=2e-7\nHPL_pdmatgen\n' "${DGEMM:-1.029e-11}" "${DGEMM:-1.029e-11}" >kernels
  # dcopy_ is run: HPL_pdmxswp passes on by it which row is the pivot. Seconds per element: of memory's speed
  if [ -n "${FOLD:-}" ]; then
    cat >>kernels <<'K'
idamax_ m=*1 mnk=2e-10 one=1e-7 result=any
dger_ m=*1 n=*2 mn=4e-10 one=1e-7
dgemv_ m=*2 n=*3 mn=4e-10 one=1e-7
dtrsv_ m=*4 n=*4 mn=4e-10 one=1e-7
dscal_ m=*1 mnk=4e-10 one=5e-8
daxpy_ m=*1 mnk=6e-10 one=5e-8
dswap_ m=*1 mnk=8e-10 one=5e-8
HPL_dlange
HPL_pdlange
HPL_dlocswpN m=2 mnk=1e-9
HPL_dlocswpT m=2 mnk=1e-9
K
    for f in dlacpy dlatcpy dlaswp00N dlaswp01N dlaswp01T dlaswp02N dlaswp03N dlaswp03T dlaswp05N dlaswp05T dlaswp06N dlaswp06T dlaswp10N; do
      echo "HPL_$f m=1 n=2 mn=8e-10"
    done >>kernels
    for f in dlaswp04N dlaswp04T; do echo "HPL_$f m=2 n=3 mn=8e-10"; done >>kernels
  fi
}
tell_simulated() { awk '/^W[RC]/ { print "simulated: N", $2, "NB", $3, "grid", $4 "x" $5, $6, "s", $7, "GFlop/s" }' hpccoutf.txt; }
run_hpl() {
  cd "$work" && write_hpl
  # shellcheck disable=SC2086 # words
  mpicc.mpich $hpl_flags xhpl.c "$here/hpl/lib/simulated/libhpl.a" -Wl,--wrap=HPL_pdpanel_init -lblas -lm -o xhpl
  # shellcheck disable=SC2086 # two words
  "$timer" -f '%U s + %S s of CPU time, %M KB' "$pm_run" --stack 64 -n "$((${P:-8} * ${Q:-8}))" --kernels kernels ${FOLD:+--fold $FOLD} ${PM_RUN:-} ./xhpl 2>run.err || {
    cat run.err >&2
    exit 1
  }
  grep -v 'was not called' run.err >&2
  tell_simulated
}
# Each line of kernels as a function that the linker puts before HPL's or BLAS's: it takes as long, by SMPI's account. All
# arguments are whole numbers and pointers, as pm_run counts them; what idamax_ finds is a row by chance.
stubs_for_smpi() {
  awk 'function size(text) { return !text ? "1.0" : text ~ /^\*/ ? "(double)*(int *)a" substr(text, 2) : "(double)(int)a" text }
    BEGIN { print "#include <smpi/smpi.h>\n#include <stdlib.h>" }
    { split("", is)
      for (i = 2; i <= NF; i++) { split($i, half, "="); is[half[1]] = half[2] }
      printf "long __wrap_%s(long a1, long a2, long a3, long a4, long a5, long a6) {\n", $1
      printf "  const double m = %s, n = %s, k = %s;\n", size(is["m"]), size(is["n"]), size(is["k"])
      printf "  smpi_execute_benched(%s * m * n * k + %s * m * n + %s);\n", is["mnk"] + 0, is["mn"] + 0, is["one"] + 0
      print "  return " (is["result"] == "any" ? "1 + rand() % (long)m" : "0") ";\n}" }' kernels
}
# The same HPL and kernels on SimGrid's SMPI, nothing folded; PLATFORM: a machine for SimGrid with a host per process, whose names
# HOSTS lists. Time between calls does not pass, as under pm_run.
run_hpl_smpi() {
  command -v smpicc >/dev/null && command -v smpirun >/dev/null || stop "smpicc is missing (Debian: libsimgrid-dev)"
  [ -f "${PLATFORM:-}" ] && [ -f "${HOSTS:-}" ] || stop "hpl-smpi: PLATFORM=FILE HOSTS=FILE?"
  PLATFORM=$(realpath "$PLATFORM") HOSTS=$(realpath "$HOSTS")
  mkdir -p "$work/smpi" && cd "$work/smpi" && write_hpl && stubs_for_smpi >stubs.c
  if [ ! -f objects/HPL_slamch.o ]; then
    rm -rf objects && mkdir objects
    # shellcheck disable=SC2086,SC2046 # words
    (cd objects && smpicc $hpl_flags -fcommon -fPIC -c $(find "$here/hpl/src" "$here/hpl/testing" -name 'HPL_*.c') "$here/src/io.c" "$here/src/noopt.c" "$here/src/HPL_slamch.c") >build.log 2>&1 ||
      { rm -rf objects && stop "HPL does not build with smpicc: see $work/smpi/build.log"; }
  fi
  # shellcheck disable=SC2086,SC2046 # words
  smpicc $hpl_flags -fPIC xhpl.c stubs.c objects/*.o -Wl,--wrap=HPL_pdpanel_init $(sed 's/ .*//; s/^/-Wl,--wrap=/' kernels) -lblas -lm -o xhpl
  # shellcheck disable=SC2086 # words
  "$timer" -f '%U s + %S s of CPU time, %M KB' smpirun -np "$((${P:-8} * ${Q:-8}))" -platform "$PLATFORM" -hostfile "$HOSTS" --cfg=smpi/host-speed:1Gf --cfg=smpi/simulate-computation:no \
    --log=root.thres:critical ${SMPI_RUN:-} ./xhpl >run.out 2>run.err || {
    cat run.err >&2
    exit 1
  }
  cat run.err >&2
  tell_simulated
}
case ${1:-} in
hpcc) run_hpcc ;;
hpl) run_hpl ;;
hpl-smpi) run_hpl_smpi ;;
*) stop "hpcc, hpl or hpl-smpi?" ;;
esac
cd "$root"
