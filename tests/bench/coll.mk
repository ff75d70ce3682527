$(eval $(call bench,coll))
BENCHES += tests/bench/coll_mpi.sh
tests/bench/coll_mpi.sh: $(B)/bench_nbc ;
BENCHES += tests/bench/coll_nodes.sh
tests/bench/coll_nodes.sh: ;
PRINTS_coll_nodes := coll_nodes_
PRINTS_coll := schedule_build_allreduce_64 schedule_build_alltoall_64 schedule_build_bcast_chain submit start_and_wait_null reduce_sum_float reduce_sum_double
PRINTS_coll_mpi := coll_ $(foreach c,bcast allreduce allgather alltoall barrier,coll_$c overlap_$c impact_$c)
