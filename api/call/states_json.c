/* Observations in a request. */
#include "api/call/states_json.h"

#include <math.h>
#include <stdio.h>

#include "api/call/call.h"

bool state_read(struct call *call, const json_t *array, const char *pointer, uint32_t dim,
                float *out)
{
    if (!json_is_array(array) || json_array_size(array) != dim) {
        call_invalid(call, pointer, "must be an array of %u numbers", dim);
        return false;
    }
    bool good = true;
    for (uint32_t i = 0; i < dim; i++) {
        const json_t *number = json_array_get(array, i);
        out[i] = (float)json_number_value(number);
        if (!json_is_number(number) || !isfinite(out[i])) {
            char at[96];
            snprintf(at, sizeof at, "%s/%u", pointer, i);
            call_invalid(call, at, "must be a number within the range of a 32-bit float");
            good = false;
        }
    }
    return good;
}

uint32_t states_read(struct call *call, const json_t *array, const char *pointer, uint32_t dim,
                     uint32_t most, float **out)
{
    size_t count = json_array_size(array);
    if (!json_is_array(array) || count < 1 || count > most) {
        call_invalid(call, pointer, "must be an array of 1 to %u states", most);
        return 0;
    }
    float *states = arena_array(&call->arena, count * dim, sizeof *states);
    bool good = true;
    for (size_t i = 0; i < count; i++) {
        char at[64];
        snprintf(at, sizeof at, "%s/%zu", pointer, i);
        good = state_read(call, json_array_get(array, i), at, dim, states + i * dim) && good;
    }
    *out = states;
    return good ? (uint32_t)count : 0;
}
