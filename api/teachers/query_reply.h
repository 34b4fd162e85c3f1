/* The text of a teacher's answer, written without a tree of JSON. */
#ifndef TACET_API_TEACHERS_QUERY_REPLY_H
#define TACET_API_TEACHERS_QUERY_REPLY_H

#include <stdbool.h>
#include <stddef.h>
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
    const char *settings; /* the text of these three; NULL: it is not made yet */
    bool floor;           /* the schedule is at its end: nothing was looked at */
    bool expert;          /* what it protects is an expert, else which observation was asked */
    const struct ledger_account *account; /* the client's, after the debit */
    struct filter_price cost;             /* of the debit */
};

#define QUERY_SETTINGS_SIZE 112

/* The part of an answer that settings alone decide: "concentration" or "sigma", which is 0 where it
 * is none of the mechanism's, and "error_radius". All are finite. */
void query_reply_settings(double concentration, double sigma, double error_radius,
                          char out[QUERY_SETTINGS_SIZE]);

/* {"query","probabilities","concentration" or
 * "sigma","error_radius","cost","spent","remaining","protects", "does_not_protect"}, and "at_floor"
 * where it is; malloc'ed, NULL: memory. */
char *query_reply_write(const struct query_answer *answer, size_t *out_size);

/* What an answer says that it protects. */
const char *query_reply_protects(const struct query_answer *answer);

/* What it says that it does not protect. */
const char *query_reply_exposes(const struct query_answer *answer);

#endif
