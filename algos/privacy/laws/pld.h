/* Privacy-loss distributions on a grid, bounding a mechanism from above and from below.
 *
 * A mechanism with neighbouring output laws P and Q is described by OUTCOMES: for a set of outputs
 * its probability under P ("mass") and its loss ln(P/Q). Any mechanism that can list its outcomes
 * in increasing order of loss (a Gaussian in panels, a two-point answer in two lines) becomes a
 * distribution here; pld_compose.h composes them.
 * Sources: Koskela, Jalko, Honkela 2020; Doroshenko et al. 2022 ("Connect the dots"). */
#ifndef TACET_ALGOS_PRIVACY_LAWS_PLD_H
#define TACET_ALGOS_PRIVACY_LAWS_PLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why a distribution could not be made. The plan, which may come from a request, decides how many
 * outcomes and cells there are, so memory for them may be missing. Functions that can fail only for
 * this reason return false. */
enum pld_status {
    PLD_OK,
    PLD_TOO_LARGE, /* more cells or frequencies than the limits allow */
    PLD_NO_MEMORY,
    PLD_TOO_MUCH_WORK, /* more steps than its effort allows */
};

struct pld_outcome {
    double loss; /* ln(P/Q) of this set of outputs */
    double mass; /* P of it, > 0 */
    bool atom;   /* every output of the set has this very loss */
};

/* Outcomes in increasing order of loss. The outputs left out on either side keep their P-mass here.
 */
struct pld_outcomes {
    struct pld_outcome *outcome; /* owned */
    size_t count, capacity;
    double low_mass;      /* outputs whose loss is at most outcome[0].loss */
    double high_mass;     /* outputs whose loss is at least the last one's, perhaps infinite */
    double infinite_mass; /* outputs that Q never gives */
};

/* Frees them; then there are none. */
void pld_outcomes_clear(struct pld_outcomes *outcomes);
/* Appends; order is the caller's business. */
bool pld_outcomes_add(struct pld_outcomes *outcomes, double loss, double mass);

/* Appends an atom. */
bool pld_outcomes_add_atom(struct pld_outcomes *outcomes, double loss, double mass);

/* First becomes last: for a mechanism listed by decreasing loss. */
void pld_outcomes_reverse(struct pld_outcomes *outcomes);

/* Cells of the loss axis: cell i is [place[i], place[i + 1]] * step. Cells are one step wide where
 * the mass is, and wider where next to none is, so that their number does not grow with the range.
 */
struct pld_grid {
    double step;
    int64_t *place; /* strictly increasing; owned */
    size_t count;   /* of places, >= 2 */
};

/* The grid of STEP over the losses of OUTCOMES, a partition without cells, for use with that tilt
 * (> 0). PLD_TOO_LARGE when there would be more than PLD_MAX_CELLS cells. */
enum pld_status pld_grid_new(const struct pld_outcomes *outcomes, double tilt, double step,
                             struct pld_grid *out);

/* Frees the places; then there are none. */
void pld_grid_clear(struct pld_grid *grid);

#define PLD_MAX_CELLS ((size_t)1 << 23)

/* A mechanism gives its outcomes, each a set of outputs whose losses lie in one cell of GRID or
 * outside of all; GRID may be NULL: any fine partition. At either end it may leave out outputs of
 * about OMIT in mass. *OUT is to be cleared also after failure. */
typedef bool (*pld_mechanism)(const void *parameters, double omit, const struct pld_grid *grid,
                              struct pld_outcomes *out);

/* Mass mass[i] at the loss place[i] * step, and infinite_mass at infinity. */
struct pld {
    double step;
    size_t count;
    int64_t *place; /* owned */
    double *mass;   /* owned */
    double infinite_mass;
};

/* Frees what PLD owns; it is then empty. */
void pld_clear(struct pld *pld);

/* The same mechanism seen through a worse lens: its hockey-stick divergence is at least the true
 * one at every epsilon. Each outcome is split between the two ends of its cell so that its masses
 * under both P and Q are kept (connect the dots); what lies below all cells goes up to the first
 * place, what lies above to infinity. */
bool pld_pessimistic(const struct pld_outcomes *outcomes, const struct pld_grid *grid,
                     struct pld *out);

/* A post-processing of the mechanism: its divergence is at most the true one. Outcomes are merged
 * in order of loss, from the side that loses less, into bins whose ratio P/Q is exactly that of a
 * place; a little P-mass of the last bin, and what lies outside of all cells, is dropped. */
bool pld_optimistic(const struct pld_outcomes *outcomes, const struct pld_grid *grid,
                    struct pld *out);

/* ln sum_i mass_i exp(tilt * loss_i) over the finite losses; *out_mean and *out_variance (may be
 * NULL) of the tilted loss. The cumulant generating function of one draw. */
double pld_outcomes_cumulant(const struct pld_outcomes *outcomes, double tilt, double *out_mean,
                             double *out_variance);

/* The same of a distribution on a grid. */
double pld_cumulant(const struct pld *pld, double tilt);

#endif
