/* The treatment of HIV by two drugs that are given or withheld (Adams, Banks, Kwon and Tran 2004;
 * Ernst, Stan, Goncalves and Wehenkel 2006), as RLPy's HIVTreatment sets it up: a patient is ill
 * and stable, the drugs harm, and the immune system must be taught to hold the virus down. See
 * hiv.c for the equations. */
#ifndef TACET_ENVS_HIV_H
#define TACET_ENVS_HIV_H

#include "envs/env.h"

/* What the caller's STATE bytes hold: cells or copies per ml. The observation is the base-10
 * logarithm of each, in this order. */
struct hiv_state {
    double t1;          /* healthy CD4 cells */
    double t2;          /* healthy macrophages */
    double t1_infected; /* infected CD4 cells */
    double t2_infected; /* infected macrophages */
    double virus;       /* free virus */
    double immune;      /* cytotoxic T cells, which kill infected cells */
};

/* Four actions: 0 no drug, 1 the reverse transcriptase inhibitor, 2 the protease inhibitor, 3
 * both, each for the whole step. Never terminates; every episode starts at the same state. */
extern const struct env hiv_env;

/* The tolerance of hiv_env's substeps: after 20 days every number is within 1e-7 of the exact
 * flow. */
#define HIV_TOLERANCE 5e-8

/* Moves STATE (every number >= 0) by DAYS > 0 under drugs of efficacy EPS1 and EPS2 in 0 .. 1,
 * each substep within TOLERANCE of every number, relatively. Deterministic. */
void hiv_flow(struct hiv_state *state, double eps1, double eps2, double days, double tolerance);

#endif
