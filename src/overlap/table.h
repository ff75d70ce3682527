/* Transfer-time tables: how long a message of n bytes takes. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"

/* ============================================================================================== */
/* [TABLE] 5. Transfer-time tables: how long a message of n bytes takes                           */
/* ============================================================================================== */
/* File format: one "bytes seconds" per line, sizes ascending, '#' starts a comment; LF or CR LF
   ends every line, also the last (without it the file is taken for cut off). Between two sizes the
   time is interpolated linearly; below the first size it is the first time; above the last it grows
   with the slope of the last two points, if that is positive (with one point: in proportion).
   Five comments mean something, when they begin a line:
     # eager_bytes 4096          sends up to this size return before a receive is posted: that a send
                                 ended does not tell that its data has arrived
     # tail_bytes 0              of a larger send that has ended, so many bytes may still be on their way
                                 (in sockets, in queues); 0: its end tells that all has arrived
     # link_bytes_per_s 1.2e10   the most that one process was seen to move at once, with any number of
                                 messages under way in one direction: what joint bounds rest on
     # link_peers 3              with so many others at once; not said: with one
     # disturbed TEXT            the measurement was disturbed, and how; every report repeats it */
#define NBC_TABLE_MAX_POINTS 1024

typedef struct nbc_table nbc_table; /* immutable after creation: any number of threads may read */

/* From arrays (copied). ret NBC_OK | NBC_E_INVAL (count 0 or too many, sizes not ascending, time
   not finite, negative or above one hour: err names the point) | NBC_E_NOMEM */
NBC_API nbc_status nbc_table_create(const uint64_t *size_bytes, const double *time_s, size_t count,
                                    const char *name, nbc_table **table, nbc_error *err);
/* From text in memory; name stands for the file. ret as above | NBC_E_PARSE (err->line) */
NBC_API nbc_status nbc_table_parse(const char *text, size_t text_bytes, const char *name,
                                   nbc_table **table, nbc_error *err);
/* From a file (at most 1 MiB). ret as above | NBC_E_IO */
NBC_API nbc_status nbc_table_read(const char *path, nbc_table **table, nbc_error *err);
/* Writes the file format above, comment (may be NULL) first. ret NBC_OK | NBC_E_IO */
NBC_API nbc_status nbc_table_write(const nbc_table *table, const char *path, const char *comment,
                                   nbc_error *err);
/* A model instead of a measurement: latency_ns + bytes / bytes_per_s, named as such in reports
   (name NULL: "model: ..."). ret NBC_OK | NBC_E_INVAL (latency not in 0..1 hour, less than 300
   bytes/s) | NBC_E_NOMEM */
NBC_API nbc_status nbc_table_create_linear(double latency_ns, double bytes_per_s, const char *name,
                                           nbc_table **table);
/* Transfer time of n bytes. Any thread; O(1): lookup by the highest bit, then a bounded search. */
NBC_API int64_t nbc_table_time_ns(const nbc_table *table, uint64_t size_bytes);
/* The most of that time that part_bytes of the size_bytes may take: their own transfer time, or their share by
   bytes, which is more where long messages are slower per byte. Any thread. */
NBC_API int64_t nbc_table_part_ns(const nbc_table *table, uint64_t size_bytes, uint64_t part_bytes);
NBC_API const char *nbc_table_name(const nbc_table *table);
/* What the comments of the file say. Any thread.
   eager: the largest size that is sent eagerly; -1: not known. tail: -1: not known. link: 0: not known. disturbed: NULL: no */
NBC_API int64_t nbc_table_eager_bytes(const nbc_table *table);
NBC_API int64_t nbc_table_tail_bytes(const nbc_table *table);
NBC_API double nbc_table_link_bytes_per_s(const nbc_table *table);
NBC_API uint32_t nbc_table_link_peers(const nbc_table *table); /* 1 or more; NULL: 1 */
NBC_API const char *nbc_table_disturbed(const nbc_table *table);
NBC_API size_t nbc_table_points(const nbc_table *table, const uint64_t **size_bytes,
                                const double **time_s);
NBC_API void nbc_table_free(nbc_table *table); /* NULL allowed */

/* ---- for later pieces ---- */
NBC__PRIVATE int64_t nbc__table_part_of(int64_t size_ns, uint64_t size_bytes, int64_t part_ns,
                                        uint64_t part_bytes);
