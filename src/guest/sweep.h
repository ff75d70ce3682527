/* sweep.h: what a sweep and its table in a file know of each other. */
#pragma once
#include "guest.h"

/* The names of the keys, or the values of a row, each with a tab behind it. */
void guest__sweep_keys(FILE *out);
void guest__sweep_values(FILE *out, int row);

/* Opens or goes on with the table of so many rows. ret which of them it has: by row, allocated */
bool *guest__table_begin(const char *path, int row_count);
void guest__table_add(int row,
                      const char *line); /* one line with its end, without the row's number */
void guest__table_end(void);
