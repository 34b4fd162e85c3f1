/* The flags of `tacet epsilon`: one table that drives reading, checking and help. */
#ifndef TACET_CLI_EPSILON_FLAGS_H
#define TACET_CLI_EPSILON_FLAGS_H

#include <stdbool.h>

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
    FLAG_COUNT,
};

#define FLAG_BIT(FLAG) (1u << (FLAG))

struct epsilon_options {
    const char *mechanism, *events, *find; /* NULL: not given */
    bool json, help;
    unsigned given; /* FLAG_BITs */
    double value[FLAG_COUNT];
};

/* 0, or the exit code 2 after one line on standard error. */
int epsilon_flags_read(int argc, char **argv, struct epsilon_options *out);

/* Refuses flags of GIVEN that are in neither mask, and those of NEEDS that are missing. */
int epsilon_flags_check(const struct epsilon_options *options, unsigned needs, unsigned may,
                        const char *of);

/* "sampling-rate"; and the flag of that name, FLAG_COUNT when there is none. */
const char *epsilon_flag_name(enum epsilon_flag flag);
enum epsilon_flag epsilon_flag_find(const char *name);

/* The rows of the table as help. */
void epsilon_flags_help(void);

/* One line on standard error; gives STATUS. */
int epsilon_complain(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* SENTENCE of a lower room about a parameter, "min_probability must be ...", as one about the flag
 * of that name. Gives 2. */
int epsilon_complain_of(const char *sentence);

#endif
