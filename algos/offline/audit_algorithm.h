/* The membership audit as an algorithm of the table: POST /v1/jobs {"algorithm":"audit"}. */
#ifndef TACET_ALGOS_OFFLINE_AUDIT_ALGORITHM_H
#define TACET_ALGOS_OFFLINE_AUDIT_ALGORITHM_H

#include "algos/algorithm.h"

/* Takes neither dataset nor world and gives findings: epsilon_certified, epsilon_shown, delta,
 * likely, unlikely, counted, false_alarm (membership_audit.h says what they are). They are a
 * function of public settings, made-up data and noise, so they may be shown to anybody. */
extern const struct algorithm audit_algorithm;

/* The chance that a true claim is exceeded. */
#define AUDIT_ALGORITHM_FALSE_ALARM 1e-6

#endif
