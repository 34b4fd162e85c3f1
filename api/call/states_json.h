/* Observations in a request: arrays of numbers that become float32. */
#ifndef TACET_API_CALL_STATES_JSON_H
#define TACET_API_CALL_STATES_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct call;

/* Reads ARRAY, which stands at POINTER, as DIM numbers that are finite as float32 into OUT. False:
 * the faults are in the call. */
bool state_read(struct call *call, const json_t *array, const char *pointer, uint32_t dim,
                float *out);

/* Reads an array of 1 to MOST such arrays. *out is in the call's arena. Their number, or 0 with the
 * faults in the call (or memory short). */
uint32_t states_read(struct call *call, const json_t *array, const char *pointer, uint32_t dim,
                     uint32_t most, float **out);

#endif
