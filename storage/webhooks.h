/* What webhooks tell, and what each target was told.
 *
 * Nothing is written when something happens: what is still to be told follows from jobs, accounts
 * and requests as they stand, and from one row for each event that a target has. So no call that
 * ends a job or spends waits for a webhook, and a restart forgets none. */
#ifndef TACET_STORAGE_WEBHOOKS_H
#define TACET_STORAGE_WEBHOOKS_H

#include "storage/db/db.h"
#include "storage/db/id.h"

#define WEBHOOK_EVENT_SIZE  64
#define WEBHOOK_TARGET_SIZE 40

enum webhook_kind {
    WEBHOOK_JOB_ENDED,
    WEBHOOK_BUDGET_LOW,       /* less than a tenth of an account's limit is left */
    WEBHOOK_BUDGET_REQUESTED, /* a request for more that waits for an answer */
};

struct webhook_event {
    enum webhook_kind kind;
    char id[WEBHOOK_EVENT_SIZE]; /* the same at each attempt: "job_x", "brq_x"; "acc_x-2" for the
                                    account's second limit */
    char subject[ID_SIZE];       /* the job, account or request */
    char project[ID_SIZE];       /* to which it belongs */
    char state[16];              /* of a job: "succeeded", "failed", "cancelled" */
    int64_t time_ms;
};

/* Sees one event. False stops. */
typedef bool webhook_fn(void *context, const struct webhook_event *event);

/* Shows what happened after SINCE_MS and TARGET was not told, the older first in each kind. PROJECT
 * NULL: of all projects. Accounts of agents are left out: each is spent in one report. */
enum db_status webhooks_untold(struct db *db, const char *target, const char *project,
                               int64_t since_ms, webhook_fn *each, void *context);

/* Notes that TARGET has the event ID, or will not get it any more. */
enum db_status webhooks_told(struct db *db, const char *target, const char *id, int64_t now_ms);

#endif
