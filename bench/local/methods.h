/* The ways of gradient collection that are compared. */
#ifndef TACET_BENCH_LOCAL_METHODS_H
#define TACET_BENCH_LOCAL_METHODS_H

#include "algos/algorithm.h"

struct method {
    const char *name, *label;
    const char *randomiser; /* of the parameter of that name; NULL: reports are not randomised */
    bool as_printed;        /* buffer and rate of the paper; else the rule of methods.c */
    double value_weight;    /* lambda; the paper's is 0.5 */
    bool tutorial;          /* agents of the tutorial (methods.c) */
};
extern const struct method methods[];
extern const unsigned method_count;
const struct method *method_find(const char *name);

/* The request of one trial in CartPole at EPSILON (0 where nothing is randomised). False after a
 * line on standard error. */
bool method_request(const struct method *method, double epsilon, uint64_t seed,
                    struct algorithm_request *out);

#endif
