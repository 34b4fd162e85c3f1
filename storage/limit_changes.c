/* Changes of limits that wait. */
#include "storage/limit_changes.h"

#include <stdio.h>
#include <string.h>

#include "storage/db/listing.h"
#include "storage/digests.h"

static const char *const state_names[] = {"open", "approved", "declined", NULL};

static const struct column change_columns[] = {
    COLUMN(limit_change_row, id, TEXT),
    COLUMN(limit_change_row, account, TEXT),
    COLUMN(limit_change_row, revision, INTEGER),
    COLUMN(limit_change_row, epsilon, REAL),
    COLUMN(limit_change_row, delta, REAL),
    COLUMN(limit_change_row, approvals, INTEGER),
    COLUMN(limit_change_row, reason, TEXT),
    COLUMN(limit_change_row, proposer, TEXT),
    {"state", COLUMN_WORD, offsetof(struct limit_change_row, state),
     sizeof(enum limit_change_state), state_names},
    COLUMN(limit_change_row, decider, TEXT),
    COLUMN(limit_change_row, answer, TEXT),
    COLUMN(limit_change_row, created_ms, INTEGER),
    COLUMN(limit_change_row, decided_ms, INTEGER),
};

const struct table limit_changes_table = TABLE_DIGESTED(
    "limit_changes", limit_change_row, change_columns, TABLE_ALL(change_columns), "digest", 1, 0);

const char *limit_change_state_name(enum limit_change_state state)
{
    return state_names[state];
}

bool limit_change_state_find(const char *name, enum limit_change_state *out)
{
    for (unsigned i = 0; state_names[i]; i++) {
        if (strcmp(state_names[i], name) == 0) {
            *out = (enum limit_change_state)i;
            return true;
        }
    }
    return false;
}

enum db_status limit_changes_insert(struct db *db, const struct limit_change_row *change)
{
    return table_insert(db, &limit_changes_table, change, NULL, 0);
}

enum db_status limit_changes_find(struct db *db, const char *id, struct limit_change_row *out)
{
    return table_find_id(db, &limit_changes_table, id, out);
}

TABLE_SHOW(show_change, limit_change_row);

enum db_status limit_changes_list(struct db *db, const char *owner,
                                  const enum limit_change_state *state,
                                  const struct listing_page *page, limit_change_fn *each,
                                  void *context)
{
    struct show_change list = {each, context};
    return table_list(db, &limit_changes_table,
                      "WHERE ($1 = '' OR account IN (SELECT id FROM ledger_accounts "
                      "WHERE" OWNER_AMONG("$1") ")) AND ($2 = '' OR state = $2) "
                                                "AND" LISTING_PAGE("$3", "$4", "$5"),
                      DB_VALUES(db_text_or_empty(owner),
                                db_text_or_empty(state ? state_names[*state] : NULL),
                                LISTING_VALUES(page)),
                      show_change, &list);
}

enum db_status limit_changes_decide(struct db *db, const struct limit_change_row *decided)
{
    unsigned char digest[DIGEST_SIZE];
    table_digest(db, &limit_changes_table, decided, digest);
    return db_change(db,
                     "UPDATE limit_changes SET state = $2, decider = $3, answer = $4, "
                     "decided_ms = $5, digest = $6 WHERE id = $1 AND state = 'open'",
                     DB_VALUES(db_text(decided->id), db_text(state_names[decided->state]),
                               db_text(decided->decider), db_text(decided->answer),
                               db_integer(decided->decided_ms), db_bytes(digest, sizeof digest)));
}

/* ---- approvals */

struct approvals {
    char account[ID_SIZE];
    int64_t approvals;
};

static const struct column approvals_columns[] = {
    COLUMN(approvals, account, TEXT),
    COLUMN(approvals, approvals, INTEGER),
};

const struct table limit_approvals_table = TABLE_DIGESTED(
    "ledger_approvals", approvals, approvals_columns, TABLE_ALL(approvals_columns), "digest", 1, 0);

enum db_status limit_approvals(struct db *db, const char *account, int64_t *out)
{
    struct approvals row = {.approvals = 1};
    enum db_status status = table_find(db, &limit_approvals_table, "WHERE account = $1",
                                       DB_VALUES(db_text(account)), &row);
    if (status == DB_OK && strcmp(row.account, account) != 0)
        return db_fail(db, account, "the index of ledger_approvals is damaged");
    *out = status == DB_OK ? row.approvals : 1;
    return db_optional(status);
}

enum db_status limit_approvals_set(struct db *db, const char *account, int64_t approvals)
{
    struct approvals row = {.approvals = approvals};
    unsigned char digest[DIGEST_SIZE];
    snprintf(row.account, sizeof row.account, "%s", account);
    table_digest(db, &limit_approvals_table, &row, digest);
    return db_owed(db_change(
        db,
        "INSERT INTO ledger_approvals (account, approvals, digest) VALUES ($1, $2, $3) "
        "ON CONFLICT (account) DO UPDATE SET approvals = $2, digest = $3",
        DB_VALUES(db_text(account), db_integer(approvals), db_bytes(digest, sizeof digest))));
}
