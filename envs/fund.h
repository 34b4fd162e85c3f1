/* A fund that holds cash, half of its money or all of it in one market, in one week per step. It is
 * made up, for examples and for judging how well a policy learned from logged data. See fund.c for
 * the equations. */
#ifndef TACET_ENVS_FUND_H
#define TACET_ENVS_FUND_H

#include "envs/env.h"

/* What the caller's STATE bytes hold. The observation is the momentum, the decimal logarithm of the
 * volatility, the drawdown, and three numbers for the position: (1, 0, 0) in cash, (0, 1, 0) half,
 * (0, 0, 1) all. The drift is not observed. */
struct fund_state {
    double drift;      /* expected return of the market, per cent a week */
    double momentum;   /* mean of the market's recent weekly returns, per cent, -10 .. 10 */
    double volatility; /* deviation of the market's weekly return, per cent, 0.5 .. 10 */
    double drawdown;   /* what the fund has lost since its highest value, per cent, 0 .. 100 */
    double position;   /* share of the money in the market: 0, 0.5 or 1 */
};

/* Three actions: 0 hold cash, 1 half, 2 all. A drawdown of 25 per cent closes the fund and
 * terminates. */
extern const struct env fund_env;

#endif
