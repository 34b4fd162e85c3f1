/* Who judges, what each of them adds, and what the noisy sums say. */
#include "algos/offline/judge/held_out.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "algos/offline/shards.h"
#include "algos/privacy/noise/noise_lattice.h"

#define COIN_SEED  UINT64_C(20261124) /* of the public coin; the same in all jobs */
#define COIN_SIDES UINT32_C(1000000)
#define NORMAL_95  1.6448536

/* Experts between two pulses. */
#define ASK_BETWEEN 16

bool held_out_judges(uint64_t key, double share)
{
    return shards_place(key, COIN_SEED, COIN_SIDES) < (uint32_t)(share * COIN_SIDES);
}

/* ---- the split */

struct split {
    const struct dataset *data;
    struct dataset_builder *builder;
    double share;
    bool judges;
};

static bool split_add(void *context, const struct trajectory *trajectory)
{
    const struct split *split = context;
    uint64_t key = split->data->expert_keys[trajectory->expert];
    return held_out_judges(key, split->share) != split->judges ||
           dataset_builder_add(split->builder, trajectory);
}

struct dataset *held_out_part(const struct dataset *data, double share, bool judges)
{
    struct split split = {
        .data = data, .builder = dataset_builder_beside(data), .share = share, .judges = judges};
    (void)dataset_each_trajectory(data, split_add, &split);
    return dataset_builder_finish(split.builder);
}

/* ---- the sums */

struct summing {
    const struct dataset *part;
    const struct policy *policy;
    const struct judge_terms *terms;
    const struct judge_pulse *pulse;
    double discount;
    int64_t *sums;
    uint32_t expert, experts_done;
    double trajectories, value, agreement, product; /* of the present expert: sums */
};

/* X in [-1, 1] in steps of the lattice; 0 for what is no number. */
static int64_t held_out_steps(double x)
{
    return isfinite(x) ? llround(fmin(fmax(x, -1.0), 1.0) * HELD_OUT_UNITS) : 0;
}

/* Adds the expert whose trajectories were seen. */
static void summing_close(struct summing *s)
{
    if (s->trajectories > 0.0) {
        s->sums[HELD_OUT_COUNT] += HELD_OUT_UNITS;
        s->sums[HELD_OUT_VALUE] += held_out_steps(s->value / s->trajectories);
        s->sums[HELD_OUT_AGREEMENT] += held_out_steps(s->agreement / s->trajectories);
        s->sums[HELD_OUT_PRODUCT] += held_out_steps(s->product / s->trajectories);
    }
    s->trajectories = s->value = s->agreement = s->product = 0.0;
}

/* The policy's probability of ACTION at STATE; 0 where it has none. */
static double policy_agrees(const struct policy *policy, const float *state, uint16_t action)
{
    double p[MLP_MAX_WIDTH];
    float values[MLP_MAX_WIDTH];
    if (policy->output != POLICY_SOFTMAX)
        return policy_decide(policy, state, values) == (int)action ? 1.0 : 0.0;
    return policy_probabilities(policy, state, 1.0, p) ? p[action] : 0.0;
}

static bool summing_add(void *context, const struct trajectory *trajectory)
{
    struct summing *s = context;
    if (trajectory->expert != s->expert) {
        summing_close(s);
        s->expert = trajectory->expert;
        if (++s->experts_done % ASK_BETWEEN == 0 && !judge_goes_on(s->pulse))
            return false;
    }
    const double middle = (s->terms->low + s->terms->high) / 2, half = s->terms->high - middle;
    double value = 0.0, agreement = 0.0;
    for (uint32_t t = trajectory->length; t-- > 0;) {
        const float *state = trajectory->states + (size_t)t * s->part->state_dim;
        value = (double)trajectory->rewards[t] + s->discount * value;
        agreement += policy_agrees(s->policy, state, trajectory->actions[t]) / trajectory->length;
    }
    double x = fmin(fmax((value - middle) / half, -1.0), 1.0);
    x = isfinite(value) ? x : 0.0;
    s->trajectories += 1.0;
    s->value += x;
    s->agreement += agreement;
    s->product += agreement * x;
    return true;
}

bool held_out_sum(const struct dataset *part, const struct policy *policy,
                  const struct judge_terms *terms, double discount, const struct judge_pulse *pulse,
                  int64_t sums[HELD_OUT_SUMS])
{
    struct summing s = {.part = part,
                        .policy = policy,
                        .terms = terms,
                        .pulse = pulse,
                        .discount = discount,
                        .sums = sums};
    memset(sums, 0, HELD_OUT_SUMS * sizeof *sums);
    if (!dataset_each_trajectory(part, summing_add, &s))
        return false;
    summing_close(&s);
    return true;
}

/* ---- the noise */

uint64_t held_out_scale(double noise_multiplier)
{
    assert(noise_multiplier > 0.0 && noise_multiplier <= HELD_OUT_MAX_NOISE);
    return (uint64_t)ceil(ldexp(noise_multiplier * HELD_OUT_NORM, NOISE_LATTICE_FRACTION));
}

void held_out_noise(struct noise_source *noise, double noise_multiplier,
                    int64_t sums[HELD_OUT_SUMS])
{
    uint64_t scale = held_out_scale(noise_multiplier);
    for (int i = 0; i < HELD_OUT_SUMS; i++)
        sums[i] += noise_lattice_gaussian(noise, scale);
}

/* ---- what they say */

/* VALUE and NORMAL_95 deviations to each side, within [LOW, HIGH] and moved to MIDDLE + HALF x. */
static struct judge_interval held_out_interval(double value, double variance, double low,
                                               double high, double middle, double half)
{
    double reach = NORMAL_95 * sqrt(variance);
    struct judge_interval out = {.value = value, .low = value - reach, .high = value + reach};
    out.value = middle + half * fmin(fmax(out.value, low), high);
    out.low = middle + half * fmin(fmax(out.low, low), high);
    out.high = middle + half * fmin(fmax(out.high, low), high);
    return out;
}

static void held_out_decide(struct held_out_figures *f)
{
    f->verdict = VERDICT_NOT_SUPPORTED;
    if (!(f->experts.low >= VERDICT_UNITS))
        f->reason[f->reason_count++] = "Behind the noise there may be fewer than ten held-out "
                                       "experts.";
    else if (!(f->agreement.high >= 0.5))
        f->reason[f->reason_count++] = "The policy does what held-out experts do in less than half "
                                       "of the steps.";
    else if (!(f->agreeing.high >= f->behaviour.low))
        f->reason[f->reason_count++] = "Held-out experts who act like the policy earn less than "
                                       "the others.";
    else
        f->verdict = VERDICT_WEAK;
    f->reason[f->reason_count++] = "Held-out experts tell how far the policy does what they do and "
                                   "what those who act like it earn; that is no estimate of its "
                                   "value.";
}

struct held_out_figures held_out_conclude(const int64_t sums[HELD_OUT_SUMS],
                                          const struct judge_terms *terms, double noise_multiplier)
{
    const double middle = (terms->low + terms->high) / 2, half = terms->high - middle;
    const double noise = 4.0 * noise_multiplier * noise_multiplier; /* variance of a sum */
    const double n = (double)sums[HELD_OUT_COUNT] / HELD_OUT_UNITS;
    const double agreed = (double)sums[HELD_OUT_AGREEMENT] / HELD_OUT_UNITS;
    const struct judge_interval nothing = {NAN, NAN, NAN};
    struct held_out_figures f = {.behaviour = nothing, .agreement = nothing, .agreeing = nothing};
    f.experts = held_out_interval(n, noise, -INFINITY, INFINITY, 0.0, 1.0);
    if (n > 0.0) {
        double x = (double)sums[HELD_OUT_VALUE] / HELD_OUT_UNITS / n, a = agreed / n;
        double of_x = fmax(0.0, 1.0 - x * x), of_a = fmax(0.0, a * (1.0 - a));
        f.behaviour = held_out_interval(x, (noise * (1.0 + x * x) + n * of_x) / (n * n), -1.0, 1.0,
                                        middle, half);
        f.agreement =
            held_out_interval(a, (noise * (1.0 + a * a) + n * of_a) / (n * n), 0.0, 1.0, 0.0, 1.0);
    }
    if (n > 0.0 && agreed > 0.0) {
        double r = (double)sums[HELD_OUT_PRODUCT] / HELD_OUT_UNITS / agreed;
        double of_r = fmax(0.0, 1.0 - r * r) * agreed;
        f.agreeing = held_out_interval(r, (noise * (1.0 + r * r) + of_r) / (agreed * agreed), -1.0,
                                       1.0, middle, half);
    }
    held_out_decide(&f);
    return f;
}
