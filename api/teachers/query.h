/* One question to a teacher, in whatever form it was sent: the client, the teacher, the cost, and
 * the one way in which it is paid and answered. */
#ifndef TACET_API_TEACHERS_QUERY_H
#define TACET_API_TEACHERS_QUERY_H

#include "api/call/call.h"
#include "api/teachers/teacher_shelf.h"
#include "storage/ledger/ledger.h"

struct query {
    struct call *call;
    const struct shelved_teacher *teacher; /* borrowed from the shelf */
    struct teacher_client_row standing;
    bool batch; /* several states were sent as such */
    uint32_t count;
    float *states;               /* count x the policy's input */
    double wished_concentration; /* 0: not sent */
    double max_epsilon;          /* 0: not sent */
    double concentration;        /* 0 where the mechanism has none */
    bool floor;  /* the schedule is at its end: the answer looks at nothing and costs nothing */
    bool random; /* query_settle found a budget spent: as floor, but drawn */
    char dataset_account[ID_SIZE]; /* of a teacher of shards; "": none */
    struct teacher_prices cost;    /* of all states together, for each payer */
    char id[ID_SIZE];              /* query_settle gives it, and the client's account */
    struct ledger_account account;
    bool keeps_paid; /* fill PAID, because the answer's text has no amounts to copy */
    const struct ledger_outcome *paid; /* what every account paid, where the caller owns the
                                          teacher, or it is kept; else NULL */
};

/* A teacher's answer. */
struct query_answer {
    const char *id;              /* qry_... */
    const double *probabilities; /* count x actions */
    uint32_t actions, count;
    bool batch;                  /* probabilities are an array of arrays */
    double concentration, sigma; /* 0: not a setting of the mechanism */
    double error_radius;
    bool floor;      /* the schedule is at its end: nothing was looked at */
    bool random;     /* a budget is spent: drawn without looking at anything */
    bool expert;     /* what it protects is an expert, else which observation was asked */
    bool unresolved; /* a state has a number in which no neighbour differs */
    const struct ledger_account *account; /* the client's, after the debit */
    struct filter_price cost;             /* of the debit */
    const struct ledger_outcome *paid;    /* as in the query */
    size_t cost_at, remaining_at;         /* query_reply_text sets them: where the amounts stand */
};

/* Makes a query in the call's arena and borrows the teacher that {id} names, until the call ends.
 */
enum problem query_start(struct call *call, struct query **out);

/* Reads a batch that stands at "/states". False: the faults are in the call. */
bool query_read_states(struct query *query, const json_t *states);

/* Sets the concentration and the cost of COUNT answers, from the requested concentration and
 * STANDING. */
enum problem query_set_price(struct query *query);

/* Finds STANDING, opening the client's account when the teacher has a default budget, and sets the
 * price. */
enum problem query_admit(struct query *query);

/* Debits all accounts, then draws the answers. Comes after query_set_price, inside the call's
 * transaction. Where an account cannot pay, a teacher with "when_spent":"random" draws answers
 * around the uniform distribution and debits nothing (docs/proofs/budgets.md); any other refuses.
 * *out points into the query and the call's arena. */
enum problem query_settle(struct query *query, struct query_answer *out);

/* ---- the answer as JSON (query_reply.c) */

/* {"query", "probabilities", "concentration" or "sigma", "error_radius", "cost", "spent",
 * "remaining", "protects", "does_not_protect"}, and "at_floor" or "random" where it is, as text of
 * *OUT_SIZE bytes that the caller frees. NULL: there is no memory for so many states. */
char *query_reply_text(struct query_answer *answer, size_t *out_size);

/* Adds the headers of an answer that was paid (charged.h): for the client's account, and for the
 * teacher's and the dataset's where the caller owns them. TEXT is from query_reply_text. */
void query_reply_charge(struct call *call, const struct query_answer *answer, const char *text);

/* The text for what an answer protects. */
const char *query_reply_protects(const struct query_answer *answer);

/* The text for what an answer does not protect. */
const char *query_reply_exposes(const struct query_answer *answer);

/* The name of the answer's setting of noise, "concentration" or "sigma"; *LEVEL is its value. */
const char *query_reply_setting(const struct query_answer *answer, double *level);

#endif
