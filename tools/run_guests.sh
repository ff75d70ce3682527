#!/bin/sh
# Real programs under pm_run: hpcc whole, and its HPL with kernels as models, 64 processes.
#   make run-guests        hpcc: HPL, PTRANS, RandomAccess, FFT, latencies; what it says of its own results
#   make run-hpl           HPL alone: simulated GFlop/s, CPU time and memory of the simulation
#   HPCC=FOLDER            the source of hpcc 1.5.0; without it, Debian's source package is fetched (apt-get source)
#   PM_RUN="--progress timer ..."  more options of pm_run, for run-hpl
#   N=8000 NB=128 P=8 Q=8  of run-hpl;  DGEMM=1.029e-11 seconds per m n k
#   FOLD=BYTES    folds larger pieces of memory but the panels' pivots, and makes models of all kernels and copies: pivots
#                 are random rows, so that N=500000 P=16 Q=32 runs on a laptop
#   DEPTH=1       of lookahead
# Built with MPICH's compiler, in the source's own folder or below $B/guests.
set -eu
B=${B:-build}
work=$B/guests
mkdir -p "$work"
stop() { echo "run_guests.sh: $*" >&2; exit 1; }
command -v mpicc.mpich >/dev/null || stop "mpicc.mpich is missing (Debian: libmpich-dev)"

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
  time "$pm_run" -n 4 "$here/hpcc"
  grep -E '^(Success|HPL_Tflops|PTRANS_GBs|MPIRandomAccess_GUPs|MPIFFT_Gflops|MaxPingPongLatency_usec|RandomlyOrderedRingLatency_usec)=' hpccoutf.txt
  echo "checks passed: $(grep -c PASSED hpccoutf.txt), failed: $(grep -c FAILED hpccoutf.txt || :)"
  grep -q '^Success=1' hpccoutf.txt
}
# HPL of hpcc reads the first lines of hpccinf.txt; its main program is one call.
run_hpl() {
  cd "$work" && rm -f hpccoutf.txt
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
  mpicc.mpich -O2 -w -DAdd_ -DStringSunStyle -DF77_INTEGER=int -DHPL_COPY_L -I"$here/hpl/include" -I"$here/include" xhpl.c "$here/hpl/lib/simulated/libhpl.a" \
    -Wl,--wrap=HPL_pdpanel_init -lblas -lm -o xhpl
  sed "6s/.*/${N:-8000} Ns/; 8s/.*/${NB:-128} NBs/; 11s/.*/${P:-8} Ps/; 12s/.*/${Q:-8} Qs/; s/.*DEPTHs.*/${DEPTH:-1} DEPTHs/" "$here/_hpccinf.txt" >hpccinf.txt
  printf 'dgemm_ m=*3 n=*4 k=*5 mnk=%s one=2e-7\ndtrsm_ m=*5 n=*6 k=*5 mnk=%s one=2e-7\nHPL_pdmatgen\n' "${DGEMM:-1.029e-11}" "${DGEMM:-1.029e-11}" >kernels
  if [ -n "${FOLD:-}" ]; then # seconds per element: of memory's speed
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
  # shellcheck disable=SC2086 # two words
  /usr/bin/time -f '%U s + %S s of CPU time, %M KB' "$pm_run" --stack 64 -n "$((${P:-8} * ${Q:-8}))" --kernels kernels ${FOLD:+--fold $FOLD} ${PM_RUN:-} ./xhpl 2>run.err || {
    cat run.err >&2
    exit 1
  }
  grep -v 'was not called' run.err >&2
  awk '/^W[RC]/ { print "simulated: N", $2, "NB", $3, "grid", $4 "x" $5, $6, "s", $7, "GFlop/s" }' hpccoutf.txt
}
case ${1:-} in
hpcc) run_hpcc ;;
hpl) run_hpl ;;
*) stop "hpcc or hpl?" ;;
esac
cd "$root"
