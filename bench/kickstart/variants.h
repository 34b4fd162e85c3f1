/* What is compared: students by whom they ask, under which noise and budget. */
#ifndef TACET_BENCH_KICKSTART_VARIANTS_H
#define TACET_BENCH_KICKSTART_VARIANTS_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/kickstart/advisor.h"

enum variant_group {
    VARIANT_REFERENCE, /* nobody is asked, or without noise */
    VARIANT_VANISHING, /* the paper's schedule */
    VARIANT_BUDGET,    /* a budget, observation adjacency */
    VARIANT_UNAWARE,   /* lambda = 0 */
    VARIANT_PUBLISHED, /* the paper's regime: k = 5, and random answers behind the budget */
    VARIANT_EXPERTS,   /* a budget, expert adjacency */
    VARIANT_GROUPS
};

struct variant {
    const char *name, *label;
    enum variant_group group;
    bool large; /* hidden (64, 64) as the teacher has, else (32, 32) */
    bool asks;
    uint32_t shards; /* 1: the single teacher */
    double lambda;
    struct advisor_terms terms;
};

/* How many answers a budget should buy: 16 roll-outs of 64. */
#define VARIANT_QUESTIONS 64
#define VARIANT_ANSWERS   (16 * VARIANT_QUESTIONS)

extern const struct variant variants[];
extern const unsigned variant_count;
const struct variant *variant_find(const char *name); /* or NULL */

#endif
