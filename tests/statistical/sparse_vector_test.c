/* Audits of the sparse vector: its answers to one trajectory, and a whole run with its draw.
 *
 * Costliest for the answers are counts at which many close calls are passed and the next one, which
 * the expert does not move, fails: passing them all says that the threshold's noise is low. */
#include <criterion/criterion.h>
#include <math.h>

#include "algos/privacy/training/sparse_vector.h"
#include "tests/statistical/audit.h"

enum { LENGTH = 9 };

/* The number of leading COUNTS that are above: the length of the longest stable prefix. */
static size_t sparse_vector_longest(const struct sparse_vector_lattice *lattice,
                                    struct noise_source *noise, const int64_t *counts,
                                    size_t length)
{
    struct sparse_vector_run run;
    sparse_vector_begin(&run, lattice, noise);
    size_t stable = 0;
    while (stable < length && sparse_vector_query(&run, counts[stable]))
        stable++;
    return stable;
}

static int64_t sparse_vector_count(const double *probability, size_t count)
{
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (int64_t)sparse_vector_units(probability[i]);
    return sum;
}

/* One expert more: every count but the last is higher by one. */
static double stopped_at_last(const void *mechanism, bool with, struct noise_source *noise)
{
    const struct sparse_vector_lattice *lattice = mechanism;
    int64_t counts[LENGTH];
    for (int i = 0; i < LENGTH - 1; i++)
        counts[i] = lattice->threshold + (with ? SPARSE_VECTOR_UNIT / 2 : -SPARSE_VECTOR_UNIT / 2);
    counts[LENGTH - 1] = lattice->threshold;
    return sparse_vector_longest(lattice, noise, counts, LENGTH) == LENGTH - 1;
}

static struct sparse_vector_plan plan_of(double epsilon, double delta, double min_probability)
{
    const struct sparse_vector_request request = {.experts = 20,
                                                  .epsilon = epsilon,
                                                  .delta = delta,
                                                  .trajectories = 1,
                                                  .max_length = LENGTH,
                                                  .min_probability = min_probability};
    struct sparse_vector_plan plan;
    cr_assert_eq(sparse_vector_plan_make(&request, &plan), SPARSE_VECTOR_OK);
    return plan;
}

static void halve(struct sparse_vector_lattice *lattice)
{
    lattice->query_scale /= 2;
    lattice->threshold_scale /= 2;
}

Test(audit, sparse_vector)
{
    const struct sparse_vector_plan plan = plan_of(4.0, 1e-3, 0.5);
    struct sparse_vector_lattice halved = plan.lattice;
    const struct audit audit = {.name = AUDIT_SPARSE_VECTOR,
                                .title = "sparse vector, answers",
                                .epsilon = plan.epsilon_prime,
                                .samples = 40000,
                                .statistic = stopped_at_last};
    halve(&halved);
    audit_holds(&audit, &plan.lattice);
    audit_exceeds(&audit, &halved, "half the noise");
}

/* A whole run: an expert is drawn, then its trajectory of right (1) and wrong (0) steps. All others
 * go right with the least probability, the expert in question nearly always. */
struct run {
    struct sparse_vector_lattice lattice;
    double min_probability;
};

enum { OTHERS = 3, STEPS = 4 };

static double went_right(const void *mechanism, bool with, struct noise_source *noise)
{
    const struct run *run = mechanism;
    uint32_t experts = with ? OTHERS + 1 : OTHERS, drawn = noise_below(noise, experts);
    double right[OTHERS + 1], prefix[OTHERS + 1];
    int64_t counts[STEPS];
    bool all_right = true;
    for (uint32_t i = 0; i < experts; i++) {
        right[i] = i == OTHERS ? 1.0 - run->min_probability : run->min_probability;
        prefix[i] = 1.0;
    }
    for (int step = 0; step < STEPS; step++) {
        bool goes = noise_uniform(noise) < right[drawn];
        all_right = all_right && goes;
        for (uint32_t i = 0; i < experts; i++)
            prefix[i] *= goes ? right[i] : 1.0 - right[i];
        counts[step] = sparse_vector_count(prefix, experts);
    }
    size_t length = sparse_vector_longest(&run->lattice, noise, counts, STEPS);
    return all_right && length == STEPS;
}

/* What a run costs in proof is far from what any attack shows: the draw and the answers are worst
 * at different counts, and the threshold stands where both are cheap. So half the noise is not
 * found out here (it is above); that the threshold is what protects the draw is. */
Test(audit, sparse_vector_run)
{
    const struct sparse_vector_plan plan = plan_of(2.0, 1e-2, 0.1);
    const struct run claimed = {plan.lattice, plan.request.min_probability};
    struct run mutant = claimed;
    const struct audit audit = {.name = AUDIT_SPARSE_VECTOR_RUN,
                                .title = "sparse vector, run",
                                .epsilon = plan.run_epsilon,
                                .delta = plan.run_delta,
                                .samples = 40000,
                                .statistic = went_right};
    cr_assert_leq(plan.composed_epsilon, 2.0);
    audit_holds(&audit, &claimed);
    mutant.lattice.threshold = 0;
    audit_exceeds(&audit, &mutant, "a threshold of 0");
}
