/* Settings of the compared ways.
 *
 * As printed: Ono and Takahashi 2020, section 6: eta = 0.5 and lambda = 0.5 for all; Laplace noise
 * for clipped vectors that differ by at most C = 0.01 in the 1-norm, so with the clip at 0.005, and
 * an update for each report; projected random signs of the unclipped gradient with C = 1 and 100
 * reports to an update. They add up M^T u without a decoding factor: eta is multiplied by
 * dhat tanh(epsilon / (2 dhat)) here, which undoes ours. Without noise: an update for each report.
 *
 * Agents of the tutorial: the printed network, lambda, entropy weight, discount, first exploration
 * and ten scores in a row are also those of a public A3C for CartPole (Sugulu 2017,
 * qiita.com/sugulu/items/acbc909dd9b74b043e45). It fixes what the paper's text leaves open: the
 * reward is 0 until the pole falls and then -1, returns are of five rewards, and the loss is a mean
 * over steps. An agent that does not explore takes the most probable action, as "epsilon-greedy"
 * says. The tutorial's reward of 1 at the step limit and its RMSProp are not taken over.
 *
 * The rule: with e the root of a report's mean squared error, for a gradient clipped to norm 1, and
 * B = 50 reports to an update,
 *
 *     eta = B min(0.2 / e, 3.2 / e^2):
 *
 * a report's noise moves the parameters by 0.2 at most, in all directions together, and where noise
 * drowns the gradient the step falls with its variance. 0.2 and 3.2 were found with privunit on
 * seeds 101 to 118; tables are of seeds 1 to 20. */
#include "bench/local/methods.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algos/online/pgc_a3c.h"

#define PRINTED_RATE     0.5
#define PRINTED_CLIP     0.005 /* of the 1-norm */
#define PROJECTION_CLIP  1.0
#define UNCLIPPED        1e6
#define RULE_BUFFER      50
#define PLAIN_RATE       3e-4 /* without noise, an update for each report */
#define MOVE             0.2
#define MOVE_OF_VARIANCE 3.2

const struct method methods[] = {
    {"plain_tutorial", "no noise, printed, tutorial's agents", NULL, true, 0.5, true},
    {"signs_tutorial", "PRS, printed, tutorial's agents", "projected_random_sign", true, 0.5, true},
    {"laplace_tutorial", "Laplace, printed, tutorial's agents", "laplace", true, 0.5, true},
    {"plain", "no noise, λ = 0", NULL, false, 0.0, false},
    {"privunit", "privunit, λ = 0", "privunit", false, 0.0, false},
    {"signs", "PRS, λ = 0", "projected_random_sign", false, 0.0, false},
    {"laplace", "Laplace, λ = 0", "laplace", false, 0.0, false},
    {"plain_critic", "no noise, λ = 0.5", NULL, false, 0.5, false},
    {"privunit_critic", "privunit, λ = 0.5", "privunit", false, 0.5, false},
    {"signs_printed", "PRS, printed", "projected_random_sign", true, 0.5, false},
    {"laplace_printed", "Laplace, printed", "laplace", true, 0.5, false},
};
const unsigned method_count = sizeof methods / sizeof methods[0];

const struct method *method_find(const char *name)
{
    for (unsigned i = 0; i < method_count; i++)
        if (strcmp(methods[i].name, name) == 0)
            return &methods[i];
    return NULL;
}

static bool set(struct algorithm_request *request, const char *name, double value)
{
    const struct algorithm *algorithm = &pgc_a3c_algorithm;
    int index = parameters_index(algorithm->parameters, algorithm->parameter_count, name);
    if (index < 0)
        return false;
    request->parameters.value[index] = (struct parameter_value){.number = {value}, .count = 1};
    return true;
}

static int randomiser_index(const char *name)
{
    const struct algorithm *algorithm = &pgc_a3c_algorithm;
    int at = parameters_index(algorithm->parameters, algorithm->parameter_count, "randomiser");
    const char *const *words = at < 0 ? NULL : algorithm->parameters[at].choices;
    for (int i = 0; words && words[i]; i++)
        if (strcmp(words[i], name) == 0)
            return i;
    return -1;
}

/* Projections in a report of signs: that which suits EPSILON best, at least 1. */
static double sign_count(double epsilon, double dimension)
{
    return fmax(1.0, fmin(dimension, floor(epsilon / 2.5)));
}

/* The root of the mean squared error of one report in units of its clip; of signs with clamped
 * projections the root of its mean square, which does not depend on the gradient. */
static double error_of(const struct local_scheme *scheme)
{
    const struct local_parameters *p = &scheme->parameters;
    double error = scheme->mechanism->squared_error(scheme, p->clip * p->clip);
    if (isfinite(error))
        return sqrt(error) / p->clip;
    double signs = sign_count(p->epsilon, p->dimension);
    return sqrt(p->dimension / signs) / tanh(p->epsilon / (2.0 * signs));
}

static bool set_rate(const struct method *method, struct algorithm_request *out)
{
    struct pgc_settings settings;
    const char *problem = pgc_settings_of(out, &settings);
    if (problem) {
        fprintf(stderr, "%s: %s\n", method->name, problem);
        return false;
    }
    double e = error_of(&settings.scheme), clip = settings.scheme.parameters.clip;
    bool clamped = settings.scheme.parameters.projection_clip > 0.0;
    double rate = RULE_BUFFER * fmin(MOVE / e, MOVE_OF_VARIANCE / (e * e));
    if (method->as_printed) {
        double signs = sign_count(out->epsilon, settings.scheme.parameters.dimension);
        rate = clamped ? PRINTED_RATE * signs * tanh(out->epsilon / (2.0 * signs)) : PRINTED_RATE;
        return set(out, "learning_rate", rate) && set(out, "buffer", clamped ? 100 : 1);
    }
    return set(out, "learning_rate", clamped ? rate : rate / clip) &&
           set(out, "buffer", RULE_BUFFER);
}

static bool set_tutorial(struct algorithm_request *out)
{
    int reward = env_parameter_index(out->world, "sutton_barto_reward");
    if (reward < 0)
        return false;
    out->world_parameters[reward] = 1.0;
    return set(out, "actions", 1) && set(out, "return_steps", 5) && set(out, "loss", 1);
}

bool method_request(const struct method *method, double epsilon, uint64_t seed,
                    struct algorithm_request *out)
{
    *out = (struct algorithm_request){.mechanism = method->randomiser ? MECHANISM_LOCAL_REPORTS
                                                                      : MECHANISM_NONE,
                                      .epsilon = epsilon,
                                      .seed = seed,
                                      .world = env_find("cartpole")};
    out->state_dim = out->world->state_dim;
    out->action_count = out->world->action_count;
    env_defaults(out->world, out->world_parameters);
    algorithm_defaults(&pgc_a3c_algorithm, out->world->name, &out->parameters);
    bool good = set(out, "value_weight", method->value_weight);
    if (method->tutorial)
        good = good && set_tutorial(out);
    if (!method->randomiser)
        return good && set(out, "buffer", 1) &&
               set(out, "learning_rate", method->as_printed ? PRINTED_RATE : PLAIN_RATE);
    int randomiser = randomiser_index(method->randomiser);
    bool laplace = strcmp(method->randomiser, "laplace") == 0;
    bool signs = strcmp(method->randomiser, "projected_random_sign") == 0;
    good = good && randomiser >= 0 && set(out, "randomiser", randomiser) &&
           set(out, "clip",
               laplace ? PRINTED_CLIP
               : signs ? UNCLIPPED
                       : 1.0) &&
           set(out, "projection_clip", signs ? PROJECTION_CLIP : 0.0);
    return good && set_rate(method, out);
}
