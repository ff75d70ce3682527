/* The a-priori table, measured over a transport. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "../overlap/table.h"
#include "contract.h"

/* Measures the transfer time of a message by size [O §2.4: the a-priori table]: one-way time =
   half the shortest round trip, for which bounds of slower transfers hold too, between this rank and peer,
   which must call it with each other's rank.
   in   desc   zeroed = 1 B ... 4 MiB, powers of two, until the median is known to 1 % or 50 ms per size
   out  table  on both ranks (the lower rank measures and sends it)
   ret  NBC_OK | transport errors | NBC_E_INVAL */
typedef struct nbc_table_measure_desc {
  uint64_t min_bytes, max_bytes; /* 0 = 1, 4 MiB */
  int64_t time_per_size_ns;      /* 0 = 50 ms */
  int64_t limit_ns;              /* a peer that never answers: 0 = 30 s */
} nbc_table_measure_desc;
NBC_API nbc_status nbc_table_measure(const nbc_transport *t, int peer,
                                     const nbc_table_measure_desc *desc, nbc_table **table,
                                     nbc_error *err);
