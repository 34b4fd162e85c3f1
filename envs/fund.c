/* One week. With the position w (0, 0.5 or 1), its last value w', and normal draws n, m, k:
 *   return      r = drift + volatility n, in per cent
 *   the fund's  g = w r - COST |w - w'|
 *   momentum   += 0.3 (r - momentum)
 *   drift      := PERSISTENCE drift + (1 - PERSISTENCE) 0.05 + SWING sqrt(1 - PERSISTENCE^2) m
 *   volatility *= exp(0.1 ln(2 / volatility) + 0.15 k)
 *   drawdown   := max(0, 100 - (100 - drawdown) (1 + g / 100))
 * The reward is g - AVERSION (w volatility)^2: the gain of the week less the price of its risk. A
 * fund whose drawdown reaches 25 is closed, at -15. So momentum tells the drift, but poorly; risk
 * is worth taking where drift is large beside the volatility, and changes of mind cost. */
#include "envs/fund.h"

#include <assert.h>
#include <math.h>

enum { COST, PERSISTENCE, SWING, AVERSION, PARAMETER_COUNT };

static const struct env_parameter parameter_table[PARAMETER_COUNT] = {
    [COST] = {"trading_cost", 0.1, 0.0, 5.0, "%", "price of moving all money once"},
    [PERSISTENCE] = {"persistence", 0.95, 0.0, 0.999, "", "how slowly the drift changes"},
    [SWING] = {"swing", 1.0, 0.0, 5.0, "%", "deviation of the drift"},
    [AVERSION] = {"risk_aversion", 0.05, 0.0, 1.0, "1/%", "price of squared risk"},
};

#define CLOSING_DRAWDOWN 25.0
#define CLOSING_COST     15.0
#define USUAL_DRIFT      0.05
#define USUAL_VOLATILITY 2.0

static void fund_observe(const struct fund_state *s, double *observation)
{
    observation[0] = s->momentum;
    observation[1] = log10(s->volatility);
    observation[2] = s->drawdown;
    observation[3] = s->position == 0.0 ? 1.0 : 0.0;
    observation[4] = s->position == 0.5 ? 1.0 : 0.0;
    observation[5] = s->position == 1.0 ? 1.0 : 0.0;
}

static double fund_within(double x, double low, double high)
{
    return fmin(fmax(x, low), high);
}

static bool fund_reset(void *memory, const double *parameters, struct rng *rng, double *observation)
{
    struct fund_state *s = memory;
    s->drift = USUAL_DRIFT + parameters[SWING] * rng_normal(rng);
    s->volatility = fund_within(USUAL_VOLATILITY * exp(0.35 * rng_normal(rng)), 0.5, 10.0);
    s->momentum = fund_within(s->drift + 0.4 * s->volatility * rng_normal(rng), -10.0, 10.0);
    s->drawdown = 0.0;
    s->position = 0.0;
    fund_observe(s, observation);
    return true;
}

static struct env_outcome fund_step(void *memory, const double *parameters, unsigned action,
                                    struct rng *rng, double *observation)
{
    assert(action < 3);
    struct fund_state *s = memory;
    double position = 0.5 * action, risk = position * s->volatility;
    double market = s->drift + s->volatility * rng_normal(rng);
    double gain = position * market - parameters[COST] * fabs(position - s->position);
    double kept = parameters[PERSISTENCE];
    s->momentum = fund_within(s->momentum + 0.3 * (market - s->momentum), -10.0, 10.0);
    s->drift = kept * s->drift + (1.0 - kept) * USUAL_DRIFT +
               parameters[SWING] * sqrt(1.0 - kept * kept) * rng_normal(rng);
    double drawn = 0.1 * log(USUAL_VOLATILITY / s->volatility) + 0.15 * rng_normal(rng);
    s->volatility = fund_within(s->volatility * exp(drawn), 0.5, 10.0);
    double worth = (100.0 - s->drawdown) * (1.0 + gain / 100.0);
    s->drawdown = fund_within(100.0 - worth, 0.0, 100.0);
    s->position = position;
    fund_observe(s, observation);
    bool closed = s->drawdown >= CLOSING_DRAWDOWN;
    return (struct env_outcome){.reward = gain - parameters[AVERSION] * risk * risk -
                                          (closed ? CLOSING_COST : 0.0),
                                .terminated = closed};
}

const struct env fund_env = {
    .name = "fund",
    .state_dim = 6,
    .action_count = 3,
    .max_episode_steps = 52,
    .random_return = -7.34,
    .parameters = parameter_table,
    .parameter_count = PARAMETER_COUNT,
    .state_size = sizeof(struct fund_state),
    .reset = fund_reset,
    .step = fund_step,
};
