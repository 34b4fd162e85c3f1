/* HIV treatment (RLPy, Domains/HIVTreatment.py, BSD-3), written anew from its equations. Per day,
 * with drug efficacies e1, e2, I = T1* + T2* and the constants below:
 *   T1'  = L1 - D1 T1 - (1 - e1) K1 V T1
 *   T2'  = L2 - D2 T2 - (1 - F e1) K2 V T2
 *   T1*' = (1 - e1) K1 V T1 - DELTA T1* - M E T1*
 *   T2*' = (1 - F e1) K2 V T2 - DELTA T2* - M E T2*
 *   V'   = (1 - e2) NT DELTA I - C V - ((1 - e1) K1 T1 + (1 - F e1) K2 T2) V
 *   E'   = LE + BE I / (I + KB) E - DE I / (I + KD) E - DELTA_E E
 * and the reward of a step is -Q V - R1 e1^2 - R2 e2^2 + S E at its end.
 *
 * Design: V reaches millions, where T2 decays 270 times a day, and virus and infected cells fall to
 * 1e-8 and must grow again from there. So the flow is followed by Dormand and Prince's pair of
 * orders 5 and 4 (1980), whose substeps keep the error of every number small relative to that
 * number. The substep is chosen anew in each step: what follows depends on the state alone.
 *
 * The efficacy noise of Sharma et al. is one normal draw per step and active drug, the reward sees
 * the drawn efficacy, and an efficacy stays within 0 .. 1; their paper leaves all three open. */
#include "envs/hiv.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    DAYS,
    PENALTY1,
    PENALTY2,
    COST_OF_VIRUS,
    WORTH_OF_IMMUNE,
    EPS1,
    EPS2,
    NOISE,
    PARAMETER_COUNT
};

static const struct env_parameter parameter_table[PARAMETER_COUNT] = {
    [DAYS] = {"days_per_step", 20.0, 0.1, 100.0, "day", "how long an action lasts"},
    [PENALTY1] = {"penalty_drug1_R1", 20000.0, 0.0, 1e9, "", "cost of drug 1's squared efficacy"},
    [PENALTY2] = {"penalty_drug2_R2", 2000.0, 0.0, 1e9, "", "cost of drug 2's squared efficacy"},
    [COST_OF_VIRUS] = {"Q", 0.1, 0.0, 1e6, "ml", "cost of free virus"},
    [WORTH_OF_IMMUNE] = {"S", 1000.0, 0.0, 1e6, "ml", "worth of cytotoxic T cells"},
    [EPS1] = {"eps1_on", 0.7, 0.0, 1.0, "", "efficacy of drug 1 when given"},
    [EPS2] = {"eps2_on", 0.3, 0.0, 1.0, "", "efficacy of drug 2 when given"},
    [NOISE] = {"efficacy_noise_sd", 0.0, 0.0, 0.5, "",
               "deviation of a given drug's efficacy from step to step"},
};

/* Adams et al. 2004, table 1; days, ml. */
#define L1      1e4   /* new CD4 cells */
#define D1      0.01  /* death of CD4 cells */
#define K1      8e-7  /* infection of CD4 cells */
#define L2      31.98 /* new macrophages */
#define D2      0.01
#define K2      1e-4
#define F       0.34  /* share of drug 1's effect in macrophages */
#define DELTA   0.7   /* death of infected cells */
#define M       1e-5  /* killing of infected cells by the immune system */
#define NT      100.0 /* virus from one infected cell */
#define C       13.0  /* natural loss of virus */
#define LE      1.0   /* new cytotoxic T cells */
#define BE      0.3   /* their growth at infected cells, half of it at KB */
#define KB      100.0
#define DE      0.25 /* their exhaustion, half of it at KD */
#define KD      500.0
#define DELTA_E 0.1

enum { T1, T2, T1_INFECTED, T2_INFECTED, VIRUS, IMMUNE, NUMBERS };

/* Below this many per ml, none in a whole body, the error is absolute, what the error makes
 * negative is none, and an observation goes no lower. */
#define TINY             1e-18

#define LONGEST_SUBSTEP  5.0  /* day */
#define SHORTEST_SUBSTEP 1e-6 /* day: taken whatever its error, so that every step ends */

/* Three rates as the drugs leave them. */
struct rates {
    double infect1, infect2, produce;
};

static void hiv_derivative(const struct rates *rates, const double *restrict y, double *restrict dy)
{
    double infected = y[T1_INFECTED] + y[T2_INFECTED];
    double infect1 = rates->infect1 * y[T1], infect2 = rates->infect2 * y[T2];
    double loss = DELTA + M * y[IMMUNE];
    double growth = infected * (BE * (infected + KD) - DE * (infected + KB)) /
                    ((infected + KB) * (infected + KD));
    dy[T1] = L1 - D1 * y[T1] - infect1 * y[VIRUS];
    dy[T2] = L2 - D2 * y[T2] - infect2 * y[VIRUS];
    dy[T1_INFECTED] = infect1 * y[VIRUS] - loss * y[T1_INFECTED];
    dy[T2_INFECTED] = infect2 * y[VIRUS] - loss * y[T2_INFECTED];
    dy[VIRUS] = rates->produce * infected - (C + infect1 + infect2) * y[VIRUS];
    dy[IMMUNE] = LE + (growth - DELTA_E) * y[IMMUNE];
}

/* One substep H from Y, whose derivative is k[0]: fills NEXT and its derivative k[6], and returns
 * the error's largest share of what TOLERANCE allows. */
static double hiv_substep(const struct rates *rates, const double *restrict y, double h,
                          double tolerance, double (*restrict k)[NUMBERS], double *restrict next)
{
    double at[NUMBERS];
    for (int i = 0; i < NUMBERS; i++)
        at[i] = y[i] + h * (1.0 / 5 * k[0][i]);
    hiv_derivative(rates, at, k[1]);
    for (int i = 0; i < NUMBERS; i++)
        at[i] = y[i] + h * (3.0 / 40 * k[0][i] + 9.0 / 40 * k[1][i]);
    hiv_derivative(rates, at, k[2]);
    for (int i = 0; i < NUMBERS; i++)
        at[i] = y[i] + h * (44.0 / 45 * k[0][i] - 56.0 / 15 * k[1][i] + 32.0 / 9 * k[2][i]);
    hiv_derivative(rates, at, k[3]);
    for (int i = 0; i < NUMBERS; i++)
        at[i] = y[i] + h * (19372.0 / 6561 * k[0][i] - 25360.0 / 2187 * k[1][i] +
                            64448.0 / 6561 * k[2][i] - 212.0 / 729 * k[3][i]);
    hiv_derivative(rates, at, k[4]);
    for (int i = 0; i < NUMBERS; i++)
        at[i] =
            y[i] + h * (9017.0 / 3168 * k[0][i] - 355.0 / 33 * k[1][i] + 46732.0 / 5247 * k[2][i] +
                        49.0 / 176 * k[3][i] - 5103.0 / 18656 * k[4][i]);
    hiv_derivative(rates, at, k[5]);
    for (int i = 0; i < NUMBERS; i++)
        next[i] =
            y[i] + h * (35.0 / 384 * k[0][i] + 500.0 / 1113 * k[2][i] + 125.0 / 192 * k[3][i] -
                        2187.0 / 6784 * k[4][i] + 11.0 / 84 * k[5][i]);
    hiv_derivative(rates, next, k[6]);
    double share[NUMBERS], worst = 0.0, sum = 0.0;
    for (int i = 0; i < NUMBERS; i++) {
        double error =
            h * (71.0 / 57600 * k[0][i] - 71.0 / 16695 * k[2][i] + 71.0 / 1920 * k[3][i] -
                 17253.0 / 339200 * k[4][i] + 22.0 / 525 * k[5][i] - 1.0 / 40 * k[6][i]);
        double before = fabs(y[i]), after = fabs(next[i]);
        share[i] = fabs(error) / (TINY + tolerance * (before > after ? before : after));
    }
    for (int i = 0; i < NUMBERS; i++) {
        worst = share[i] > worst ? share[i] : worst;
        sum += share[i];
    }
    return isfinite(sum) ? worst : INFINITY; /* a NaN is never the worst */
}

/* The longest first substep that moves no number by more than a hundredth of itself. */
static double first_substep(const double *y, const double *dy)
{
    double h = LONGEST_SUBSTEP;
    for (int i = 0; i < NUMBERS; i++)
        if (fabs(dy[i]) * h > 0.01 * fabs(y[i]) && y[i] != 0.0)
            h = 0.01 * fabs(y[i] / dy[i]);
    return fmax(h, SHORTEST_SUBSTEP);
}

/* The length of the next substep, after one of length TAKEN whose error was ERROR times the
 * tolerance. The error grows with the fifth power of the length. HELD (the last substep was too
 * long): no growth. */
static double next_substep(double taken, double error, bool held)
{
    double factor =
        0.9 * (double)powf((float)fmax(error, 1e-10), -0.2F); /* a guess: float will do */
    factor = fmin(fmax(factor, 0.2), held ? 1.0 : 5.0);
    return fmin(fmax(taken * factor, SHORTEST_SUBSTEP), LONGEST_SUBSTEP);
}

void hiv_flow(struct hiv_state *state, double eps1, double eps2, double days, double tolerance)
{
    assert(days > 0.0 && tolerance > 0.0);
    const struct rates rates = {(1.0 - eps1) * K1, (1.0 - F * eps1) * K2,
                                (1.0 - eps2) * NT * DELTA};
    double y[NUMBERS] = {state->t1,          state->t2,    state->t1_infected,
                         state->t2_infected, state->virus, state->immune};
    double k[7][NUMBERS] = {0}, next[NUMBERS];
    hiv_derivative(&rates, y, k[0]);
    double h = first_substep(y, k[0]);
    bool rejected = false;
    for (double left = days; left > 0.0;) {
        /* The rest of the step is split into two equal substeps, so that no sliver is left. */
        double taken = h;
        if (h >= left)
            taken = left;
        else if (2.0 * h > left)
            taken = 0.5 * left;
        double error = hiv_substep(&rates, y, taken, tolerance, k, next);
        if (error > 1.0 && taken > SHORTEST_SUBSTEP) {
            h = next_substep(taken, error, true);
            rejected = true;
            continue;
        }
        left -= taken;
        memcpy(y, next, sizeof y);
        memcpy(k[0], k[6], sizeof k[0]);
        h = next_substep(taken, error, rejected);
        rejected = false;
    }
    *state = (struct hiv_state){fmax(y[T1], 0.0),          fmax(y[T2], 0.0),
                                fmax(y[T1_INFECTED], 0.0), fmax(y[T2_INFECTED], 0.0),
                                fmax(y[VIRUS], 0.0),       fmax(y[IMMUNE], 0.0)};
}

static void hiv_observe(const struct hiv_state *s, double *observation)
{
    const double numbers[NUMBERS] = {s->t1,          s->t2,    s->t1_infected,
                                     s->t2_infected, s->virus, s->immune};
    for (int i = 0; i < NUMBERS; i++)
        observation[i] = log10(fmax(numbers[i], TINY));
}

static bool hiv_reset(void *memory, const double *parameters, struct rng *rng, double *observation)
{
    (void)parameters;
    (void)rng; /* every patient starts alike */
    struct hiv_state *state = memory;
    *state = (struct hiv_state){163573.0, 5.0, 11945.0, 46.0, 63919.0, 24.0};
    hiv_observe(state, observation);
    return true;
}

/* The efficacy of a drug in one step. */
static double hiv_efficacy(bool given, double usual, double noise, struct rng *rng)
{
    if (!given)
        return 0.0;
    if (noise > 0.0)
        usual += noise * rng_normal(rng);
    return fmin(fmax(usual, 0.0), 1.0);
}

static struct env_outcome hiv_step(void *memory, const double *parameters, unsigned action,
                                   struct rng *rng, double *observation)
{
    assert(action < 4);
    struct hiv_state *s = memory;
    double eps1 = hiv_efficacy(action & 1, parameters[EPS1], parameters[NOISE], rng);
    double eps2 = hiv_efficacy(action & 2, parameters[EPS2], parameters[NOISE], rng);
    hiv_flow(s, eps1, eps2, parameters[DAYS], HIV_TOLERANCE);
    hiv_observe(s, observation);
    double reward = -parameters[COST_OF_VIRUS] * s->virus - parameters[PENALTY1] * (eps1 * eps1) -
                    parameters[PENALTY2] * (eps2 * eps2) + parameters[WORTH_OF_IMMUNE] * s->immune;
    return (struct env_outcome){.reward = reward};
}

const struct env hiv_env = {
    .name = "hiv",
    .state_dim = NUMBERS,
    .action_count = 4,
    .max_episode_steps = 50,
    .random_return = 1.506e6,
    .step_work = 1e5,
    .parameters = parameter_table,
    .parameter_count = PARAMETER_COUNT,
    .state_size = sizeof(struct hiv_state),
    .reset = hiv_reset,
    .step = hiv_step,
};
