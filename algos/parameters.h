/* Named settings of an algorithm: one table drives validation, help, the catalogue and the
 * defaults. */
#ifndef TACET_ALGOS_PARAMETERS_H
#define TACET_ALGOS_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>

#define PARAMETERS_MAX      40
#define PARAMETER_LIST_MAX  7  /* hidden layers: MLP_MAX_LAYERS - 1 */
#define PARAMETER_REALS_MAX 16 /* coordinates of a state: ENV_MAX_STATE_DIM */

enum parameter_type {
    PARAMETER_REAL,
    PARAMETER_INTEGER,
    PARAMETER_INTEGER_LIST, /* 0 .. PARAMETER_LIST_MAX integers: hidden layer widths */
    PARAMETER_REAL_LIST,    /* 1 .. PARAMETER_REALS_MAX numbers, e.g. one for each coordinate */
    PARAMETER_REAL_EACH,    /* a number for all coordinates, or a list with one for each */
    PARAMETER_CHOICE,       /* one of choices[], stored as its index */
    PARAMETER_Q_LEARNER,    /* likewise; choices[] are algorithms that learn a Q-function from a
                               dataset, by name */
};

struct parameter_value {
    double number[PARAMETER_REALS_MAX];
    unsigned count; /* 1 unless a list */
};

/* A value of one number, for tables. */
#define PARAMETER_ONE(x)                                                                           \
    {                                                                                              \
        .number = {x}, .count = 1                                                                  \
    }

struct parameter_spec {
    const char *name;
    enum parameter_type type;
    struct parameter_value value; /* default */
    double min, max;              /* of each number, inclusive */
    const char *const *choices;   /* of the last two types: NULL-terminated */
    const char *unit;             /* "" when it has none */
    const char *meaning;          /* one sentence */
};

/* Values in the order of a table. */
struct parameter_values {
    struct parameter_value value[PARAMETERS_MAX];
};

/* OUT: the table's defaults. */
void parameters_defaults(const struct parameter_spec *specs, unsigned count,
                         struct parameter_values *out);

/* A default that is another one in a certain world. */
struct parameter_override {
    const char *world; /* the name of its environment */
    unsigned index;    /* of the parameter in its table */
    struct parameter_value value;
};

/* Puts those of WORLD (NULL or any other name: none) over the VALUES. */
void parameters_override(const struct parameter_override *overrides, unsigned count,
                         const char *world, struct parameter_values *values);

/* A parameter that was added to an algorithm later, and the value with which the algorithm runs as
 * it did before. A parameter for which there is no such value is in no table of these. */
struct parameter_later {
    unsigned index; /* of the parameter in its table */
    struct parameter_value before;
};

/* The fewest numbers that a value of that type may have: 1, or 0 for a list of hidden layers, which
 * makes a linear model. */
unsigned parameters_least(enum parameter_type type);
/* The most of them: 1 unless it is, or may be, a list. */
unsigned parameters_most(enum parameter_type type);

/* The name of choice I of a PARAMETER_CHOICE or _Q_LEARNER, or NULL past the last. */
const char *parameters_choice(const struct parameter_spec *spec, unsigned i);

/* Whether the parameter is a choice: a name in requests, an index here. */
bool parameters_is_choice(const struct parameter_spec *spec);

/* Index of NAME in the table, or -1. */
int parameters_index(const struct parameter_spec *specs, unsigned count, const char *name);

/* What a value has against it. */
enum parameter_problem {
    PARAMETER_FITS,
    PARAMETER_NOT_FINITE,
    PARAMETER_OUT_OF_RANGE,
    PARAMETER_NOT_INTEGER,
    PARAMETER_BAD_COUNT
};

/* Whether VALUE fits SPEC; the caller words what does not. */
enum parameter_problem parameters_check(const struct parameter_spec *spec,
                                        const struct parameter_value *value);

/* NULL when all VALUES fit the table, else a sentence. */
const char *parameters_problem(const struct parameter_spec *specs, unsigned count,
                               const struct parameter_values *values);

#endif
