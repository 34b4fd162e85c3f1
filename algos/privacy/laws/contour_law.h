/* Privacy losses whose moment generating function is known at complex arguments: the laws that
 * contour.h composes. Inside the exact accountant, and the door for pairs no mechanism.h names. */
#ifndef TACET_ALGOS_PRIVACY_LAWS_CONTOUR_LAW_H
#define TACET_ALGOS_PRIVACY_LAWS_CONTOUR_LAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All are laws of L = ln(dP/dQ) under P, for one run; M(z) = E_P[exp(z L); L finite]. */
enum contour_kind {
    CONTOUR_GAUSSIAN,            /* N(0, s^2) against N(1, s^2): M = exp(z (z + 1) / (2 s^2)) */
    CONTOUR_SUBSAMPLED_GAUSSIAN, /* as in subsampled_gaussian.h, one direction */
    CONTOUR_LAPLACE,             /* shifted by 1 / scale */
    CONTOUR_POINTS,              /* losses -loss, 0, +loss and infinity */
    CONTOUR_DIRICHLET_PAIR, /* Dir(a) against Dir(b), equal sums: (A3), docs/proofs/accounting.md */
};

struct contour_law {
    enum contour_kind kind;
    double times; /* runs, >= 1, whole */
    union {
        struct {
            double noise_multiplier; /* s > 0 */
            double sampling_rate;    /* q in (0, 1); not of CONTOUR_GAUSSIAN */
            bool add;                /* the swapped pair: one unit added */
        } gaussian;
        struct {
            double epsilon; /* sensitivity over scale, > 0 */
        } laplace;
        struct {
            double loss;     /* >= 0: mass exp(loss) / (1 + exp(loss)) of what moves at +loss, */
            double moving;   /* in (0, 1]: finite mass not at 0, before infinity takes its share */
            double infinite; /* in [0, 1]: mass where Q has none */
        } points;
        struct {
            const double *a, *b; /* borrowed, count of each, > 0 */
            uint32_t count;
        } dirichlet;
    };
};

/* M(z) is finite for 0 < Re z < this limit: INFINITY for all laws but Dirichlet pairs. */
double contour_law_limit(const struct contour_law *law);

/* The greatest finite loss of all the runs, or INFINITY (a Dirichlet pair's is not looked for). */
double contour_law_greatest(const struct contour_law *law);

/* times * ln M(c) at real c in (0, limit); INFINITY: the value cannot be computed. */
double contour_law_log_moment(const struct contour_law *law, double c);

/* times * ln of a bound of |M| on the line beyond c + iT, of laws with atoms, whose M may return to
 * what it was; NaN of those with a density, whose |M(c + it)| itself falls to 0. */
double contour_law_ceiling(const struct contour_law *law, double c, double t);

/* The cost of one point of a line between c + i FIRST and c + i LAST, in units of about 1.5 ns. */
double contour_law_cost(const struct contour_law *law, double c, double first, double last);

enum contour_status {
    CONTOUR_OK,
    CONTOUR_OUT_OF_REACH, /* the line integral decays too slowly, or a figure overflows */
};

/* Adds times * ln M(c + i t_j), t_j = (first + j) * step, to re[count] and im[count] (which may be
 * off by 2 pi times a whole number). */
enum contour_status contour_law_line(const struct contour_law *law, double c, size_t first,
                                     double step, size_t count, double *re, double *im);

/* contour_law_cost of CONTOUR_SUBSAMPLED_GAUSSIAN; contour_subsampled.c. */
double contour_subsampled_cost(const struct contour_law *law, double c, double first, double last);

/* contour_law_log_moment of CONTOUR_SUBSAMPLED_GAUSSIAN. */
double contour_subsampled_log_moment(const struct contour_law *law, double c);

/* contour_law_line of CONTOUR_SUBSAMPLED_GAUSSIAN. */
enum contour_status contour_subsampled_line(const struct contour_law *law, double c, size_t first,
                                            double step, size_t count, double *re, double *im);

#endif
