/* --collectives: which algorithm a collective takes, as a table of rules (format: NBC's choice tables, one rule per
   line: COLLECTIVE MAX_RANKS MAX_BYTES ALGORITHM SEGMENT_BYTES RADIX, 0 = any, the first that fits). Two
   are built in, written after the thresholds of MPI libraries:

     mpich    MPICH 4.0's variables MPIR_CVAR_..._MSG_SIZE
     openmpi  the fixed decisions of Open MPI's tuned collectives before 4.1

   Where a library has an algorithm that is not here, the nearest one stands for it: binary for the split binary
   tree, chain for its pipelines, Rabenseifner's for a reduction and a broadcast one after the other. Thresholds on
   the bytes of all blocks together, or on lines over the number of ranks, hold exactly at the ends of the
   classes of ranks below. Rules do not fit powers of two alone: what serves these only is passed over for others. */
#include "gm.h"
#include "guest.h"

static const char mpich[] = "barrier 0 0 dissemination 0 0\n"
                            "bcast 7 0 binomial 0 0\n"
                            "bcast 0 12287 binomial 0 0\n"
                            "bcast 0 0 scatter_allgather 0 0\n"
                            "reduce 0 2048 binomial 0 0\n"
                            "reduce 0 0 rabenseifner 0 0\n"
                            "reduce 0 0 binomial 0 0\n"
                            "allreduce 0 2048 recursive_doubling 0 0\n"
                            "allreduce 0 0 rabenseifner 0 0\n"
                            "gather 0 0 binomial 0 0\n"
                            "scatter 0 0 binomial 0 0\n"
                            /* 80 KiB of all together: doubling or Bruck below, a ring above */
                            "allgather 2 262143 recursive_doubling 0 0\n"
                            "allgather 4 131071 recursive_doubling 0 0\n"
                            "allgather 8 65535 recursive_doubling 0 0\n"
                            "allgather 16 32767 recursive_doubling 0 0\n"
                            "allgather 32 16383 recursive_doubling 0 0\n"
                            "allgather 64 8191 recursive_doubling 0 0\n"
                            "allgather 256 2047 recursive_doubling 0 0\n"
                            "allgather 2 40959 bruck 0 0\n"
                            "allgather 4 20479 bruck 0 0\n"
                            "allgather 8 10239 bruck 0 0\n"
                            "allgather 16 5119 bruck 0 0\n"
                            "allgather 32 2559 bruck 0 0\n"
                            "allgather 64 1279 bruck 0 0\n"
                            "allgather 256 319 bruck 0 0\n"
                            "allgather 0 0 ring 0 0\n"
                            "allgatherv 8 10239 bruck 0 0\n"
                            "allgatherv 64 1279 bruck 0 0\n"
                            "allgatherv 0 0 ring 0 0\n"
                            "alltoall 7 32768 linear 0 0\n"
                            "alltoall 0 256 bruck 0 0\n"
                            "alltoall 0 32768 linear 0 0\n"
                            "alltoall 0 0 pairwise 0 0\n"
                            "alltoallv 0 0 linear 0 0\n"
                            "reduce_scatter_block 8 65535 recursive_halving 0 0\n"
                            "reduce_scatter_block 64 8191 recursive_halving 0 0\n"
                            "reduce_scatter_block 0 0 pairwise 0 0\n"
                            "reduce_scatter 8 65535 recursive_halving 0 0\n"
                            "reduce_scatter 64 8191 recursive_halving 0 0\n"
                            "reduce_scatter 0 0 pairwise 0 0\n"
                            "scan 0 0 recursive_doubling 0 0\n"
                            "exscan 0 0 recursive_doubling 0 0\n";
static const char openmpi[] =
    "barrier 0 0 dissemination 0 0\n"
    "bcast 0 2047 binomial 0 0\n"
    "bcast 0 370727 binary 1024 0\n"
    /* P < 1.6134e-6 bytes + 2.1102: long pipelines; then shorter ones */
    "bcast 2 0 chain 131072 0\n"
    "bcast 4 1171300 binary 8192 0\n"
    "bcast 4 0 chain 131072 0\n"
    "bcast 8 3650500 binary 8192 0\n"
    "bcast 8 0 chain 131072 0\n"
    "bcast 12 6129700 binary 8192 0\n"
    "bcast 16 6259200 chain 16384 0\n"
    "bcast 16 8608900 chain 65536 0\n"
    "bcast 16 0 chain 131072 0\n"
    "bcast 64 17188000 chain 8192 0\n"
    "bcast 0 0 chain 8192 0\n"
    "reduce 7 511 linear 0 0\n"
    "reduce 7 20479 binomial 0 0\n"
    "reduce 0 2047 binary 0 0\n"
    /* P > bytes 0.6016 / 1024 + 1.3496: binary trees; then chains of longer pieces */
    "reduce 8 11300 binary 1024 0\n"
    "reduce 8 0 chain 32768 0\n"
    "reduce 16 24900 binary 1024 0\n"
    "reduce 16 157000 chain 1024 0\n"
    "reduce 64 106600 binary 1024 0\n"
    "reduce 64 1355800 chain 1024 0\n"
    "reduce 0 0 chain 32768 0\n"
    "allreduce 0 9999 recursive_doubling 0 0\n"
    "allreduce 0 0 ring 0 0\n"
    "allreduce 0 0 rabenseifner 0 0\n"
    "gather 0 0 binomial 0 0\n"
    "scatter 0 0 binomial 0 0\n"
    "allgather 8 6249 recursive_doubling 0 0\n"
    "allgather 8 6249 bruck 0 0\n"
    "allgather 64 781 recursive_doubling 0 0\n"
    "allgather 64 781 bruck 0 0\n"
    "allgather 0 0 ring 0 0\n"
    "allgatherv 8 6249 bruck 0 0\n"
    "allgatherv 64 781 bruck 0 0\n"
    "allgatherv 0 0 ring 0 0\n"
    "alltoall 2 0 pairwise 0 0\n"
    "alltoall 12 2999 linear 0 0\n"
    "alltoall 0 199 bruck 0 0\n"
    "alltoall 0 2999 linear 0 0\n"
    "alltoall 0 0 pairwise 0 0\n"
    "alltoallv 0 0 pairwise 0 0\n"
    "reduce_scatter 8 1536 recursive_halving 0 0\n"
    "reduce_scatter 64 192 recursive_halving 0 0\n"
    "reduce_scatter 0 0 ring 0 0\n"
    "reduce_scatter_block 8 1536 recursive_halving 0 0\n"
    "reduce_scatter_block 64 192 recursive_halving 0 0\n"
    "reduce_scatter_block 0 0 ring 0 0\n"
    "scan 0 0 linear 0 0\n"
    "exscan 0 0 linear 0 0\n";

static nbc_choice table;
static void set_collectives(const char *option, const char *value) {
  static const struct {
    const char *name, *rules;
  } known[] = {{"mpich", mpich}, {"openmpi", openmpi}};
  nbc_error err;
  nbc_status status = NBC_E_NOT_FOUND;
  gm_set.choice = NULL;
  if (strcmp(value, "ours") == 0) return;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(value, known[i].name) == 0)
      status = nbc_choice_parse(known[i].rules, strlen(known[i].rules), value, &table, &err);
  if (status == NBC_E_NOT_FOUND) status = nbc_choice_read(value, &table, &err);
  if (status) guest_refuse("%s: %s", option, err.text);
  gm_set.choice = &table;
}
static const guest_option options[] = {
    {"--collectives", "TABLE",
     "MPI: whose choice of algorithms: ours, mpich, openmpi, or a file of rules (nbc_tune writes "
     "such)",
     set_collectives},
    {NULL, NULL, NULL, NULL}};
static guest_part part = {.name = "selectors", .options = options};
__attribute__((constructor)) static void add(void) { guest_part_add(&part); }
