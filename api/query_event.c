/* Events of answers, written without a tree of JSON. */
#include "api/query_event.h"

#include <stdio.h>

#include "api/json_text.h"
#include "storage/amounts.h"

#define NUMBER 32

void query_event_write(const struct shelved_teacher *teacher, uint32_t count, double concentration,
                       const struct filter_price *price, char out[QUERY_EVENT_SIZE])
{
    const struct teacher_row *row = &teacher->row;
    char what[2][NUMBER], cost[2][NUMBER];
    bool gaussian = row->sigma > 0, renyi = row->renyi_order > 0;
    double multiplier = 0;
    if (gaussian) { /* of the plain Gaussian mechanism with the same law of losses */
        multiplier = 1 / gaussian_simplex_mu(&teacher->teacher.gaussian);
    }
    json_text_number(gaussian ? multiplier : concentration, what[0]);
    json_text_number(gaussian ? row->sigma : row->min_probability, what[1]);
    json_text_number(renyi ? row->renyi_order : ledger_units_value(price->units), cost[0]);
    json_text_number(
        renyi ? ledger_units_value(price->units) : ledger_delta_value(price->delta_units), cost[1]);
    snprintf(out, QUERY_EVENT_SIZE,
             "{\"type\":\"%s\",\"count\":%u,\"%s\":%s,\"%s\":%s,\"%s\":%s,\"%s\":%s}",
             gaussian ? "GaussianDpEvent" : "DirichletDpEvent", count,
             gaussian ? "noise_multiplier" : "concentration", what[0],
             gaussian ? "sigma" : "min_probability", what[1], renyi ? "order" : "epsilon", cost[0],
             renyi ? "divergence" : "delta", cost[1]);
}
