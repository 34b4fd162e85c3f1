/* Requests for larger budgets. */
#include "storage/budget_requests.h"

#include <string.h>

#include "storage/db/listing.h"
#include "storage/digests.h"

static const char *const state_names[] = {"open", "approved", "declined", NULL};

static const struct column request_columns[] = {
    COLUMN(budget_request_row, id, TEXT),
    COLUMN(budget_request_row, client, TEXT),
    COLUMN(budget_request_row, teacher, TEXT),
    COLUMN(budget_request_row, owner, TEXT),
    COLUMN(budget_request_row, epsilon, REAL),
    COLUMN(budget_request_row, delta, REAL),
    COLUMN(budget_request_row, reason, TEXT),
    {"state", COLUMN_WORD, offsetof(struct budget_request_row, state),
     sizeof(enum budget_request_state), state_names},
    COLUMN(budget_request_row, given_epsilon, REAL),
    COLUMN(budget_request_row, given_delta, REAL),
    COLUMN(budget_request_row, answer, TEXT),
    COLUMN(budget_request_row, created_ms, INTEGER),
    COLUMN(budget_request_row, decided_ms, INTEGER),
};

const struct table budget_requests_table =
    TABLE_DIGESTED("budget_requests", budget_request_row, request_columns,
                   TABLE_ALL(request_columns), "digest", 1, 0);

const char *budget_request_state_name(enum budget_request_state state)
{
    return state_names[state];
}

bool budget_request_state_find(const char *name, enum budget_request_state *out)
{
    for (unsigned i = 0; state_names[i]; i++) {
        if (strcmp(state_names[i], name) == 0) {
            *out = (enum budget_request_state)i;
            return true;
        }
    }
    return false;
}

enum db_status budget_requests_insert(struct db *db, const struct budget_request_row *request)
{
    return table_insert(db, &budget_requests_table, request, NULL, 0);
}

enum db_status budget_requests_find(struct db *db, const char *id, struct budget_request_row *out)
{
    return table_find_id(db, &budget_requests_table, id, out);
}

enum db_status budget_requests_count(struct db *db, const char *client, const char *teacher,
                                     int64_t *out_all, int64_t *out_at_teacher)
{
    int64_t counts[2] = {0};
    enum db_status status =
        db_one(db,
               "SELECT count(*), coalesce(sum(CASE WHEN teacher = $2 THEN 1 ELSE 0 END), 0) FROM "
               "budget_requests "
               "WHERE client = $1 AND state = 'open'",
               DB_VALUES(db_text(client), db_text(teacher)), listing_integers, counts);
    *out_all = counts[0];
    *out_at_teacher = counts[1];
    return db_owed(status);
}

TABLE_SHOW(show_request, budget_request_row);

#define PAGE_OF_REQUESTS LISTING_PAGE("$4", "$5", "$6")

enum db_status budget_requests_list(struct db *db, const char *client, const char *owner,
                                    const enum budget_request_state *state,
                                    const struct listing_page *page, budget_request_fn *each,
                                    void *context)
{
    struct show_request list = {each, context};
    const char *word = state ? state_names[*state] : NULL;
    struct db_value values[] = {db_text_or_empty(client), db_text_or_empty(owner),
                                db_text_or_empty(word), LISTING_VALUES(page)};
    /* Clients and stewards have an index each. */
    const char *tail = "WHERE ($1 = '' OR client = $1) AND ($2 = '' OR" OWNER_AMONG(
        "$2") ") "
              "AND ($3 = '' OR state = $3) AND" PAGE_OF_REQUESTS;
    if (client)
        tail = "WHERE client = $1 AND ($2 = '' OR" OWNER_AMONG(
            "$2") ") "
                  "AND ($3 = '' OR state = $3) AND" PAGE_OF_REQUESTS;
    else if (owner && !strchr(owner, ' '))
        tail = "WHERE owner = $2 AND ($1 = '' OR client = $1) "
               "AND ($3 = '' OR state = $3) AND" PAGE_OF_REQUESTS;
    return table_list(db, &budget_requests_table, tail, values, 6, show_request, &list);
}

enum db_status budget_requests_decide(struct db *db, const struct budget_request_row *decided)
{
    unsigned char digest[DIGEST_SIZE];
    table_digest(db, &budget_requests_table, decided, digest);
    return db_change(db,
                     "UPDATE budget_requests SET state = $2, given_epsilon = $3, given_delta = $4, "
                     "answer = $5, decided_ms = $6, digest = $7 WHERE id = $1 AND state = 'open'",
                     DB_VALUES(db_text(decided->id), db_text(state_names[decided->state]),
                               db_real(decided->given_epsilon), db_real(decided->given_delta),
                               db_text(decided->answer), db_integer(decided->decided_ms),
                               db_bytes(digest, sizeof digest)));
}
