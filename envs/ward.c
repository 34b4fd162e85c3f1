/* One hour of a stay. With fluids f and vasopressor p (0 or 1), infection I, diabetes d and
 * independent normal draws n:
 *   pressure  += 0.3 (92 - 50 I - pressure) + FLUID f + VASOPRESSOR p + 2.5 n
 *   oxygen    += 0.3 (97 - 5 I - oxygen) - (OVERLOAD + 0.5 d) f + 0.5 n
 *   lactate   *= exp(0.15 ln((1 + 2 I + shock) / lactate) + 0.08 n),
 *                 shock = 0.3 max(0, 65 - pressure) + 2.5 p
 *   heart rate += 0.4 (72 + 40 I + max(0, 65 - pressure) + 6 p - heart rate) + 3 n
 *   I         += -RECOVERY (1 - 0.4 d) I where the lactate is below 4, else + 0.01
 * each kept within its range. The patient dies within the hour with the probability
 *   1 - exp(-0.001 - 0.05 (max(0, lactate - 4) / 4)^2 - 0.005 max(0, 55 - pressure)
 *           - 0.03 max(0, 90 - oxygen))
 * and is discharged when the hour passed without treatment, I is below 0.2, the pressure at least
 * 65 and the lactate below 2.
 *
 * The reward is 15 for a discharge, -15 for a death, and -0.1 for fluids and -0.2 for the
 * vasopressor in every hour. So the pressure must be held, fluids fill the lungs, the vasopressor
 * raises the lactate, and treatment must end in time. */
#include "envs/ward.h"

#include <assert.h>
#include <math.h>

enum { RECOVERY, FLUID, VASOPRESSOR, OVERLOAD, PARAMETER_COUNT };

static const struct env_parameter parameter_table[PARAMETER_COUNT] = {
    [RECOVERY] = {"recovery", 0.06, 0.01, 0.3, "1/h", "share of the infection that an hour heals"},
    [FLUID] = {"fluid_effect", 6.0, 0.0, 20.0, "mmHg", "what fluids add to the pressure"},
    [VASOPRESSOR] = {"vasopressor_effect", 8.0, 0.0, 20.0, "mmHg",
                     "what the vasopressor adds to the pressure"},
    [OVERLOAD] = {"overload", 2.2, 0.0, 5.0, "%", "oxygen saturation that fluids cost"},
};

#define DISCHARGE        15.0
#define DEATH            (-15.0)
#define FLUID_COST       0.1
#define VASOPRESSOR_COST 0.2

static double ward_within(double x, double low, double high)
{
    return fmin(fmax(x, low), high);
}

static void ward_observe(const struct ward_state *s, double *observation)
{
    observation[0] = s->heart_rate;
    observation[1] = s->pressure;
    observation[2] = log10(s->lactate);
    observation[3] = s->oxygen;
    observation[4] = 1.0 - s->diabetes;
    observation[5] = s->diabetes;
}

static bool ward_reset(void *memory, const double *parameters, struct rng *rng, double *observation)
{
    (void)parameters;
    struct ward_state *s = memory;
    s->infection = rng_between(rng, 0.5, 1.0);
    s->diabetes = rng_uniform(rng) < 0.25 ? 1.0 : 0.0;
    s->pressure = ward_within(92.0 - 50.0 * s->infection + 5.0 * rng_normal(rng), 30.0, 140.0);
    s->oxygen = ward_within(97.0 - 5.0 * s->infection + rng_normal(rng), 60.0, 100.0);
    s->lactate = ward_within(exp(log(1.0 + 3.0 * s->infection) + 0.3 * rng_normal(rng)), 0.3, 20.0);
    s->heart_rate = ward_within(75.0 + 45.0 * s->infection + 8.0 * rng_normal(rng), 30.0, 220.0);
    ward_observe(s, observation);
    return true;
}

/* The probability that a patient in this state dies within the hour. */
static double ward_risk(const struct ward_state *s)
{
    double acid = fmax(0.0, s->lactate - 4.0) / 4.0;
    double hazard = 0.001 + 0.05 * acid * acid + 0.005 * fmax(0.0, 55.0 - s->pressure) +
                    0.03 * fmax(0.0, 90.0 - s->oxygen);
    return 1.0 - exp(-hazard);
}

/* Moves the body by one hour. */
static void ward_live(struct ward_state *s, const double *parameters, double fluids, double pressor,
                      struct rng *rng)
{
    double pressure = s->pressure + 0.3 * (92.0 - 50.0 * s->infection - s->pressure) +
                      parameters[FLUID] * fluids + parameters[VASOPRESSOR] * pressor +
                      2.5 * rng_normal(rng);
    s->pressure = ward_within(pressure, 30.0, 140.0);
    double oxygen = s->oxygen + 0.3 * (97.0 - 5.0 * s->infection - s->oxygen) -
                    (parameters[OVERLOAD] + 0.5 * s->diabetes) * fluids + 0.5 * rng_normal(rng);
    s->oxygen = ward_within(oxygen, 60.0, 100.0);
    double low = fmax(0.0, 65.0 - s->pressure);
    double drawn = log((1.0 + 2.0 * s->infection + 0.3 * low + 2.5 * pressor) / s->lactate);
    s->lactate = ward_within(s->lactate * exp(0.15 * drawn + 0.08 * rng_normal(rng)), 0.3, 20.0);
    double rate = s->heart_rate +
                  0.4 * (72.0 + 40.0 * s->infection + low + 6.0 * pressor - s->heart_rate) +
                  3.0 * rng_normal(rng);
    s->heart_rate = ward_within(rate, 30.0, 220.0);
    double healed = parameters[RECOVERY] * (1.0 - 0.4 * s->diabetes) * s->infection;
    s->infection = ward_within(s->infection + (s->lactate < 4.0 ? -healed : 0.01), 0.0, 1.0);
}

static struct env_outcome ward_step(void *memory, const double *parameters, unsigned action,
                                    struct rng *rng, double *observation)
{
    assert(action < 4);
    struct ward_state *s = memory;
    double fluids = action & 1 ? 1.0 : 0.0, pressor = action & 2 ? 1.0 : 0.0;
    ward_live(s, parameters, fluids, pressor, rng);
    ward_observe(s, observation);
    struct env_outcome outcome = {.reward = -FLUID_COST * fluids - VASOPRESSOR_COST * pressor};
    if (rng_uniform(rng) < ward_risk(s)) {
        outcome.reward += DEATH;
        outcome.terminated = true;
    } else if (action == 0 && s->infection < 0.2 && s->pressure >= 65.0 && s->lactate < 2.0) {
        outcome.reward += DISCHARGE;
        outcome.terminated = true;
    }
    return outcome;
}

const struct env ward_env = {
    .name = "ward",
    .state_dim = 6,
    .action_count = 4,
    .max_episode_steps = 48,
    .random_return = -4.29,
    .parameters = parameter_table,
    .parameter_count = PARAMETER_COUNT,
    .state_size = sizeof(struct ward_state),
    .reset = ward_reset,
    .step = ward_step,
};
