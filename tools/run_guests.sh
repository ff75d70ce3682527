#!/bin/sh
# Real programs under pm_run: hpcc whole, and its HPL with kernels as models, 64 processes.
#   make run-guests        hpcc: HPL, PTRANS, RandomAccess, FFT, latencies; what it says of its own results
#   make run-hpl           HPL alone: simulated GFlop/s, CPU time and memory of the simulation
#   HPCC=FOLDER            the source of hpcc 1.5.0; without it, Debian's source package is fetched (apt-get source)
#   PM_RUN="--progress timer ..."  more options of pm_run, for run-hpl
#   N=8000 NB=128 P=8 Q=8  of run-hpl;  DGEMM=1.029e-11 seconds per m n k;  FOLD=BYTES folds larger pieces of memory
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
if [ ! -x "$source/hpcc" ]; then
  # shellcheck disable=SC2016 # for make
  defines='-DAdd_ -DStringSunStyle -DF77_INTEGER=int -I$(INCdir) -I$(INCdir)/$(ARCH)'
  # shellcheck disable=SC2016 # for make
  {
    printf 'SHELL=/bin/sh\nCD=cd\nCP=cp\nLN_S=ln -s\nMKDIR=mkdir\nRM=/bin/rm -f\nTOUCH=touch\nARCH=guest\nTOPdir=../../..\n'
    printf 'INCdir=$(TOPdir)/include\nBINdir=$(TOPdir)/bin/$(ARCH)\nLIBdir=$(TOPdir)/lib/$(ARCH)\nHPLlib=$(LIBdir)/libhpl.a\n'
    printf 'LAlib=-lblas\nHPL_LIBS=$(HPLlib) $(LAlib) -lm\nHPL_DEFS=%s\nCC=mpicc.mpich\nCCNOOPT=$(HPL_DEFS)\n' "$defines"
    printf 'CCFLAGS=$(HPL_DEFS) -O2 -w -fcommon\nLINKER=mpicc.mpich\nLINKFLAGS=\nARCHIVER=ar\nARFLAGS=r\nRANLIB=echo\n'
  } >"$source/hpl/Make.guest"
  make -C "$source" arch=guest >"$work/build.log" 2>&1 || stop "hpcc does not build: see $work/build.log"
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
  printf '%s\n' '#include <hpl.h>' 'int HPL_main(int, char **, HPL_RuntimeData *, int *);' \
    'int main(int argc, char **argv) {' '  HPL_RuntimeData data;' '  int failure = 0;' '  MPI_Init(&argc, &argv);' \
    '  HPL_main(argc, argv, &data, &failure);' '  return MPI_Finalize();' '}' >xhpl.c
  mpicc.mpich -O2 -w -DAdd_ -DStringSunStyle -DF77_INTEGER=int -I"$here/hpl/include" -I"$here/include" xhpl.c "$here/hpl/lib/guest/libhpl.a" -lblas -lm -o xhpl
  sed "6s/.*/${N:-8000} Ns/; 8s/.*/${NB:-128} NBs/; 11s/.*/${P:-8} Ps/; 12s/.*/${Q:-8} Qs/" "$here/_hpccinf.txt" >hpccinf.txt
  printf 'dgemm_ m=*3 n=*4 k=*5 mnk=%s one=2e-7\ndtrsm_ m=*5 n=*6 k=*5 mnk=%s one=2e-7\nHPL_pdmatgen\n' "${DGEMM:-1.029e-11}" "${DGEMM:-1.029e-11}" >kernels
  # shellcheck disable=SC2086 # two words
  /usr/bin/time -f '%U s + %S s of CPU time, %M KB' "$pm_run" -n "$((${P:-8} * ${Q:-8}))" --kernels kernels ${FOLD:+--fold $FOLD} ${PM_RUN:-} ./xhpl
  awk '/^W[RC]/ { print "simulated: N", $2, "NB", $3, "grid", $4 "x" $5, $6, "s", $7, "GFlop/s" }' hpccoutf.txt
}
case ${1:-} in
hpcc) run_hpcc ;;
hpl) run_hpl ;;
*) stop "hpcc or hpl?" ;;
esac
cd "$root"
