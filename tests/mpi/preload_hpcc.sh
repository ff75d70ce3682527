#!/bin/sh
# A real program that nobody here wrote: Debian's hpcc (HPL, PTRANS and five more), with and without
# the preload: all its own checks pass, and what does not depend on time is the same.
. tests/mpi/preload_common.sh

input=/usr/share/doc/hpcc/examples/_hpccinf.txt
[ -e $input ] || input=$input.gz
if ! have_mpi openmpi || ! command -v hpcc >/dev/null || [ ! -e $input ]; then
  skip "hpcc: no hpcc or no Open MPI"
  finish
fi
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 # one core per process, and sums in one order
reports=$work/with
also=$B/tests/mpi/patient.so # on a machine in use each yield costs a turn
mkdir "$work/without" "$work/with"
# one row of two processes; a small matrix, as this shows nothing about speed
zcat -f $input | sed -e '6s/^[0-9]*/200/' -e '11s/^2/1/' >"$work/with/hpccinf.txt"
cp "$work/with/hpccinf.txt" "$work/without"
(cd "$work/without" && LD_PRELOAD=$also run openmpi 2 hpcc)
(cd "$work/with" && measured openmpi 2 hpcc)
# residuals, sizes and verdicts
for d in with without; do
  grep -E '^(Success|HPL_N|HPL_NB|HPL_(RnormI|Anorm1|Xnorm1|BnormI)|PTRANS_(residual|n|nb)|MPIRandomAccess_Errors|MPIRandomAccess_N|MPIFFT_N|CommWorldProcs)=' \
    "$work/$d/hpccoutf.txt" >"$work/$d/values"
done
if grep -qx Success=1 "$work/with/values"; then ok "hpcc: its own checks pass"; else bad "hpcc: its own checks fail"; fi
if diff "$work/without/values" "$work/with/values"; then ok "hpcc: $(wc -l <"$work/with/values") values are the same"
else bad "hpcc: values differ"; fi
show "$reports"/*.json >"$work/counted"
if [ "$(head -1 "$work/counted")" = "processes 2" ] && grep -q '^isend calls [1-9][0-9]* transfers [1-9]' "$work/counted"
then ok "hpcc: report of 2 processes"; else bad "hpcc: report"; cat "$work/counted"; fi
finish
