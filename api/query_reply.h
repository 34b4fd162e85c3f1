/* The text of a teacher's answer, written without a tree of JSON. */
#ifndef TACET_API_QUERY_REPLY_H
#define TACET_API_QUERY_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ledger_account;

struct query_answer {
    const char *id;              /* qry_... */
    const double *probabilities; /* count x actions */
    uint32_t actions, count;
    bool batch; /* probabilities are an array of arrays */
    double concentration, error_radius;
    const struct ledger_account *account; /* the client's, after the debit */
    int64_t units;                        /* of the debit */
};

/* {"query","probabilities","concentration","error_radius","cost","spent","remaining","protects",
 * "does_not_protect"}; malloc'ed, NULL: memory. */
char *query_reply_write(const struct query_answer *answer, size_t *out_size);

#endif
