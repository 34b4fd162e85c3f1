#include "bench/kickstart/life.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "algos/online/ppo_algorithm.h"

#define EPISODES 100 /* at the end */
#define SOME     20  /* on the way */
#define LOOKS    100

static const struct {
    const char *world;
    uint64_t transitions;
} lengths[] = {{"cartpole", 60000}, {"acrobot", 80000}, {"lunar_lander", 250000}};

uint64_t life_transitions(const char *world)
{
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        if (strcmp(lengths[i].world, world) == 0)
            return lengths[i].transitions;
    return 100000;
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void set(struct parameter_values *values, const char *name, double number, unsigned count)
{
    int index = parameters_index(ppo_algorithm.parameters, ppo_algorithm.parameter_count, name);
    values->value[index] = (struct parameter_value){.number = {number, number}, .count = count};
}

static void make_request(const struct school *school, const struct variant *variant, uint64_t seed,
                         struct algorithm_request *out)
{
    *out = (struct algorithm_request){.mechanism = MECHANISM_NONE,
                                      .world = school->env,
                                      .state_dim = school->env->state_dim,
                                      .action_count = school->env->action_count,
                                      .seed = seed};
    memcpy(out->world_parameters, school->physics, sizeof school->physics);
    algorithm_defaults(&ppo_algorithm, school->env->name, &out->parameters);
    set(&out->parameters, "transitions", (double)life_transitions(school->env->name), 1);
    set(&out->parameters, "hidden", variant->large ? 64 : 32, 2);
}

/* ---- the teacher's silence, seen from here */

struct asking {
    struct advisor *advisor;
    uint64_t transitions; /* before the roll-out */
    uint64_t alone_since;
};

static enum kickstart_reply ask(void *context, float *states, uint32_t count, double *out,
                                double *out_radius)
{
    struct asking *asking = context;
    enum kickstart_reply reply = advisor_ask(asking->advisor, states, count, out, out_radius);
    if (reply == KICKSTART_SILENT)
        asking->alone_since = asking->transitions > 0 ? asking->transitions : 1;
    return reply;
}

/* ---- learning */

static bool judge(const struct school *school, const struct ppo *ppo, uint32_t episodes,
                  double *out)
{
    struct policy_evaluation played;
    struct policy *policy = policy_new(ppo_policy_shape(ppo), POLICY_SOFTMAX);
    bool good = policy && ppo_write_policy(ppo, policy->parameters) &&
                policy_evaluate(policy, school->env, school->physics, episodes,
                                school->env->max_episode_steps, UINT64_C(20260101), &played);
    policy_free(policy);
    *out = good ? played.mean_return : 0.0;
    return good;
}

/* After each of at most LOOKS roll-outs the policy plays SOME episodes. */
static bool learn(const struct school *school, const struct algorithm_request *request,
                  struct ppo *ppo, struct asking *asking, struct result *out)
{
    struct algorithm_plan plan;
    const char *message = "";
    unsigned points = 0;
    double now = out->random_return;
    if (ppo_algorithm.plan(request, &plan, &message) != ALGORITHM_OK)
        return false;
    uint64_t every = (plan.total_steps + LOOKS - 1) / LOOKS;
    for (uint64_t u = 0; u < plan.total_steps; u++) {
        struct ppo_report report;
        if (!ppo_update(ppo, ppo_learning_rate(request, u, plan.total_steps), &report))
            return false;
        asking->transitions = report.transitions;
        if ((u + 1) % every == 0 && !judge(school, ppo, SOME, &now))
            return false;
        if (out->reached == 0 && now >= out->level)
            out->reached = report.transitions;
        while (points < RESULT_POINTS && (u + 1) * RESULT_POINTS >= (points + 1) * plan.total_steps)
            out->curve[points++] = now;
    }
    return true;
}

static struct advisor *find_advisor(const struct school *school, const struct variant *variant)
{
    const struct school_ensemble *ensemble = school_ensemble_of(school, variant->shards);
    struct advisor_source source = {.policies = &school->teacher,
                                    .count = 1,
                                    .actions = school->env->action_count,
                                    .state_dim = school->env->state_dim,
                                    .temperature = 1.0};
    const char *why = "no such ensemble";
    struct advisor *advisor = NULL;
    if (variant->shards > 1 && ensemble) {
        source.policies = ensemble->policies;
        source.count = ensemble->count;
        source.temperature = SCHOOL_TEMPERATURE;
    }
    if (variant->shards == 1 || ensemble)
        advisor = advisor_new(&source, &variant->terms, &why);
    if (!advisor)
        fprintf(stderr, "%s %s: %s\n", school->env->name, variant->name, why);
    return advisor;
}

bool life_run(const struct school *school, const struct variant *variant, uint64_t seed,
              struct result *out)
{
    struct algorithm_request request;
    struct rng rng;
    double start = cpu_seconds();
    make_request(school, variant, seed, &request);
    struct ppo_settings settings = ppo_settings_of(&request);
    *out = (struct result){.seed = seed,
                           .transitions = life_transitions(school->env->name),
                           .teacher_return = school->teacher_return,
                           .random_return = school->random_return,
                           .level = school->level};
    snprintf(out->world, sizeof out->world, "%s", school->env->name);
    snprintf(out->variant, sizeof out->variant, "%s", variant->name);
    rng_seed(&rng, seed, 0);
    struct ppo *ppo = ppo_new(&settings, school->env, school->physics, &rng);
    struct asking asking = {.advisor = variant->asks ? find_advisor(school, variant) : NULL};
    const struct kickstart_guide guide = {
        .context = &asking, .questions = VARIANT_QUESTIONS, .lambda = variant->lambda, .ask = ask};
    if (ppo && asking.advisor)
        ppo_set_guide(ppo, &guide);
    bool good = ppo && (!variant->asks || asking.advisor) &&
                learn(school, &request, ppo, &asking, out) &&
                judge(school, ppo, EPISODES, &out->final_return);
    if (good && variant->asks)
        out->account = advisor_account_of(asking.advisor);
    out->alone_since = asking.alone_since;
    out->cpu_seconds = cpu_seconds() - start;
    advisor_free(asking.advisor);
    ppo_free(ppo);
    return good;
}
