/* The audit as a job. In two worlds it trains a small policy thousands of times, and a step of
 * progress is one training; in one run it is a step of a training. Nothing is saved in between: who
 * is interrupted begins again. */
#include "algos/offline/membership_audit.h"

#include <stdlib.h>

#include "algos/offline/bcq.h"
#include "algos/offline/behaviour_cloning.h"
#include "algos/offline/cql.h"
#include "algos/offline/hooks.h"
#include "algos/offline/offline.h"
#include "algos/offline/one_run_audit.h"
#include "memory/memory.h"

#define RUNS_PER_PULSE 256

enum {
    P_AUDITED,
    P_BROKEN,
    P_EXPERTS,
    P_STEPS,
    P_NOISE_MULTIPLIER,
    P_DELTA,
    P_RUNS,
    P_METHOD,
    P_CANARIES,
    P_BATCH_SIZE,
    P_TRAININGS,
    P_ARITHMETIC,
    P_COUNT
};

enum { METHOD_TWO_WORLDS, METHOD_ONE_RUN, MOST_TRAININGS = 64 };

static const char *const audited[] = {"cql", "bcq", "behaviour_cloning", NULL};
static const struct algorithm *const audited_algorithms[] = {&cql_algorithm, &bcq_algorithm,
                                                             &behaviour_cloning_algorithm};

static const char *const methods[] = {"two_worlds", "one_run", NULL};

static const struct parameter_spec specs[P_COUNT] = {
    [P_AUDITED] = {"audited", PARAMETER_CHOICE, PARAMETER_ONE(0), 0, 2, audited, "",
                   "The algorithm whose trainer is attacked."},
    [P_BROKEN] = {"broken", PARAMETER_CHOICE, PARAMETER_ONE(MEMBERSHIP_SOUND), 0,
                  MEMBERSHIP_SABOTAGES - 1, membership_sabotages, "",
                  "What is broken on purpose (half the noise, no clip, or one twice as wide), to "
                  "see that the audit "
                  "finds it."},
    [P_EXPERTS] = {"experts", PARAMETER_INTEGER, PARAMETER_ONE(2), 1, 1000, NULL, "experts",
                   "Each joins a step with probability 1 / experts; of two_worlds."},
    [P_STEPS] = {"steps", PARAMETER_INTEGER, PARAMETER_ONE(2), 1, 1000000, NULL, "steps",
                 "Noisy steps of one training; at most 1000 of two_worlds."},
    [P_NOISE_MULTIPLIER] = {"noise_multiplier", PARAMETER_REAL, PARAMETER_ONE(1), 0.05, 1000, NULL,
                            "", "Noise deviation over the clip norm."},
    [P_DELTA] = {"delta", PARAMETER_REAL, PARAMETER_ONE(0.01), 1e-12, 0.5, NULL, "",
                 "At which epsilon is told."},
    [P_RUNS] = {"runs", PARAMETER_INTEGER, PARAMETER_ONE(20000), 2, 1000000, NULL, "trainings",
                "Trainings in each of the two worlds."},
    [P_METHOD] = {"method", PARAMETER_CHOICE, PARAMETER_ONE(METHOD_TWO_WORLDS), 0, 1, methods, "",
                  "One canary in thousands of trainings, or many canaries in one."},
    [P_CANARIES] = {"canaries", PARAMETER_INTEGER, PARAMETER_ONE(1000), 20, 4000, NULL, "experts",
                    "Of one_run: made-up experts; a coin decides for each whether it takes part."},
    [P_BATCH_SIZE] = {"batch_size", PARAMETER_INTEGER, PARAMETER_ONE(250), 1, 4000, NULL, "experts",
                      "Of one_run: each canary joins a step with probability batch_size / "
                      "canaries."},
    [P_TRAININGS] = {"trainings", PARAMETER_INTEGER, PARAMETER_ONE(4), 1, MOST_TRAININGS, NULL,
                     "trainings", "Of one_run: how many such trainings are combined."},
    [P_ARITHMETIC] = {"arithmetic", PARAMETER_CHOICE, PARAMETER_ONE(1), 0, 1, offline_arithmetics,
                      "", "Of the trainings that are attacked."},
};

static const struct parameter_later later[] = {
    {P_METHOD, PARAMETER_ONE(METHOD_TWO_WORLDS)},
    {P_CANARIES, PARAMETER_ONE(1000)},
    {P_BATCH_SIZE, PARAMETER_ONE(250)},
    {P_TRAININGS, PARAMETER_ONE(4)},
    {P_ARITHMETIC, PARAMETER_ONE(0)}, /* float */
};

/* ---- one run */

static struct one_run_settings one_run_settings_of(const struct algorithm_request *request)
{
    return (struct one_run_settings){
        .algorithm = audited_algorithms[(int)algorithm_number(request, P_AUDITED)],
        .canary = ONE_RUN_INPUTS,
        .exact = algorithm_number(request, P_ARITHMETIC) > 0.0,
        .canaries = (uint32_t)algorithm_number(request, P_CANARIES),
        .batch_size = (uint32_t)algorithm_number(request, P_BATCH_SIZE),
        .steps = (uint32_t)algorithm_number(request, P_STEPS),
        .noise_multiplier = algorithm_number(request, P_NOISE_MULTIPLIER),
        .delta = algorithm_number(request, P_DELTA),
        .seed = request->seed,
        .work = request->work,
    };
}

/* A training's own pulse, told to the job as the steps of all trainings. */
struct inner_pulse {
    const struct algorithm_hooks *outer;
    uint64_t before;
};

static enum algorithm_pulse one_run_pulse(void *context, uint64_t steps_done)
{
    const struct inner_pulse *inner = context;
    return inner->outer->pulse(inner->outer->context, inner->before + steps_done);
}

/* What is half done is not kept. */
static bool one_run_save(void *context, uint64_t steps_done, const unsigned char *bytes,
                         size_t size)
{
    (void)context, (void)steps_done, (void)bytes, (void)size;
    return true;
}

static void one_run_show(const struct algorithm_run *run, const struct dp_sgd_plan *plan,
                         const struct one_run_guesses *seen, uint32_t trainings)
{
    const struct algorithm_hooks *hooks = &run->hooks;
    double right = 0.0, guesses = (double)seen[0].guesses * trainings;
    if (!hooks->show_finding)
        return;
    for (uint32_t i = 0; i < trainings; i++)
        right += seen[i].right;
    hooks->show_finding(hooks->context, "epsilon_certified", plan->epsilon);
    hooks->show_finding(hooks->context, "epsilon_shown",
                        one_run_shown(plan, seen, trainings, AUDIT_ALGORITHM_FALSE_ALARM));
    hooks->show_finding(hooks->context, "delta", plan->delta);
    hooks->show_finding(hooks->context, "right", right);
    hooks->show_finding(hooks->context, "guesses", guesses);
    hooks->show_finding(hooks->context, "false_alarm", AUDIT_ALGORITHM_FALSE_ALARM);
}

static enum algorithm_status one_run_collect(const struct algorithm_run *run,
                                             const struct one_run_attack *attack,
                                             struct one_run_guesses *seen, uint32_t trainings)
{
    const enum membership_sabotage sabotage =
        (enum membership_sabotage)(int)algorithm_number(run->request, P_BROKEN);
    struct inner_pulse inner = {.outer = &run->hooks};
    const struct algorithm_hooks hooks = {
        .context = &inner, .pulse = run->hooks.pulse ? one_run_pulse : NULL, .save = one_run_save};
    enum algorithm_status status = ALGORITHM_OK;
    struct rng coins;
    rng_seed(&coins, run->request->seed, 1);
    for (uint32_t i = 0; i < trainings && status == ALGORITHM_OK; i++) {
        status = one_run_attack_run(attack, sabotage, &coins, &hooks, run->noise, &seen[i]);
        inner.before += (uint64_t)algorithm_number(run->request, P_STEPS);
    }
    return status;
}

static enum algorithm_status one_run_audit(const struct algorithm_run *run, const char **message)
{
    const struct one_run_settings settings = one_run_settings_of(run->request);
    const uint32_t trainings = (uint32_t)algorithm_number(run->request, P_TRAININGS);
    struct one_run_guesses seen[MOST_TRAININGS];
    struct one_run_attack *attack = NULL;
    enum algorithm_status status = one_run_attack_new(&settings, &attack, message);
    if (status != ALGORITHM_OK)
        return status;
    status = one_run_collect(run, attack, seen, trainings);
    if (status == ALGORITHM_OK)
        one_run_show(run, one_run_attack_claim(attack), seen, trainings);
    one_run_attack_free(attack);
    return status;
}

static enum algorithm_status one_run_plan(const struct algorithm_request *request,
                                          struct algorithm_plan *out, const char **message)
{
    const struct one_run_settings settings = one_run_settings_of(request);
    enum algorithm_status status = one_run_attack_plan(&settings, out, message);
    if (status == ALGORITHM_OK) {
        out->total_steps *= (uint64_t)algorithm_number(request, P_TRAININGS);
        out->privacy = (struct dp_sgd_plan){0}; /* made-up data: nobody's privacy is spent */
    }
    return status;
}

/* ---- two worlds */

static struct membership_settings audit_settings(const struct algorithm_request *request)
{
    return (struct membership_settings){
        .algorithm = audited_algorithms[(int)algorithm_number(request, P_AUDITED)],
        .experts = (uint32_t)algorithm_number(request, P_EXPERTS),
        .steps = (uint32_t)algorithm_number(request, P_STEPS),
        .noise_multiplier = algorithm_number(request, P_NOISE_MULTIPLIER),
        .delta = algorithm_number(request, P_DELTA),
        .in_float = algorithm_number(request, P_ARITHMETIC) <= 0.0,
        .seed = request->seed,
        .work = request->work,
    };
}

/* Preparing the attack is also a check: settings that cannot be planned fail here. */
static enum algorithm_status audit_plan(const struct algorithm_request *request,
                                        struct algorithm_plan *out, const char **message)
{
    const struct membership_settings settings = audit_settings(request);
    struct membership_attack *attack = NULL;
    if (algorithm_number(request, P_METHOD) == METHOD_ONE_RUN)
        return one_run_plan(request, out, message);
    enum algorithm_status status = membership_attack_new(&settings, &attack, message);
    if (status != ALGORITHM_OK)
        return status;
    *out = (struct algorithm_plan){.total_steps = 2 * (uint64_t)algorithm_number(request, P_RUNS),
                                   .shape = *membership_attack_shape(attack)};
    out->parameter_count = mlp_parameter_count(&out->shape);
    membership_attack_free(attack);
    return ALGORITHM_OK;
}

static enum algorithm_status audit_collect(const struct algorithm_run *run,
                                           const struct membership_attack *attack,
                                           double *scores[2], uint32_t runs)
{
    enum membership_sabotage sabotage =
        (enum membership_sabotage)(int)algorithm_number(run->request, P_BROKEN);
    enum algorithm_status status = ALGORITHM_OK;
    for (uint64_t i = 0; i < 2 * (uint64_t)runs && status == ALGORITHM_OK; i++) {
        if (i % RUNS_PER_PULSE == 0)
            status = hooks_pulse(&run->hooks, i, NULL, NULL);
        if (status == ALGORITHM_OK)
            status = membership_attack_run(attack, sabotage, i % 2 != 0, run->noise,
                                           &scores[i % 2][i / 2]);
    }
    return status;
}

static void audit_show(const struct algorithm_run *run, const struct dp_sgd_plan *claim,
                       const struct membership_finding *found)
{
    const struct algorithm_hooks *hooks = &run->hooks;
    if (!hooks->show_finding)
        return;
    hooks->show_finding(hooks->context, "epsilon_certified", claim->epsilon);
    hooks->show_finding(hooks->context, "epsilon_shown", found->epsilon);
    hooks->show_finding(hooks->context, "delta", claim->delta);
    hooks->show_finding(hooks->context, "likely", found->p);
    hooks->show_finding(hooks->context, "unlikely", found->q);
    hooks->show_finding(hooks->context, "counted", found->counted);
    hooks->show_finding(hooks->context, "false_alarm", AUDIT_ALGORITHM_FALSE_ALARM);
}

static enum algorithm_status audit_train(const struct algorithm_run *run,
                                         struct policy **out_policy, const char **message)
{
    const struct membership_settings settings = audit_settings(run->request);
    const uint32_t runs = (uint32_t)algorithm_number(run->request, P_RUNS);
    struct membership_attack *attack = NULL;
    *message = "";
    *out_policy = NULL;
    if (algorithm_number(run->request, P_METHOD) == METHOD_ONE_RUN)
        return one_run_audit(run, message);
    enum algorithm_status status = membership_attack_new(&settings, &attack, message);
    if (status != ALGORITHM_OK)
        return status;
    double *scores[2] = {memory_new(runs, sizeof(double)), memory_new(runs, sizeof(double))};
    status = audit_collect(run, attack, scores, runs);
    if (status == ALGORITHM_OK) {
        const struct dp_sgd_plan *claim = membership_attack_claim(attack);
        struct membership_finding found = membership_lower_bound(
            scores[1], scores[0], runs, claim->delta, AUDIT_ALGORITHM_FALSE_ALARM);
        audit_show(run, claim, &found);
    }
    free(scores[0]);
    free(scores[1]);
    membership_attack_free(attack);
    return status;
}

const struct algorithm audit_algorithm = {
    .name = "audit",
    .summary = "What an attacker can prove about the epsilon of an algorithm, on made-up data.",
    .mechanisms = {[MECHANISM_NONE] = true},
    .kind = ALGORITHM_AUDITS,
    .privacy_unit = "",
    .parameters = specs,
    .parameter_count = P_COUNT,
    .later = later,
    .later_count = sizeof later / sizeof later[0],
    .plan = audit_plan,
    .train = audit_train,
};
