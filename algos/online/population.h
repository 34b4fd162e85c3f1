/* The description of a population of experts; population.c has one for each known world. Within
 * algos/online. */
#ifndef TACET_ALGOS_ONLINE_POPULATION_H
#define TACET_ALGOS_ONLINE_POPULATION_H

#include "algos/online/experts.h"
#include "algos/online/ppo.h"

struct expert_population {
    const char *world;
    uint32_t variation_count;
    struct expert_variation variations[EXPERTS_MAX_VARIATIONS];
    struct {
        double low, high; /* undiscounted return in settings.step_limit steps */
    } aspiration[EXPERTS_PER_SETTING];
    bool logarithmic;       /* returns span orders of size: distances are taken between their
                             * logarithms */
    uint32_t updates;       /* the most updates, each of one roll-out */
    uint32_t measure_every; /* updates between two snapshots of a run's policy (with
                             * EXPERTS_MOMENTS: 1) */
    uint32_t episodes;      /* episodes that measure a snapshot */
    double learning_rate;
    struct ppo_settings settings; /* its step limit holds while training and measuring, too */
};

#endif
