/* The table. */
#include "bench/kickstart/variants.h"

#include <stddef.h>
#include <string.h>

#define LAMBDA 0.5
#define K0     100
#define K5     5 /* the paper's */

/* clang-format off */
#define EXACT         {.answers = VARIANT_ANSWERS}
#define VANISHING(V)  {.mechanism = &teacher_dirichlet, .concentration = K0, .vanishing = (V)}
#define PUBLISHED(V, R) {.mechanism = &teacher_dirichlet, .concentration = K5, .vanishing = (V), .epsilon = 1, .published = true, .random = (R)}
#define DIRICHLET(E)  {.mechanism = &teacher_dirichlet, .vanishing = 1, .epsilon = (E), .answers = VARIANT_ANSWERS}
#define GAUSSIAN(E)   {.mechanism = &teacher_gaussian_simplex, .vanishing = 1, .epsilon = (E), .answers = VARIANT_ANSWERS}

const struct variant variants[] = {
    {"teacher", "un-helped, as large as the teacher", VARIANT_REFERENCE, true, false, 1, 0, {0}},
    {"alone", "un-helped", VARIANT_REFERENCE, false, false, 1, 0, {0}},
    {"exact", "kickstart without noise", VARIANT_REFERENCE, false, true, 1, 0, EXACT},

    {"vanish_0.1", "aware, vanishing 0.1", VARIANT_VANISHING, false, true, 1, LAMBDA, VANISHING(0.1)},
    {"vanish_0.2", "aware, vanishing 0.2", VARIANT_VANISHING, false, true, 1, LAMBDA, VANISHING(0.2)},
    {"vanish_0.3", "aware, vanishing 0.3", VARIANT_VANISHING, false, true, 1, LAMBDA, VANISHING(0.3)},
    {"vanish_0.4", "aware, vanishing 0.4", VARIANT_VANISHING, false, true, 1, LAMBDA, VANISHING(0.4)},
    {"vanish_0.5", "aware, vanishing 0.5", VARIANT_VANISHING, false, true, 1, LAMBDA, VANISHING(0.5)},
    {"vanish_0.6", "aware, vanishing 0.6", VARIANT_VANISHING, false, true, 1, LAMBDA, VANISHING(0.6)},
    {"vanish_0.7", "aware, vanishing 0.7", VARIANT_VANISHING, false, true, 1, LAMBDA, VANISHING(0.7)},
    {"vanish_0.8", "aware, vanishing 0.8", VARIANT_VANISHING, false, true, 1, LAMBDA, VANISHING(0.8)},
    {"vanish_0.9", "aware, vanishing 0.9", VARIANT_VANISHING, false, true, 1, LAMBDA, VANISHING(0.9)},

    {"dirichlet_1", "Dirichlet, ε = 1", VARIANT_BUDGET, false, true, 1, LAMBDA, DIRICHLET(1)},
    {"dirichlet_4", "Dirichlet, ε = 4", VARIANT_BUDGET, false, true, 1, LAMBDA, DIRICHLET(4)},
    {"dirichlet_16", "Dirichlet, ε = 16", VARIANT_BUDGET, false, true, 1, LAMBDA, DIRICHLET(16)},
    {"gaussian_1", "Gaussian, ε = 1", VARIANT_BUDGET, false, true, 1, LAMBDA, GAUSSIAN(1)},
    {"gaussian_4", "Gaussian, ε = 4", VARIANT_BUDGET, false, true, 1, LAMBDA, GAUSSIAN(4)},
    {"gaussian_16", "Gaussian, ε = 16", VARIANT_BUDGET, false, true, 1, LAMBDA, GAUSSIAN(16)},

    {"unaware_vanish_0.9", "unaware, vanishing 0.9", VARIANT_UNAWARE, false, true, 1, 0, VANISHING(0.9)},
    {"unaware_dirichlet_4", "unaware, Dirichlet, ε = 4", VARIANT_UNAWARE, false, true, 1, 0, DIRICHLET(4)},
    {"unaware_gaussian_4", "unaware, Gaussian, ε = 4", VARIANT_UNAWARE, false, true, 1, 0, GAUSSIAN(4)},

    {"five_silent_0.5", "k = 5, then silent, λ = 0.5", VARIANT_PUBLISHED, false, true, 1, LAMBDA, PUBLISHED(1, false)},
    {"five_silent_0", "k = 5, then silent, unaware", VARIANT_PUBLISHED, false, true, 1, 0, PUBLISHED(1, false)},
    {"five_random_0", "k = 5, then random, unaware", VARIANT_PUBLISHED, false, true, 1, 0, PUBLISHED(1, true)},
    {"five_random_0.1", "k = 5, then random, λ = 0.1", VARIANT_PUBLISHED, false, true, 1, 0.1, PUBLISHED(1, true)},
    {"five_random_0.5", "k = 5, then random, λ = 0.5", VARIANT_PUBLISHED, false, true, 1, LAMBDA, PUBLISHED(1, true)},
    {"five_random_1", "k = 5, then random, λ = 1", VARIANT_PUBLISHED, false, true, 1, 1, PUBLISHED(1, true)},
    {"five_random_2", "k = 5, then random, λ = 2", VARIANT_PUBLISHED, false, true, 1, 2, PUBLISHED(1, true)},
    {"five_vanish_0.2_0", "k = 5, vanishing 0.2, then random, unaware", VARIANT_PUBLISHED, false, true, 1, 0, PUBLISHED(0.2, true)},
    {"five_vanish_0.4_0", "k = 5, vanishing 0.4, then random, unaware", VARIANT_PUBLISHED, false, true, 1, 0, PUBLISHED(0.4, true)},
    {"five_vanish_0.6_0", "k = 5, vanishing 0.6, then random, unaware", VARIANT_PUBLISHED, false, true, 1, 0, PUBLISHED(0.6, true)},
    {"five_vanish_0.8_0", "k = 5, vanishing 0.8, then random, unaware", VARIANT_PUBLISHED, false, true, 1, 0, PUBLISHED(0.8, true)},
    {"five_vanish_0.2_0.5", "k = 5, vanishing 0.2, then random, λ = 0.5", VARIANT_PUBLISHED, false, true, 1, LAMBDA, PUBLISHED(0.2, true)},
    {"five_vanish_0.4_0.5", "k = 5, vanishing 0.4, then random, λ = 0.5", VARIANT_PUBLISHED, false, true, 1, LAMBDA, PUBLISHED(0.4, true)},
    {"five_vanish_0.6_0.5", "k = 5, vanishing 0.6, then random, λ = 0.5", VARIANT_PUBLISHED, false, true, 1, LAMBDA, PUBLISHED(0.6, true)},
    {"five_vanish_0.8_0.5", "k = 5, vanishing 0.8, then random, λ = 0.5", VARIANT_PUBLISHED, false, true, 1, LAMBDA, PUBLISHED(0.8, true)},

    {"experts_50_gaussian_4", "50 shards, Gaussian, ε = 4", VARIANT_EXPERTS, false, true, 50, LAMBDA, GAUSSIAN(4)},
    {"experts_200_gaussian_1", "200 shards, Gaussian, ε = 1", VARIANT_EXPERTS, false, true, 200, LAMBDA, GAUSSIAN(1)},
    {"experts_200_gaussian_4", "200 shards, Gaussian, ε = 4", VARIANT_EXPERTS, false, true, 200, LAMBDA, GAUSSIAN(4)},
    {"experts_200_gaussian_16", "200 shards, Gaussian, ε = 16", VARIANT_EXPERTS, false, true, 200, LAMBDA, GAUSSIAN(16)},
    {"experts_200_dirichlet_16", "200 shards, Dirichlet, ε = 16", VARIANT_EXPERTS, false, true, 200, LAMBDA, DIRICHLET(16)},
    {"experts_1000_gaussian_1", "1000 shards, Gaussian, ε = 1", VARIANT_EXPERTS, false, true, 1000, LAMBDA, GAUSSIAN(1)},
    {"experts_1000_gaussian_4", "1000 shards, Gaussian, ε = 4", VARIANT_EXPERTS, false, true, 1000, LAMBDA, GAUSSIAN(4)},
    {"experts_1000_dirichlet_4", "1000 shards, Dirichlet, ε = 4", VARIANT_EXPERTS, false, true, 1000, LAMBDA, DIRICHLET(4)},
    {"experts_200_exact", "200 shards, without noise", VARIANT_EXPERTS, false, true, 200, 0, EXACT},
    {"experts_1000_exact", "1000 shards, without noise", VARIANT_EXPERTS, false, true, 1000, 0, EXACT},
};
/* clang-format on */
const unsigned variant_count = sizeof variants / sizeof variants[0];

const struct variant *variant_find(const char *name)
{
    for (unsigned i = 0; i < variant_count; i++)
        if (strcmp(variants[i].name, name) == 0)
            return &variants[i];
    return NULL;
}
