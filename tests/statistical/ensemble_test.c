/* The audit of teachers of shards: one expert is taken away, the ensemble is trained anew, and an
 * attacker who knows both ensembles looks at answers.
 *
 * The expert is the worst there can be: alone it turns its shard's policy from one corner of the
 * simplex into the other. The attacker's statistic is the answers' sum along the difference of both
 * means. Broken on purpose in three ways: too little noise; experts told apart by their place in a
 * list, so that one less moves others into other shards; and a mean over the shards that have a
 * policy, whose number is data. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/catalogue/algorithms.h"
#include "algos/offline/shards.h"
#include "algos/privacy/laws/gaussian_dp.h"
#include "algos/release/ensemble.h"
#include "algos/release/teacher.h"
#include "tests/statistical/audit.h"

enum { SHARDS = 20, EXPERTS = 40, ACTIONS = 3, ANSWERS = 4, STEPS = 6, OFTEN = 8 };

static const float state[1] = {1.0F};

/* What an expert always does: half of them this, half that; the first one, who is audited, the
 * second action, with more data than its whole shard. */
static uint32_t habit(uint32_t expert)
{
    return expert == 0 ? 1 : expert % 2;
}

static uint64_t name_of(uint32_t expert)
{
    return UINT64_C(0x9e3779b97f4a7c15) * (expert + 1);
}

/* Experts FIRST.. of EXPERTS; KEYS by their names, or by their place in this very list. */
static struct dataset *data_of(uint32_t first, bool by_place)
{
    struct dataset_builder *builder = dataset_builder_new(1, ACTIONS, EXPERTS - first);
    cr_assert_not_null(builder);
    float states[STEPS + 1], rewards[STEPS] = {0};
    uint16_t actions[STEPS];
    for (int t = 0; t <= STEPS; t++)
        states[t] = state[0];
    for (uint32_t e = first; e < EXPERTS; e++)
        for (int n = 0; n < (e == 0 ? OFTEN : 1); n++) {
            for (int t = 0; t < STEPS; t++)
                actions[t] = (uint16_t)habit(e);
            const struct trajectory one = {.expert = e - first,
                                           .length = STEPS,
                                           .terminated = true,
                                           .states = states,
                                           .actions = actions,
                                           .rewards = rewards};
            cr_assert(dataset_builder_add(builder, &one));
        }
    struct dataset *data = dataset_builder_finish(builder);
    cr_assert_not_null(data);
    data->expert_keys = calloc(EXPERTS, sizeof *data->expert_keys);
    for (uint32_t e = first; e < EXPERTS; e++)
        data->expert_keys[e - first] = by_place ? e - first : name_of(e);
    return data;
}

static void set(struct algorithm_request *request, const struct algorithm *algorithm,
                const char *name, double value)
{
    int i = parameters_index(algorithm->parameters, algorithm->parameter_count, name);
    cr_assert_geq(i, 0, "%s", name);
    request->parameters.value[i] = (struct parameter_value){.number = {value}, .count = 1};
}

static struct ensemble *train(uint32_t first, bool by_place, uint64_t seed)
{
    const struct algorithm *algorithm = algorithm_find("behaviour_cloning");
    struct algorithm_request request = {
        .discount = 0.9, .state_dim = 1, .action_count = ACTIONS, .seed = seed};
    algorithm_defaults(algorithm, NULL, &request.parameters);
    set(&request, algorithm, "hidden", 4);
    set(&request, algorithm, "batch_size", 32);
    set(&request, algorithm, "steps", 150);
    set(&request, algorithm, "learning_rate", 0.02);
    set(&request, algorithm, "weight_power", 1);
    struct dataset *data = data_of(first, by_place);
    const struct algorithm_run run = {.request = &request, .data = data};
    struct ensemble *ensemble = NULL;
    const char *message = "";
    cr_assert_eq(ensemble_train(algorithm, SHARDS, &run, &ensemble, &message), ALGORITHM_OK, "%s",
                 message);
    dataset_free(data);
    return ensemble;
}

/* Both worlds: the means that are answered about. */
struct worlds {
    double mean[2][ACTIONS]; /* without, with */
    double sigma;
};

static void look(const struct ensemble *ensemble, double mean[ACTIONS])
{
    ensemble_probabilities(ensemble, state, 1, 0.01, mean);
}

static void make(struct worlds *worlds, bool by_place, uint64_t seed)
{
    for (uint32_t with = 0; with < 2; with++) {
        struct ensemble *ensemble = train(with ? 0 : 1, by_place, seed);
        look(ensemble, worlds->mean[with]);
        ensemble_free(ensemble);
    }
}

static double apart(const struct worlds *worlds)
{
    double sum = 0.0;
    for (int a = 0; a < ACTIONS; a++)
        sum += pow(worlds->mean[1][a] - worlds->mean[0][a], 2);
    return sqrt(sum);
}

/* A seed with which the audited expert decides its shard: nearly all of the bound is used. */
static uint64_t make_worst(struct worlds *worlds)
{
    for (uint64_t seed = 1; seed < 40; seed++) {
        uint32_t shard = shards_place(name_of(0), seed, SHARDS), others = 0;
        for (uint32_t e = 1; e < EXPERTS; e++)
            others += shards_place(name_of(e), seed, SHARDS) == shard ? 1 + habit(e) : 0;
        if (others != 1) /* one other, of the first action */
            continue;
        make(worlds, false, seed);
        if (apart(worlds) > 0.95 * ensemble_change(SHARDS))
            return seed;
    }
    cr_assert_fail("no seed makes the expert decide");
    return 0;
}

static double answers(const void *mechanism, bool with, struct noise_source *noise)
{
    const struct worlds *worlds = mechanism;
    const struct gaussian_simplex g = {
        .actions = ACTIONS, .sigma = worlds->sigma, .sensitivity = ensemble_change(SHARDS)};
    double sum = 0.0;
    for (int n = 0; n < ANSWERS; n++) {
        double p[ACTIONS], z[ACTIONS];
        memcpy(p, worlds->mean[with], sizeof p);
        cr_assert(gaussian_simplex_sample(&g, noise, p, z));
        for (int a = 0; a < ACTIONS; a++)
            sum += z[a] * (worlds->mean[1][a] - worlds->mean[0][a]);
    }
    return sum;
}

/* Where every expert has a number by its place, all of them move when the first goes. */
static void make_by_place(struct worlds *worlds)
{
    uint64_t seed = 1;
    do {
        make(worlds, true, seed);
    } while (apart(worlds) < 3.0 * ensemble_change(SHARDS) && ++seed < 60);
    cr_assert_lt(seed, 60u, "moving all experts moves the mean");
}

/* The mean over shards that have a policy, of a few experts: with one shard of two gone it is not
 * the bound of the shards that is moved by. */
static void make_of_those_there_are(struct worlds *worlds)
{
    for (int with = 0; with < 2; with++) { /* two shards hold anybody; one of them, one expert */
        worlds->mean[with][0] = with ? 0.5 : 1.0;
        worlds->mean[with][1] = with ? 0.5 : 0.0;
        worlds->mean[with][2] = 0.0;
    }
}

Test(audit, ensemble)
{
    struct worlds claimed = {.sigma = 0.1}, halved, by_place = claimed, of_few = claimed;
    make_worst(&claimed);
    const struct gaussian_simplex g = {
        .actions = ACTIONS, .sigma = claimed.sigma, .sensitivity = ensemble_change(SHARDS)};
    const struct audit audit = {
        .name = AUDIT_ENSEMBLE,
        .title = "teacher of shards, 4",
        .delta = 1e-5,
        .epsilon =
            gaussian_dp_epsilon_interval(sqrt((double)ANSWERS) * gaussian_simplex_mu(&g), 1e-5)
                .upper,
        .claim = AUDIT_GAUSSIAN_DP,
        .samples = 20000,
        .statistic = answers};
    audit_holds(&audit, &claimed);
    halved = claimed;
    halved.sigma *= 0.5;
    audit_exceeds(&audit, &halved, "half the noise");
    make_by_place(&by_place);
    audit_exceeds(&audit, &by_place, "experts told apart by place");
    make_of_those_there_are(&of_few);
    audit_exceeds(&audit, &of_few, "a mean of the shards there are");
}
