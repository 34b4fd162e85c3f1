/* Points of the sphere that lean to a vector, drawn on a lattice so that what is drawn has a
 * proven law. A point x of Z^n stands for the direction x / |x|.
 *
 * Two laws. The REFERENCE is that of n independent rounded normals of deviation s, given that |x|
 * is in a shell around s sqrt(n); it knows of no vector. The CAP law of a vector is the reference,
 * given that cos(x, vector) >= edge. For every x and every vector
 *
 *     share * cap(x) <= reference(x),
 *
 * where share is local_cap_lattice_share, a little below the cap's share of the sphere. So with
 * the reference drawn with probability q and the cap with 1 - q, probabilities of one x under two
 * vectors differ by a factor of at most 1 + (1 - q) / (q share). The bound holds for the
 * program's draws, uniform bits given: docs/proofs/local_reports.md. */
#ifndef TACET_ALGOS_PRIVACY_LOCAL_LOCAL_CAP_LATTICE_H
#define TACET_ALGOS_PRIVACY_LOCAL_LOCAL_CAP_LATTICE_H

#include <stdint.h>

struct noise_source;

#define LOCAL_CAP_SPREAD         0x1p24             /* s of reports */
#define LOCAL_CAP_MOST_EDGE      0.9999995231627345 /* sqrt(1 - 2^-20), rounded down */
#define LOCAL_CAP_LEAST_SHARE(n) (2e-22 * (n))      /* of an edge in R^n */

/* Public. */
struct local_cap_lattice {
    uint32_t n;    /* 2 .. 2^20 + 1 */
    double edge;   /* 0 .. LOCAL_CAP_MOST_EDGE; its share is LOCAL_CAP_LEAST_SHARE(n) or more */
    double spread; /* s */
    double across; /* deviation of proposals, s sqrt(1 - edge^2) */
    double middle; /* s sqrt(n) */
    double width;  /* of the shell */
    double slack;  /* how far rounded vectors can raise an acceptance's exponent */
    double most;   /* the greatest exponent */
};

/* A vector on the lattice. */
struct local_cap_aim {
    int64_t *direction; /* [n]: 2^40 v */
    int64_t *centre;    /* [n]: of proposals, edge s sqrt(n) v */
    double norm;        /* |direction| */
};

/* SPREAD is LOCAL_CAP_SPREAD but in tests. */
void local_cap_lattice_make(struct local_cap_lattice *out, uint32_t n, double edge, double spread);

/* See above. About 4000 exponentials. */
double local_cap_lattice_share(const struct local_cap_lattice *lattice);

/* POINT[n + 1] by the reference law; the last number is not part of it. */
void local_cap_lattice_reference(const struct local_cap_lattice *lattice,
                                 struct noise_source *noise, int64_t *point);

/* POINT[n + 1] by the cap law of V[n], of norm 1 to rounding; the last number is not part of it. */
void local_cap_lattice_cap(const struct local_cap_lattice *lattice, const double *v,
                           struct noise_source *noise, int64_t *point);

/* ---- what draws are made of, for tests */

/* DIRECTION and CENTRE of AIM have room for n numbers each. */
void local_cap_lattice_aim(const struct local_cap_lattice *lattice, const double *v,
                           struct local_cap_aim *aim);

/* POINT[n], proposed with the deviation `across` around AIM's centre, is taken with probability
 * exp(-X): gives X, or INFINITY. */
double local_cap_lattice_exponent(const struct local_cap_lattice *lattice,
                                  const struct local_cap_aim *aim, const int64_t *point);

#endif
