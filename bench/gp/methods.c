/* Learning on line with one of several noises. */
#include "bench/gp/methods.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/offline/membership_audit.h"
#include "algos/privacy/laws/gaussian_dp.h"
#include "algos/privacy/noise/noise.h"
#include "bench/gp/functional_noise.h"

#define EPISODES 100
#define BATCH    10
#define RATE     0.2
#define DISCOUNT 0.5
#define BETA     4.0
#define PLAYED   40

enum { UPDATES = EPISODES * LINE_STEPS / BATCH };

static const struct mlp_shape shape = {
    .input = 1, .layer_count = 3, .width = {16, 16, 2}, .activation = MLP_RELU};

/* He's start, the last layer small. */
static void start(float *parameters, struct rng *rng)
{
    for (uint32_t l = 0; l < shape.layer_count; l++) {
        uint32_t in = mlp_layer_input(&shape, l), out = shape.width[l];
        double scale = sqrt(2.0 / in) * (l + 1 == shape.layer_count ? 0.1 : 1.0);
        for (uint32_t i = 0; i < in * out; i++)
            parameters[mlp_weight_offset(&shape, l) + i] = (float)(scale * rng_normal(rng));
        for (uint32_t i = 0; i < out; i++)
            parameters[mlp_bias_offset(&shape, l) + i] = 0.1F;
    }
}

static uint32_t network_action(const void *parameters, double state)
{
    float scratch[64], q[2], input = (float)state;
    mlp_forward_one(&shape, parameters, &input, q, scratch);
    return q[1] > q[0];
}

static double level_of(const float *parameters)
{
    float scratch[64], q[2];
    double sum = 0.0;
    for (int i = 0; i <= 10; i++) {
        float input = (float)(i / 10.0);
        mlp_forward_one(&shape, parameters, &input, q, scratch);
        sum += (double)q[0] + (double)q[1];
    }
    return sum / 22.0;
}

struct play {
    const struct method_run *run;
    struct functional_noise *learner;
    struct noise_source *noise;
    struct rng rng;
    struct functional_noise_step steps[BATCH];
    uint32_t held;
};

/* One episode; gives its return, NaN: no memory. */
static double episode(struct play *p, double exploration)
{
    double state = rng_uniform(&p->rng), sum = 0.0;
    for (int t = 0; t < LINE_STEPS; t++) {
        struct functional_noise_step *step = &p->steps[p->held++];
        double q[2];
        if (!functional_noise_values(p->learner, state, q))
            return NAN;
        *step = (struct functional_noise_step){.state = state, .action = q[1] > q[0]};
        if (rng_uniform(&p->rng) < exploration)
            step->action = rng_below(&p->rng, 2);
        double reward = line_step(&state, step->action, &p->rng);
        sum += reward;
        step->next = state;
        step->reward = reward + p->run->reward_shift;
        if (p->run->method == METHOD_INPUT)
            step->reward += p->run->sigma * noise_normal(p->noise);
        if (p->held == BATCH) {
            p->held = 0;
            if (!functional_noise_update(p->learner, p->steps))
                return NAN;
        }
    }
    return sum;
}

static struct functional_noise_settings settings_of(const struct method_run *run)
{
    struct functional_noise_settings s = {.shape = shape,
                                          .rate = RATE,
                                          .batch = BATCH,
                                          .updates_per_path = run->per_path ? run->per_path : 1,
                                          .discount = DISCOUNT,
                                          .beta = BETA};
    if (run->method == METHOD_PRINTED)
        s.sigma = run->sigma;
    if (run->method == METHOD_DPSGD) {
        s.clip_norm = 1.0;
        s.gradient_sigma = run->sigma;
    }
    return s;
}

bool method_run_one(const struct method_run *run, struct method_result *out)
{
    struct play p = {.run = run};
    float parameters[512];
    const struct functional_noise_settings settings = settings_of(run);
    bool good = false;
    rng_seed(&p.rng, run->seed, (uint64_t)run->method);
    start(parameters, &p.rng);
    p.noise = noise_source_new("reproduction");
    if (p.noise)
        p.learner = functional_noise_new(&settings, parameters, p.noise);
    memset(out, 0, sizeof *out);
    good = p.learner != NULL;
    for (int e = 0; good && e < EPISODES; e++) {
        double one = episode(&p, fmax(0.05, 0.9 * exp(-e / 10.0)));
        out->curve[e * METHODS_BLOCKS / EPISODES] += one * METHODS_BLOCKS / EPISODES;
        good = !isnan(one);
    }
    if (good) {
        const float *result = functional_noise_parameters(p.learner);
        out->final = run->unplayed ? NAN : line_return(PLAYED, network_action, result, &p.rng);
        out->level = level_of(result);
    }
    functional_noise_free(p.learner);
    noise_source_free(p.noise);
    return good;
}

/* ---- claims and truth */

double method_claimed_sigma(enum method method, double epsilon)
{
    if (method != METHOD_PRINTED)
        return gaussian_dp_sigma(method == METHOD_DPSGD ? 2.0 : 1.0, epsilon, METHODS_DELTA);
    bool holds = false;
    double sigma = 0.0;
    for (double k = 1.0; !holds && k < 1e9; k *= 1.01)
        sigma = functional_noise_claimed_sigma(epsilon, METHODS_DELTA, RATE, BATCH, UPDATES, 1.0, k,
                                               &holds);
    return holds ? sigma : NAN;
}

/* How far the mean of all that METHOD releases moves where rewards move by 1, in units of sigma. */
static double whole_sensitivity(enum method method)
{
    double steps = (double)EPISODES * LINE_STEPS;
    return method == METHOD_INPUT ? sqrt(steps) : 2.0 * sqrt(steps * BATCH);
}

double method_true_epsilon(enum method method, double sigma)
{
    if (method != METHOD_INPUT && method != METHOD_DPSGD)
        return INFINITY;
    return gaussian_dp_epsilon(whole_sensitivity(method) / sigma, METHODS_DELTA);
}

double method_true_sigma(enum method method, double epsilon)
{
    return gaussian_dp_sigma(whole_sensitivity(method), epsilon, METHODS_DELTA);
}

double method_constant_epsilon(double sigma, uint32_t per_path)
{
    double paths = ceil((double)UPDATES / per_path);
    double norm = 1.0 / (1.0 - DISCOUNT) * sqrt(2.0 * (1.0 + BETA / 2.0));
    return gaussian_dp_epsilon(sqrt(paths) * norm / sigma, METHODS_DELTA);
}

double method_single_state_epsilon(double sigma, uint32_t per_path)
{
    double keep = 1.0 - RATE * (1.0 - DISCOUNT), moved = 0.0, block = 0.0, squares = 0.0;
    for (int j = 0; j < UPDATES; j++) {
        double weight = RATE * pow(keep, UPDATES - 1 - j);
        moved += weight;
        block += weight;
        if ((j + 1) % (int)per_path == 0 || j + 1 == UPDATES) {
            squares += block * block;
            block = 0.0;
        }
    }
    return gaussian_dp_epsilon(moved / ((1.0 - DISCOUNT) * sigma * sqrt(squares)), METHODS_DELTA);
}

double method_audit(const struct method_run *of, uint32_t runs)
{
    double *score[2] = {calloc(runs, sizeof(double)), calloc(runs, sizeof(double))};
    bool good = score[0] != NULL && score[1] != NULL;
    for (uint32_t i = 0; good && i < runs; i++)
        for (int world = 0; good && world < 2; world++) {
            struct method_result result;
            struct method_run run = *of;
            run.reward_shift = world;
            run.seed += 2 * (uint64_t)i + (uint64_t)world;
            run.unplayed = true;
            good = method_run_one(&run, &result);
            score[world][i] = isfinite(result.level) ? result.level : 0.0;
        }
    double found =
        good ? membership_lower_bound(score[1], score[0], runs, METHODS_DELTA, 0.05).epsilon : NAN;
    free(score[0]);
    free(score[1]);
    return found;
}
