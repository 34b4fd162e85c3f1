/* Runs by cell. */
#include "bench/local/cells.h"

#include <math.h>
#include <string.h>

void cells_find(const struct results *all, const char *experiment, const char *method,
                double setting, struct cell *out)
{
    *out = (struct cell){.count = 0};
    for (size_t i = 0; i < all->count && out->count < CELLS_SEEDS; i++) {
        const struct result *r = &all->all[i];
        if (strcmp(r->experiment, experiment) != 0 || strcmp(r->method, method) != 0 ||
            r->setting != setting)
            continue;
        out->time[out->count] = r->time > 0.0 ? r->time : INFINITY;
        out->score[out->count++] = r->score;
        out->succeeded += r->time > 0.0;
        out->epsilon = r->epsilon;
        out->length = (double)r->length;
        out->cpu_seconds += r->cpu_seconds;
    }
}

unsigned cells_settings(const struct results *all, const char *experiment, const char *method,
                        double out[CELLS_SETTINGS])
{
    unsigned count = 0;
    double last = -1.0;
    while (count < CELLS_SETTINGS) {
        double next = INFINITY;
        for (size_t i = 0; i < all->count; i++) {
            const struct result *r = &all->all[i];
            if (strcmp(r->experiment, experiment) == 0 && strcmp(r->method, method) == 0 &&
                r->setting > last && r->setting < next)
                next = r->setting;
        }
        if (isinf(next))
            break;
        out[count++] = last = next;
    }
    return count;
}
