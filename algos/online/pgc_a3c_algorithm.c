/* Private gradient collection as a job. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/online/online_run.h"
#include "algos/online/pgc_a3c.h"
#include "algos/privacy/noise/noise.h"

#define RECENT 0.99 /* memory of the mean return that is shown */

enum {
    P_RANDOMISER,
    P_AGENTS,
    P_BUFFER,
    P_HIDDEN,
    P_LEARNING_RATE,
    P_DISCOUNT,
    P_VALUE_WEIGHT,
    P_ENTROPY_WEIGHT,
    P_EXPLORATION,
    P_DECAY,
    P_CLIP,
    P_PROJECTION_CLIP,
    P_SPREAD,
    P_STEP_LIMIT,
    P_ACTIONS,
    P_RETURN_STEPS,
    P_LOSS,
    P_COUNT
};

static const char *const randomisers[] = {"privunit", "half_sphere", "laplace",
                                          "projected_random_sign", NULL};
static const char *const choices[] = {"drawn", "greedy", NULL};
static const char *const losses[] = {"sum", "mean", NULL};

static const struct parameter_spec specs[P_COUNT] = {
    [P_RANDOMISER] = {"randomiser", PARAMETER_CHOICE, PARAMETER_ONE(0), 0, 3, randomisers, "",
                      "What agents do to their gradients; for local_reports."},
    [P_AGENTS] = {"agents", PARAMETER_INTEGER, PARAMETER_ONE(20000), 1, 10000000, NULL, "agents",
                  "Simulated agents, each with one episode and one report; rounded up to whole "
                  "buffers."},
    [P_BUFFER] = {"buffer", PARAMETER_INTEGER, PARAMETER_ONE(100), 1, 100000, NULL, "reports",
                  "Reports of one update."},
    [P_HIDDEN] = {"hidden", PARAMETER_INTEGER, PARAMETER_ONE(16), 1, ACTOR_CRITIC_MAX_HIDDEN, NULL,
                  "units", "Width of the shared layer; every parameter costs noise."},
    [P_LEARNING_RATE] = {"learning_rate", PARAMETER_REAL, PARAMETER_ONE(0.5), 1e-7, 1e6, NULL, "",
                         "Step size."},
    [P_DISCOUNT] = {"discount", PARAMETER_REAL, PARAMETER_ONE(0.99), 0, 1, NULL, "",
                    "Worth of a reward one step later."},
    [P_VALUE_WEIGHT] = {"value_weight", PARAMETER_REAL, PARAMETER_ONE(0.5), 0, 1e6, NULL, "",
                        "Weight of the critic's squared error."},
    [P_ENTROPY_WEIGHT] = {"entropy_weight", PARAMETER_REAL, PARAMETER_ONE(0.01), 0, 1e6, NULL, "",
                          "Weight of the actor's entropy."},
    [P_EXPLORATION] = {"exploration", PARAMETER_REAL, PARAMETER_ONE(0.5), 0, 1, NULL, "",
                       "Share of uniformly random actions at the start."},
    [P_DECAY] = {"exploration_decay", PARAMETER_REAL, PARAMETER_ONE(1.0 / 1800), 0, 1, NULL, "",
                 "What that share loses with every report."},
    [P_CLIP] = {"clip", PARAMETER_REAL, PARAMETER_ONE(1), 1e-6, 1e6, NULL, "",
                "Bound of a gradient's norm: the 2-norm for privunit and half_sphere, else the "
                "1-norm; for local_reports."},
    [P_PROJECTION_CLIP] = {"projection_clip", PARAMETER_REAL, PARAMETER_ONE(0), 0, 1e6, NULL, "",
                           "Of projected_random_sign: bound of one projection; 0: sqrt(3) clip."},
    [P_SPREAD] = {"gravity_spread", PARAMETER_REAL, PARAMETER_ONE(0), 0, 100, NULL, "m/s^2",
                  "Each agent draws its gravity from three values: the world's own, and that minus "
                  "and plus this number."},
    [P_STEP_LIMIT] = {"step_limit", PARAMETER_INTEGER, PARAMETER_ONE(200), 0, ONLINE_MAX_STEPS,
                      NULL, "steps",
                      "Episodes are cut off there; 0: the usual limit of the world."},
    [P_ACTIONS] =
        {"actions", PARAMETER_CHOICE, PARAMETER_ONE(0), 0, 1, choices, "",
         "What an agent does when it does not explore: an action drawn from the actor, or "
         "the most probable one (greedy), which the released policy then takes too."},
    [P_RETURN_STEPS] = {"return_steps", PARAMETER_INTEGER, PARAMETER_ONE(0), 0, ONLINE_MAX_STEPS,
                        NULL, "steps",
                        "Rewards of a return, behind which the critic's value stands for the rest; "
                        "0: all rewards up to the end."},
    [P_LOSS] = {"loss", PARAMETER_CHOICE, PARAMETER_ONE(0), 0, 1, losses, "",
                "Of an episode: the sum over its steps, or the mean."},
};

/* Drawn actions, whole returns and sums were all that there was. */
static const struct parameter_later later[] = {
    {P_ACTIONS, PARAMETER_ONE(0)}, {P_RETURN_STEPS, PARAMETER_ONE(0)}, {P_LOSS, PARAMETER_ONE(0)}};

static const struct parameter_override overrides[] = {{"cartpole", P_SPREAD, PARAMETER_ONE(0.1)}};

static struct actor_critic net_of(const struct algorithm_request *request)
{
    return (struct actor_critic){request->world->state_dim,
                                 (uint32_t)algorithm_number(request, P_HIDDEN),
                                 request->world->action_count};
}

/* Sets OUT to the scheme of local reports. NULL, or a sentence that says what is wrong. */
static const char *pgc_scheme(const struct algorithm_request *request, struct local_scheme *out)
{
    const struct actor_critic net = net_of(request);
    const char *name = randomisers[(int)algorithm_number(request, P_RANDOMISER)];
    const struct local_parameters parameters = {.dimension = (uint32_t)actor_critic_count(&net),
                                                .epsilon = request->epsilon,
                                                .clip = algorithm_number(request, P_CLIP),
                                                .projection_clip =
                                                    algorithm_number(request, P_PROJECTION_CLIP)};
    return local_scheme_make(local_mechanism_find(name), &parameters, out);
}

const char *pgc_settings_of(const struct algorithm_request *request, struct pgc_settings *out)
{
    struct pgc_settings settings = {
        .net = net_of(request),
        .loss = {algorithm_number(request, P_DISCOUNT), algorithm_number(request, P_VALUE_WEIGHT),
                 algorithm_number(request, P_ENTROPY_WEIGHT),
                 (uint32_t)algorithm_number(request, P_RETURN_STEPS),
                 algorithm_number(request, P_LOSS) > 0.0},
        .greedy = algorithm_number(request, P_ACTIONS) > 0.0,
        .exploration = {algorithm_number(request, P_EXPLORATION),
                        algorithm_number(request, P_DECAY)},
        .private = request->mechanism == MECHANISM_LOCAL_REPORTS,
        .buffer = (uint32_t)algorithm_number(request, P_BUFFER),
        .max_steps = online_step_limit(algorithm_number(request, P_STEP_LIMIT), request->world),
        .learning_rate = algorithm_number(request, P_LEARNING_RATE),
        .gravity_spread = algorithm_number(request, P_SPREAD),
        .seed = request->seed,
        .world = request->world,
        .physics = request->world_parameters,
    };
    const char *problem = settings.private ? pgc_scheme(request, &settings.scheme) : NULL;
    if (!problem)
        *out = settings;
    return problem;
}

static const char *spread_problem(const struct algorithm_request *request)
{
    double spread = algorithm_number(request, P_SPREAD);
    int gravity = env_parameter_index(request->world, "gravity");
    if (spread <= 0.0)
        return NULL;
    if (gravity < 0)
        return "gravity_spread must be 0: this world has no gravity";
    const struct env_parameter *bounds = &request->world->parameters[gravity];
    double value = request->world_parameters[gravity];
    return value - spread < bounds->min || value + spread > bounds->max
               ? "gravity_spread leaves the bounds of the world's gravity"
               : NULL;
}

static enum algorithm_status pgc_plan(const struct algorithm_request *request,
                                      struct algorithm_plan *out, const char **message)
{
    struct algorithm_plan plan = {0};
    struct local_scheme scheme;
    *message = online_request_problem(request, specs, P_COUNT);
    if (!*message)
        *message = spread_problem(request);
    if (*message)
        return ALGORITHM_BAD_INPUT;
    *message = "";
    const struct actor_critic net = net_of(request);
    plan.shape = (struct mlp_shape){.input = net.input,
                                    .layer_count = 2,
                                    .width = {net.hidden, net.actions},
                                    .activation = MLP_RELU};
    plan.parameter_count = mlp_parameter_count(&plan.shape);
    plan.total_steps =
        (uint64_t)ceil(algorithm_number(request, P_AGENTS) / algorithm_number(request, P_BUFFER));
    if (request->mechanism == MECHANISM_LOCAL_REPORTS) {
        const char *problem = pgc_scheme(request, &scheme);
        if (problem) {
            *message = problem;
            return ALGORITHM_BAD_INPUT;
        }
        uint32_t buffer = (uint32_t)algorithm_number(request, P_BUFFER);
        plan.privacy = (struct dp_sgd_plan){.sampling_rate = 1.0,
                                            .clip_norm = algorithm_number(request, P_CLIP),
                                            .batch_size = buffer,
                                            .nominal_experts = buffer,
                                            .steps = 1,
                                            .epsilon = scheme.epsilon,
                                            .epsilon_renyi = scheme.epsilon};
    }
    *out = plan;
    return ALGORITHM_OK;
}

static void pgc_describe(const struct algorithm_request *request, const struct algorithm_plan *plan,
                         const char *world, struct statement *out)
{
    (void)world;
    out->unit = "agent";
    out->neighbours = "Local: any two agents are neighbours. A report is nearly as likely from an "
                      "agent who did anything else.";
    out->accountant = "the randomiser's own bound, without delta; every agent reports once, so the "
                      "figure does not grow with their number. No lower figure is claimed";
    statement_add(out->assumptions, "The agents were simulated here, in this process: each stands "
                                    "for a person who randomises the gradient on a machine of its "
                                    "own, and no account is debited for it.");
    statement_add(out->assumptions, "An agent sends one report, and nothing else of its episode "
                                    "leaves it.");
    statement_number(out, "updates", (double)plan->total_steps);
    statement_number(out, "agents",
                     (double)plan->total_steps * algorithm_number(request, P_BUFFER));
    statement_number(out, "reports_per_agent", 1);
}

/* ---- the run */

struct shown {
    double weight, mean;
};

static void note_score(void *context, double score)
{
    struct shown *shown = context;
    shown->weight = RECENT * shown->weight + (1.0 - RECENT);
    shown->mean = RECENT * shown->mean + (1.0 - RECENT) * score;
}

/* Leaves parameters out that came later and have the value from before, so that older checkpoints
 * still fit. */
static uint64_t pgc_fingerprint(const struct algorithm_run *run)
{
    bool older = true;
    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++)
        older =
            older && algorithm_number(run->request, later[i].index) == later[i].before.number[0];
    return online_fingerprint(run, older ? P_ACTIONS : P_COUNT);
}

static enum algorithm_status pgc_learn(const struct algorithm_run *run, struct pgc *pgc,
                                       const char **message)
{
    uint64_t fingerprint = pgc_fingerprint(run);
    const struct online_memory memory = {
        .updates = &pgc->updates, .count = pgc->count, .vector = {pgc->parameters}};
    struct shown shown = {0};
    bool shows = !pgc->settings.private && run->hooks.show_return;
    if (run->checkpoint && !online_from_bytes(&memory, fingerprint, run->plan->total_steps,
                                              run->checkpoint, run->checkpoint_size)) {
        *message = "the checkpoint is damaged or of another run";
        return ALGORITHM_BAD_CHECKPOINT;
    }
    enum algorithm_status status = ALGORITHM_OK;
    while (status == ALGORITHM_OK && pgc->updates < run->plan->total_steps) {
        if (!pgc_update(pgc, shows ? note_score : NULL, &shown)) {
            *message = "the world broke";
            return ALGORITHM_BAD_INPUT;
        }
        if (pgc->updates == run->plan->total_steps)
            break;
        if (shows)
            run->hooks.show_return(run->hooks.context, shown.mean / shown.weight);
        status = online_pulse(run, fingerprint, &memory);
    }
    return status;
}

static enum algorithm_status pgc_train(const struct algorithm_run *run, struct policy **out_policy,
                                       const char **message)
{
    const struct algorithm_request *request = run->request;
    struct pgc_settings settings;
    const char *problem = pgc_settings_of(request, &settings);
    if (problem) {
        *message = problem;
        return ALGORITHM_BAD_INPUT;
    }
    *message = "";
    if (settings.private) {
        settings.noise = run->noise ? run->noise : noise_source_new("pgc_a3c");
        if (!settings.noise)
            return ALGORITHM_NO_RANDOMNESS;
    }
    struct pgc pgc;
    enum algorithm_status status = ALGORITHM_NO_MEMORY;
    if (pgc_init(&pgc, &settings))
        status = pgc_learn(run, &pgc, message);
    if (status == ALGORITHM_OK) {
        *out_policy = actor_critic_policy(&settings.net, pgc.parameters);
        (*out_policy)->output = settings.greedy ? POLICY_ARGMAX : POLICY_SOFTMAX;
        (*out_policy)->injected_noise = settings.noise && noise_source_is_injected(settings.noise);
    }
    pgc_clear(&pgc);
    if (settings.noise != run->noise)
        noise_source_free(settings.noise);
    return status;
}

const struct algorithm pgc_a3c_algorithm = {
    .name = "pgc_a3c",
    .summary = "Locally private gradient collection with simulated agents, for reproduction; an "
               "agent is protected.",
    .mechanisms = {[MECHANISM_NONE] = true, [MECHANISM_LOCAL_REPORTS] = true},
    .kind = ALGORITHM_LEARNS_BY_PLAY,
    .privacy_unit = "agent",
    .parameters = specs,
    .parameter_count = P_COUNT,
    .overrides = overrides,
    .override_count = sizeof overrides / sizeof overrides[0],
    .later = later,
    .later_count = sizeof later / sizeof later[0],
    .plan = pgc_plan,
    .describe = pgc_describe,
    .train = pgc_train,
};
