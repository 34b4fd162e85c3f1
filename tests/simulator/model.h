/* What the ledger has to be, worked out from what clients were told and from nothing else: for each
 * account its limit, what is spent and what is held, and for each job its hold until it ends. */
#ifndef TACET_TESTS_SIMULATOR_MODEL_H
#define TACET_TESTS_SIMULATOR_MODEL_H

#include "storage/db/db.h"
#include "storage/db/id.h"

#define MODEL_ACCOUNTS 48
#define MODEL_JOBS     512
#define MODEL_CHANGES  256
#define MODEL_WHY      400

struct model_amount { /* in the ledger's units */
    int64_t units, delta;
};

struct model_account {
    char id[ID_SIZE], resource[ID_SIZE], client[ID_SIZE];
    struct model_amount limit, spent, held;
    int64_t revision; /* of its limit */
};

enum model_state { MODEL_OPEN, MODEL_APPROVED, MODEL_DECLINED };

struct model_change { /* of an account's limit, about which somebody else decides */
    char id[ID_SIZE];
    int account;
    unsigned limit, proposer; /* numbers of the scene */
    enum model_state state;
    unsigned lost; /* decisions that had no reply: a bit for each */
};

struct model_job {
    char id[ID_SIZE];
    int account; /* that holds the price; -1: none */
    struct model_amount price;
    bool left;  /* a worker began it and left it */
    bool freed; /* cancelled while it waited: its hold is no more */
    bool over;
    char q_release[ID_SIZE]; /* once it is over; "" */
};

struct model_dataset { /* the open one */
    int uploads, chunks, trajectories, transitions;
    unsigned experts; /* a bit for each */
};

struct model {
    struct model_account accounts[MODEL_ACCOUNTS];
    int account_count;
    struct model_job jobs[MODEL_JOBS];
    int job_count, jobs_over;
    struct model_change changes[MODEL_CHANGES];
    int change_count;
    struct model_dataset data;
};

struct model_payment {
    int account;
    struct model_amount amount;
};

enum model_verdict { MODEL_PAYS, MODEL_EXHAUSTED, MODEL_RESERVED };

/* Begins with the accounts that DB has, and its jobs, which are over. */
bool model_read(struct model *model, struct db *db);

/* The account of RESOURCE (and CLIENT, "" for none); -1. */
int model_find(const struct model *model, const char *resource, const char *client);

/* Adds a change that is open. */
struct model_change *model_propose(struct model *model, const char *id, int account, unsigned limit,
                                   unsigned proposer);

/* Sets the limit of ACCOUNT. */
void model_set_limit(struct model *model, int account, struct model_amount limit);

/* Whether the limit of ACCOUNT may be LIMIT: no less than is spent and held. */
bool model_may_be(const struct model *model, int account, struct model_amount limit);

/* What a debit of COUNT payments meets: all of them fit, or what stands in the way. */
enum model_verdict model_weigh(const struct model *model, const struct model_payment *payments,
                               unsigned count);

/* Pays what model_weigh found to fit. */
void model_pay(struct model *model, const struct model_payment *payments, unsigned count);

/* Adds a job that holds PRICE on ACCOUNT. */
void model_submit(struct model *model, const char *id, int account, struct model_amount price);

/* Frees the hold of job ID: its cancellation was confirmed before it began. */
void model_cancel(struct model *model, const char *id);

/* Finds the jobs that have ended: each has exactly one settlement, which frees its whole hold and
 * pays what its end allows. IDLE: no worker has a job now. False: WHY says which one has not. */
bool model_end_jobs(struct model *model, struct db *db, bool idle, char why[MODEL_WHY]);

/* Compares every balance with DB's. False: WHY names the account. */
bool model_compare(const struct model *model, struct db *db, char why[MODEL_WHY]);

#endif
