/* Changes of limits that wait for a second steward, and how many stewards an account's limit takes.
 * A change is decided once; the limit itself is the ledger's. */
#ifndef TACET_STORAGE_LIMIT_CHANGES_H
#define TACET_STORAGE_LIMIT_CHANGES_H

#include "storage/db/db.h"
#include "storage/db/id.h"

#define LIMIT_APPROVALS_MAX 2   /* stewards that a change may take */
#define LIMIT_REASON_SIZE   301 /* bytes of a reason, its NUL included */

enum limit_change_state { LIMIT_CHANGE_OPEN, LIMIT_CHANGE_APPROVED, LIMIT_CHANGE_DECLINED };

/* "open", "approved" or "declined". */
const char *limit_change_state_name(enum limit_change_state state);

/* Finds the state NAME. False: there is none. */
bool limit_change_state_find(const char *name, enum limit_change_state *out);

struct limit_change_row {
    char id[ID_SIZE]; /* lch_ */
    char account[ID_SIZE];
    int64_t revision;      /* of the limit that it changes */
    double epsilon, delta; /* the new limit, as declared */
    int64_t approvals;     /* that the account takes from then on */
    char reason[LIMIT_REASON_SIZE];
    char proposer[ID_SIZE];
    enum limit_change_state state;
    char decider[ID_SIZE];          /* "" while open */
    char answer[LIMIT_REASON_SIZE]; /* the decider's reason; "" for none */
    int64_t created_ms, decided_ms; /* decided_ms: 0 while open */
};

/* Stores a change as open. DB_NONE: one of its account is open already. */
enum db_status limit_changes_insert(struct db *db, const struct limit_change_row *change);

/* DB_NONE: unknown. */
enum db_status limit_changes_find(struct db *db, const char *id, struct limit_change_row *out);

typedef bool limit_change_fn(void *context, const struct limit_change_row *change);

/* Shows a PAGE of the changes in order of creation: of accounts of OWNER (NULL: of any), in *STATE
 * (NULL: in any). EACH may stop by false. */
enum db_status limit_changes_list(struct db *db, const char *owner,
                                  const enum limit_change_state *state,
                                  const struct listing_page *page, limit_change_fn *each,
                                  void *context);

/* Stores the decision in DECIDED: its state, decider, answer and decided_ms. DB_NONE: the change is
 * unknown or was decided before. */
enum db_status limit_changes_decide(struct db *db, const struct limit_change_row *decided);

/* ---- approvals */

/* How many stewards a change of ACCOUNT's limit takes: 1 unless it was set. */
enum db_status limit_approvals(struct db *db, const char *account, int64_t *out);

/* Sets it, for an account that exists. */
enum db_status limit_approvals_set(struct db *db, const char *account, int64_t approvals);

#endif
