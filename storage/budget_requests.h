/* Requests of clients for a larger budget at a teacher, and what its steward decided. A decision is
 * made once; the limit itself is the ledger's. */
#ifndef TACET_STORAGE_BUDGET_REQUESTS_H
#define TACET_STORAGE_BUDGET_REQUESTS_H

#include "storage/db/db.h"
#include "storage/db/id.h"

#define BUDGET_REASON_SIZE 301 /* bytes of a reason, its NUL included */

enum budget_request_state { BUDGET_REQUEST_OPEN, BUDGET_REQUEST_APPROVED, BUDGET_REQUEST_DECLINED };

/* "open", "approved" or "declined". */
const char *budget_request_state_name(enum budget_request_state state);

/* Finds the state NAME. False: there is none. */
bool budget_request_state_find(const char *name, enum budget_request_state *out);

struct budget_request_row {
    char id[ID_SIZE];      /* brq_ */
    char client[ID_SIZE];  /* who asks */
    char teacher[ID_SIZE]; /* where */
    char owner[ID_SIZE];   /* the teacher's steward, who decides */
    double epsilon, delta; /* the limit that is asked for, with what is spent already */
    char reason[BUDGET_REASON_SIZE];
    enum budget_request_state state;
    double given_epsilon, given_delta; /* the limit that was given; 0 unless approved */
    char answer[BUDGET_REASON_SIZE];   /* the steward's reason; "" for none */
    int64_t created_ms, decided_ms;    /* decided_ms: 0 while open */
};

/* Stores a request as open. DB_NONE: the id exists. */
enum db_status budget_requests_insert(struct db *db, const struct budget_request_row *request);

/* DB_NONE: unknown. */
enum db_status budget_requests_find(struct db *db, const char *id, struct budget_request_row *out);

/* Counts the open requests of CLIENT: all of them, and those at TEACHER. */
enum db_status budget_requests_count(struct db *db, const char *client, const char *teacher,
                                     int64_t *out_all, int64_t *out_at_teacher);

typedef bool budget_request_fn(void *context, const struct budget_request_row *request);

/* Shows a PAGE of the requests in order of creation: of CLIENT (NULL: of any), for OWNER to decide,
 * or several that are separated by spaces (NULL: anybody), in *STATE (NULL: in any). EACH may stop
 * by false. */
enum db_status budget_requests_list(struct db *db, const char *client, const char *owner,
                                    const enum budget_request_state *state,
                                    const struct listing_page *page, budget_request_fn *each,
                                    void *context);

/* Stores the decision in DECIDED: its state, what is given, answer and decided_ms. DB_NONE: the
 * request is unknown or was decided before. */
enum db_status budget_requests_decide(struct db *db, const struct budget_request_row *decided);

#endif
