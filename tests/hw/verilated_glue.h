/* The simulated NIC as five functions (verilated_glue.c). */
#ifndef VERILATED_GLUE_H_INCLUDED
#define VERILATED_GLUE_H_INCLUDED
#include <stdint.h>
void *glue_create(void); /* NULL: failed */
void glue_destroy(void *sim);
uint32_t glue_read(void *sim, uint32_t offset, int *error);
int64_t glue_now_ps(const void *sim);
void glue_advance(void *sim, int64_t d_ps);
#endif
