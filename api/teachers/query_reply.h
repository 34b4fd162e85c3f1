/* A teacher's answer and its JSON. */
#ifndef TACET_API_TEACHERS_QUERY_REPLY_H
#define TACET_API_TEACHERS_QUERY_REPLY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "algos/privacy/answers/filter.h"

struct ledger_account;

struct query_answer {
    const char *id;              /* qry_... */
    const double *probabilities; /* count x actions */
    uint32_t actions, count;
    bool batch;                  /* probabilities are an array of arrays */
    double concentration, sigma; /* 0: not a setting of the mechanism */
    double error_radius;
    bool floor;  /* the schedule is at its end: nothing was looked at */
    bool expert; /* what it protects is an expert, else which observation was asked */
    const struct ledger_account *account; /* the client's, after the debit */
    struct filter_price cost;             /* of the debit */
};

/* {"query", "probabilities", "concentration" or "sigma", "error_radius", "cost", "spent",
 * "remaining", "protects", "does_not_protect"}, and "at_floor" where it is. New reference. */
json_t *query_reply_json(const struct query_answer *answer);

/* What an answer says that it protects. */
const char *query_reply_protects(const struct query_answer *answer);

/* What it says that it does not protect. */
const char *query_reply_exposes(const struct query_answer *answer);

#endif
