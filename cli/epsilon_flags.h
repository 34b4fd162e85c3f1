/* The flags of `tacet epsilon`. */
#ifndef TACET_CLI_EPSILON_FLAGS_H
#define TACET_CLI_EPSILON_FLAGS_H

#include "cli/cli.h"

/* Flags that hold a number; a new one is a name here and a row in epsilon_flags.c. */
enum epsilon_flag {
    FLAG_SAMPLING_RATE,
    FLAG_NOISE_MULTIPLIER,
    FLAG_SENSITIVITY,
    FLAG_SIGMA,
    FLAG_SCALE,
    FLAG_EACH_EPSILON,
    FLAG_EACH_DELTA,
    FLAG_ACTIONS,
    FLAG_CONCENTRATION,
    FLAG_MIN_PROBABILITY,
    FLAG_EXPERTS,
    FLAG_TRAJECTORIES,
    FLAG_MAX_LENGTH,
    FLAG_STEPS,
    FLAG_DELTA,
    FLAG_EPSILON,
    FLAG_TARGET_EPSILON,
    EPSILON_FLAGS, /* how many */
};

#define FLAG_BIT(FLAG) (1u << (FLAG))

struct epsilon_options {
    const char *mechanism, *events, *find; /* NULL: not given */
    bool json;
    uint64_t given; /* FLAG_BITs */
    double value[EPSILON_FLAGS];
};

/* Program, help and table; row i is the flag of enum epsilon_flag i. */
extern const struct flags epsilon_flags;

/* Refuses given flags that are in neither mask, and missing flags of NEEDS. OF names what the flags
 * belong to, for the message. Returns 0, or CLI_USAGE after one line on standard error. */
int epsilon_flags_check(const struct epsilon_options *options, unsigned needs, unsigned may,
                        const char *of);

/* "sampling-rate". */
const char *epsilon_flag_name(enum epsilon_flag flag);

/* The flag NAME of `tacet epsilon`; EPSILON_FLAGS when there is none. */
enum epsilon_flag epsilon_flag_find(const char *name);

/* Prints SENTENCE, a library's message about a parameter ("min_probability must be ..."), as a
 * message about the flag of that name. Returns CLI_USAGE. */
int epsilon_complain_of(const char *sentence);

#endif
