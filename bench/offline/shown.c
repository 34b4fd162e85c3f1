#include "bench/offline/shown.h"

#include <string.h>

const char *const shown_methods[SHOWN_METHODS] = {"none", "dpsgd", "selective", "selective_paper",
                                                  "consensus"};
const char *const shown_labels[SHOWN_METHODS] = {"not private", "DP-SGD", "selective DP-SGD",
                                                 "selective, published thresholds",
                                                 "consensus labels"};
const double shown_epsilons[SHOWN_EPSILONS] = {2.5, 5, 7.5, 10};

const struct shown_published shown_published[SHOWN_PUBLISHED] = {
    {"cartpole", "cql", 10, 1.03, .92},    {"cartpole", "bcq", 10, .99, .67},
    {"cartpole", "bcq", 5, 0, .60},        {"cartpole", "bcq", 2.5, 0, .58},
    {"acrobot", "bcq", 2.5, 0, .95},       {"lunar_lander", "cql", 10, .75, .67},
    {"lunar_lander", "bcq", 10, .57, .54},
};

const struct shown_published *shown_find(const char *world, const char *algorithm, double epsilon)
{
    for (size_t i = 0; i < SHOWN_PUBLISHED; i++)
        if (strcmp(shown_published[i].world, world) == 0 &&
            strcmp(shown_published[i].algorithm, algorithm) == 0 &&
            shown_published[i].epsilon == epsilon)
            return &shown_published[i];
    return NULL;
}
