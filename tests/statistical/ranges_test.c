/* The audit of feature_ranges: one expert is taken away, and an attacker who knows the sums of both
 * worlds looks at both releases.
 *
 * The expert is the worst there can be: all its states lie in one bucket of each coordinate, and on
 * a bound of the coarse range, so that its vectors have the greatest norms. The attacker's
 * statistic is the log-likelihood ratio. Broken on purpose: too little noise, an expert whose
 * states count one by one instead of as shares, and noise for the norm of one coordinate. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "algos/privacy/laws/gaussian_dp.h"
#include "algos/release/feature_ranges.h"
#include "tests/statistical/audit.h"

enum { DIM = 2, STEPS = 4, FIRST = DIM * RANGES_BUCKETS, SECOND = 1 + 2 * DIM };

#define MULTIPLIER 2.0

/* Two experts: the audited one, and one whose states are elsewhere. */
static struct dataset *two_experts(void)
{
    struct dataset_builder *builder = dataset_builder_new(DIM, 2, 2);
    cr_assert_not_null(builder);
    for (uint32_t e = 0; e < 2; e++) {
        float states[(STEPS + 1) * DIM], rewards[STEPS] = {0};
        uint16_t actions[STEPS] = {0};
        for (int i = 0; i < (STEPS + 1) * DIM; i++)
            states[i] = e == 0 ? 100.0F : (float)i;
        const struct trajectory one = {.expert = e,
                                       .length = STEPS,
                                       .terminated = true,
                                       .states = states,
                                       .actions = actions,
                                       .rewards = rewards};
        cr_assert(dataset_builder_add(builder, &one));
    }
    struct dataset *data = dataset_builder_finish(builder);
    cr_assert_not_null(data);
    return data;
}

/* Both worlds: what is summed, without and with the expert. */
struct worlds {
    int64_t first[2][FIRST], second[2][SECOND];
    double multiplier;
    uint32_t norm_dim; /* of the noise */
};

/* COPIES: how often the audited expert counts. */
static void make_worlds(struct worlds *worlds, int copies)
{
    struct dataset *data = two_experts();
    struct features *coarse = features_new(DIM);
    *worlds = (struct worlds){.multiplier = MULTIPLIER, .norm_dim = DIM};
    for (int d = 0; d < DIM; d++)
        coarse->range[d] = (struct feature_range){0, 64}; /* 100 is clipped to its end */
    for (int with = 0; with < 2; with++) {
        ranges_add_expert(data, 1, NULL, worlds->first[with]);
        ranges_add_expert(data, 1, coarse, worlds->second[with]);
        for (int i = 0; with && i < copies; i++) {
            ranges_add_expert(data, 0, NULL, worlds->first[with]);
            ranges_add_expert(data, 0, coarse, worlds->second[with]);
        }
    }
    free(coarse);
    dataset_free(data);
}

/* Releases the numbers that differ, of COUNT; the others tell nothing. What they say along the
 * difference of both worlds. */
static double look(const struct worlds *worlds, bool coarse, const int64_t *without,
                   const int64_t *with, bool is_with, size_t count, struct noise_source *noise)
{
    double sum = 0.0, norm = ranges_norm(DIM, coarse);
    for (size_t i = 0; i < count; i++) {
        int64_t out = is_with ? with[i] : without[i];
        if (with[i] == without[i])
            continue;
        ranges_release(noise, worlds->multiplier, ranges_norm(worlds->norm_dim, coarse), &out, 1);
        sum += (double)(with[i] - without[i]) * (double)(out - without[i]);
    }
    return sum / (norm * norm);
}

static double ratio(const void *mechanism, bool with, struct noise_source *noise)
{
    const struct worlds *w = mechanism;
    return look(w, false, w->first[0], w->first[1], with, FIRST, noise) +
           look(w, true, w->second[0], w->second[1], with, SECOND, noise);
}

Test(audit, feature_ranges)
{
    struct worlds claimed, halved, counted, narrow;
    make_worlds(&claimed, 1);
    const struct audit audit = {
        .name = AUDIT_RANGES,
        .title = "feature_ranges",
        .delta = 1e-5,
        .epsilon = gaussian_dp_epsilon_interval(sqrt(2.0) / MULTIPLIER, 1e-5).upper,
        .claim = AUDIT_GAUSSIAN_DP,
        .samples = 20000,
        .statistic = ratio};
    audit_holds(&audit, &claimed);
    halved = claimed;
    halved.multiplier *= 0.5;
    audit_exceeds(&audit, &halved, "half the noise");
    make_worlds(&counted, STEPS);
    audit_exceeds(&audit, &counted, "states that count one by one");
    narrow = claimed;
    narrow.norm_dim = 1;
    audit_exceeds(&audit, &narrow, "noise for one coordinate");
}
