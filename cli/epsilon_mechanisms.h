/* The mechanisms that `tacet epsilon` prices: one table, a row each. */
#ifndef TACET_CLI_EPSILON_MECHANISMS_H
#define TACET_CLI_EPSILON_MECHANISMS_H

#include "algos/privacy/laws/mechanism.h"
#include "cli/epsilon_flags.h"
#include "cli/epsilon_lines.h"

struct epsilon_mechanism {
    const char *name, *summary;
    unsigned needs, may;     /* FLAG_BITs beside --delta, --epsilon and those of a search */
    enum epsilon_flag noise; /* what --find can solve for beside --steps; EPSILON_FLAGS: nothing */
    /* Adds the runs as a plan to the empty *OUT. Returns 0, or the exit code after one line on
     * standard error. NULL: ANSWER is used instead. */
    int (*plan)(const struct epsilon_options *options, struct composition *out);
    /* Computes the whole answer without a plan; NULL: PLAN is used. */
    int (*answer)(const struct epsilon_options *options, struct epsilon_lines *out);
};

/* The row of the mechanism NAME of `tacet epsilon`, or NULL. */
const struct epsilon_mechanism *epsilon_mechanism_find(const char *name);

/* Prints every row with the flags it needs, for people. */
void epsilon_mechanisms_help(FILE *out);

#endif
