/* Events of answers, written without a tree of JSON. */
#include "api/teachers/query_event.h"

#include <math.h>
#include <stdio.h>

#include "api/json/json_text.h"

#define NUMBER    32
#define LEAF_SIZE 240

/* One answer with Gaussian noise has the losses of the Gaussian mechanism with this multiplier,
 * rounded down. */
static void write_gaussian(const struct shelved_teacher *teacher, char out[LEAF_SIZE])
{
    char multiplier[NUMBER];
    json_text_number(nextafter(1 / gaussian_simplex_mu(&teacher->teacher.gaussian), 0), multiplier);
    snprintf(out, LEAF_SIZE, "{\"type\":\"GaussianDpEvent\",\"noise_multiplier\":%s}", multiplier);
}

static void write_dirichlet(const struct shelved_teacher *teacher, double concentration,
                            char out[LEAF_SIZE])
{
    const struct dirichlet *d = &teacher->teacher.dirichlet;
    char number[3][NUMBER];
    json_text_number(concentration, number[0]);
    json_text_number(d->min_probability, number[1]);
    json_text_number(d->sensitivity, number[2]);
    snprintf(out, LEAF_SIZE,
             "{\"type\":\"DirichletDpEvent\",\"actions\":%u,\"concentration\":%s,"
             "\"min_probability\":%s,\"sensitivity\":%s}",
             d->actions, number[0], number[1], number[2]);
}

void query_event_write(const struct shelved_teacher *teacher, uint32_t count, double concentration,
                       char out[QUERY_EVENT_SIZE])
{
    char leaf[LEAF_SIZE];
    if (teacher->row.sigma > 0)
        write_gaussian(teacher, leaf);
    else
        write_dirichlet(teacher, concentration, leaf);
    if (count == 1) {
        snprintf(out, QUERY_EVENT_SIZE, "%s", leaf);
    } else {
        snprintf(out, QUERY_EVENT_SIZE,
                 "{\"type\":\"SelfComposedDpEvent\",\"count\":%u,\"event\":%s}", count, leaf);
    }
}
