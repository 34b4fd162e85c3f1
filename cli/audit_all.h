/* `tacet audit --all`: every audit that Tacet can make of itself, as a table. */
#ifndef TACET_CLI_AUDIT_ALL_H
#define TACET_CLI_AUDIT_ALL_H

#include <stdbool.h>

#include "algos/offline/membership_audit.h"

/* The probability that one of the table's verdicts contradicts a true claim. */
#define AUDIT_ALL_FALSE_ALARM 1e-6

enum audit_all_result {
    AUDIT_ALL_STANDS,  /* no claim was refuted */
    AUDIT_ALL_REFUTED, /* at least one was */
    AUDIT_ALL_FAILED,  /* a training failed, or there was no randomness */
};

/* Searches every noise for events, and attacks every algorithm of the table that trains on a
 * dataset by DP-SGD, with many canaries in one run and with one canary in many, and those that
 * play, with many in one run; SABOTAGE breaks the trainings. EFFORT in (0, 1] is the share of draws
 * and trainings. Prints one row for each on standard output, as it is known: text, or JSON objects.
 */
enum audit_all_result audit_everything(enum membership_sabotage sabotage, double effort, bool json);

#endif
