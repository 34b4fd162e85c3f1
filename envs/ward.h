/* A ward for patients with sepsis, in one hour per step. It is made up: simple equations in the
 * spirit of textbooks, for examples and for judging how well a policy learned from logged data. It
 * says nothing about real patients. See ward.c for the equations. */
#ifndef TACET_ENVS_WARD_H
#define TACET_ENVS_WARD_H

#include "envs/env.h"

/* What the caller's STATE bytes hold. The observation is the heart rate, the mean blood pressure,
 * the decimal logarithm of the lactate, the oxygen saturation, and two numbers for diabetes: (1, 0)
 * without it, (0, 1) with it. The infection is not observed. */
struct ward_state {
    double heart_rate; /* 1/min, 30 .. 220 */
    double pressure;   /* mmHg, 30 .. 140 */
    double lactate;    /* mmol/l, 0.3 .. 20 */
    double oxygen;     /* per cent, 60 .. 100 */
    double infection;  /* 0 none .. 1 severe */
    double diabetes;   /* 0 or 1 */
};

/* Four actions: 0 none, 1 fluids, 2 vasopressor, 3 both. Death and discharge terminate. */
extern const struct env ward_env;

#endif
