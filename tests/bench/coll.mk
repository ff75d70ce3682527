$(eval $(call bench,coll))
BENCHES += tests/bench/coll_mpi.sh
bench: $(B)/bench_nbc
