/* What a certificate says of a private run whose data are not experts' datasets: sentences and
 * numbers that its algorithm knows and nobody else. All of it is public. */
#ifndef TACET_ALGOS_STATEMENT_H
#define TACET_ALGOS_STATEMENT_H

#include "envs/env.h"

#define STATEMENT_SENTENCES 8
#define STATEMENT_FIGURES   16

/* A number by name, or a list of COUNT of them (0: one number). */
struct statement_figure {
    const char *name;
    double value[ENV_MAX_STATE_DIM];
    unsigned count;
};

/* Sentences are static; lists end with NULL or at their end. */
struct statement {
    const char *unit;       /* who or what is protected */
    const char *neighbours; /* what may differ between two runs that look alike */
    const char *accountant; /* which accountant computed the figures of the plan */
    const char *assumptions[STATEMENT_SENTENCES];
    const char *warnings[STATEMENT_SENTENCES];
    struct statement_figure figures[STATEMENT_FIGURES];
    unsigned figure_count;
};

/* Adds a sentence to a list. A list that is full is our own bug, here and below. */
void statement_add(const char *list[STATEMENT_SENTENCES], const char *sentence);

/* Adds a number by name. */
void statement_number(struct statement *statement, const char *name, double value);

/* Adds a list of COUNT numbers by name. */
void statement_list(struct statement *statement, const char *name, const double *value,
                    unsigned count);

#endif
