/* A search for the event that tells most about a noise (in the spirit of StatDP, Ding et al. 2018,
 * and DP-Sniper, Bichsel et al. 2021): what an attacker who sees one output can prove about its
 * epsilon, when rare events count too.
 *
 * The output is drawn many times for each of two neighbouring inputs. Events are: half lines and
 * intervals; the output is exactly one of the two inputs; and, of outputs on a grid, each low byte
 * and each number of trailing zeros, and being off the grid. Half of the draws choose an event and
 * the input for which it is to be the likelier one. The other half, which the choice has not seen,
 * count it. Bounds of the two probabilities (Chernoff's, with the divergence) bound epsilon from
 * below: by ln((p - delta) / q), or, where Gaussian DP is claimed, by what mu = quantile(p) -
 * quantile(q) costs at delta. */
#ifndef TACET_ALGOS_PRIVACY_AUDIT_EVENT_SEARCH_H
#define TACET_ALGOS_PRIVACY_AUDIT_EVENT_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "algos/privacy/noise/noise.h"

/* As many as make an event of probability 3e-5 in a step of 4096 coordinates plain; minutes for all
 * cases together. */
#define EVENT_DRAWS UINT64_C(100000000)

struct local_mechanism;

/* A noise, two neighbouring inputs, and what is claimed. */
struct event_case {
    const char *name;
    double noise;   /* what the noise is drawn with: a deviation, or a scale */
    double input;   /* one of the inputs */
    double apart;   /* the other one is that far above it */
    double grid;    /* outputs are multiples of it; 0: their low bits are nobody's claim */
    double mu;      /* claimed: Gaussian DP; 0: EPSILON and DELTA alone */
    double epsilon; /* claimed at DELTA, where MU is 0 */
    double delta;
    uint32_t work; /* an output costs as much as this many; so many fewer are drawn */
    /* Fills OUT[count] with independent outputs for INPUT, or for INPUT + APART. */
    void (*draw)(const struct event_case *self, bool with, struct noise_source *noise, double *out,
                 uint32_t count);
    const struct local_mechanism *local; /* of reports; NULL: the noise is none of these */
};

/* The claimed epsilon at DELTA. */
double event_case_epsilon(const struct event_case *asked);

struct event_finding {
    double epsilon;   /* shown */
    uint64_t counted; /* draws of each input */
    const char *kind; /* of event: "half line", "interval", "exact", "low bits" */
};

/* Searches with some 4 DRAWS / work outputs. FALSE_ALARM: the probability that a true claim is
 * exceeded. The noise is the caller's. */
struct event_finding event_search(const struct event_case *asked, uint64_t draws,
                                  double false_alarm, struct noise_source *noise);

/* The I-th case of every noise of one number, in the settings that are searched; NULL beyond the
 * last. Cases of one noise have one name and follow each other. */
const struct event_case *event_case_at(unsigned i);

#endif
