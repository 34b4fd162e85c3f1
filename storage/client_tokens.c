/* The tokens of clients, found by the hash of their secret. */
#include "storage/client_tokens.h"

#include <stdlib.h>

#include "storage/db/listing.h"
#include "storage/db/table.h"
#include "storage/digests.h"

#define KEPT_NUMBERS "50"

static const struct column token_columns[] = {
    COLUMN(client_token, client, TEXT),        COLUMN(client_token, number, INTEGER),
    COLUMN(client_token, secret_hash, BYTES),  COLUMN(client_token, scopes, COUNT),
    COLUMN(client_token, created_ms, INTEGER), COLUMN(client_token, expires_ms, INTEGER),
    COLUMN(client_token, revoked_ms, INTEGER),
};

const struct table client_tokens_table = TABLE_DIGESTED(
    "client_tokens", client_token, token_columns, TABLE_ALL(token_columns), "digest", 2, 0);

int64_t client_token_end(int64_t expires_ms, int64_t revoked_ms)
{
    int64_t expires = expires_ms != 0 ? expires_ms : INT64_MAX;
    int64_t revoked = revoked_ms != 0 ? revoked_ms : INT64_MAX;
    return expires < revoked ? expires : revoked;
}

static enum db_status token_number_next(struct db *db, struct client_token *token)
{
    return db_one(db, "SELECT coalesce(max(number), 0) + 1 FROM client_tokens WHERE client = $1",
                  DB_VALUES(db_text(token->client)), listing_integer, &token->number);
}

enum db_status client_tokens_insert(struct db *db, struct client_token *token)
{
    enum db_status status = token_number_next(db, token);
    if (status == DB_OK)
        status = table_insert(db, &client_tokens_table, token, NULL, 0);
    if (status != DB_OK)
        return status;
    return db_optional(
        db_change(db,
                  "DELETE FROM client_tokens WHERE client = $1 AND number <= $2 - " KEPT_NUMBERS
                  " AND ((revoked_ms <> 0 AND revoked_ms <= $3)"
                  " OR (expires_ms <> 0 AND expires_ms <= $3))",
                  DB_VALUES(db_text(token->client), db_integer(token->number),
                            db_integer(token->created_ms))));
}

struct bearer_find {
    struct db *db;
    struct client_bearer *out;
    bool found;
};

static enum db_status see_bearer(void *context, const struct db_row *row)
{
    struct bearer_find *find = context;
    find->found = true;
    bool good = table_read_part(find->db, &client_tokens_table, row, 0, &find->out->token) &&
                table_read_part(find->db, &clients_table, row, client_tokens_table.count + 1,
                                &find->out->client);
    return good ? DB_OK : DB_FAILED;
}

/* The columns of both tables in their order: one statement, because each is a message where the
 * database is another process. */
enum db_status client_tokens_bearer(struct db *db, const char *client,
                                    const unsigned char hash[CLIENT_HASH_SIZE],
                                    struct client_bearer *out)
{
    struct bearer_find find = {db, out, false};
    enum db_status status = db_run_known(
        db,
        "SELECT t.client, t.number, t.secret_hash, t.scopes, t.created_ms, t.expires_ms, "
        "t.revoked_ms, t.digest, c.id, c.name, c.role, c.created_ms, c.revoked_ms, c.digest "
        "FROM client_tokens AS t CROSS JOIN clients AS c WHERE t.client = $1 AND t.secret_hash = "
        "$2 AND c.id = $1",
        DB_VALUES(db_text(client), db_bytes(hash, CLIENT_HASH_SIZE)), see_bearer, &find);
    return status == DB_OK && !find.found ? DB_NONE : status;
}

enum db_status client_tokens_find(struct db *db, const char *client, int64_t number,
                                  struct client_token *out)
{
    return table_find(db, &client_tokens_table,
                      "WHERE client = $1 AND ($2 = 0 OR number = $2)"
                      " ORDER BY number DESC LIMIT 1",
                      DB_VALUES(db_text(client), db_integer(number)), out);
}

TABLE_SHOW(show_token, client_token);

enum db_status client_tokens_list(struct db *db, const char *client, client_token_fn *each,
                                  void *context)
{
    struct show_token list = {each, context};
    return table_list_sound(db, &client_tokens_table, "WHERE client = $1 ORDER BY number",
                            DB_VALUES(db_text(client)), show_token, &list);
}

enum db_status client_tokens_count(struct db *db, const char *client, int64_t now_ms,
                                   int64_t *out_count)
{
    return db_one(db,
                  "SELECT count(*) FROM client_tokens WHERE client = $1"
                  " AND (expires_ms = 0 OR expires_ms > $2)"
                  " AND (revoked_ms = 0 OR revoked_ms > $2)",
                  DB_VALUES(db_text(client), db_integer(now_ms)), listing_integer, out_count);
}

struct tokens_end {
    struct db *db;
    const char *client;
    int64_t first, last; /* numbers */
    uint32_t scopes;     /* the most that a token may have that ends */
    int64_t until_ms;
    bool found;
    enum db_status status;
};

/* When a token ends that was REVOKED_MS: at UNTIL_MS, never later than it was to end; for good
 * where one of them is below 0. */
static int64_t earlier_end(int64_t revoked_ms, int64_t until_ms)
{
    if (revoked_ms < 0)
        return revoked_ms;
    if (revoked_ms == 0 || revoked_ms > llabs(until_ms))
        return until_ms;
    return until_ms < 0 ? -revoked_ms : revoked_ms;
}

static enum db_status put_token_end(struct tokens_end *end, struct client_token *token,
                                    int64_t until_ms)
{
    unsigned char digest[DIGEST_SIZE];
    token->revoked_ms = earlier_end(token->revoked_ms, until_ms);
    table_digest(end->db, &client_tokens_table, token, digest);
    return db_owed(db_change(
        end->db,
        "UPDATE client_tokens SET revoked_ms = $3, scopes = $4, digest = $5 WHERE client = $1 AND "
        "number = $2",
        DB_VALUES(db_text(token->client), db_integer(token->number), db_integer(token->revoked_ms),
                  db_integer(token->scopes), db_bytes(digest, DIGEST_SIZE))));
}

/* A damaged token ends at once, and without scopes, because those that it had are not known. */
static enum db_status see_ending(void *context, const struct db_row *row)
{
    struct tokens_end *end = context;
    struct client_token token;
    end->found = true;
    bool sound = table_read_part(end->db, &client_tokens_table, row, 0, &token);
    if (!sound && !table_read(&client_tokens_table, row, false, &token))
        return end->first == end->last ? DB_FAILED : DB_OK; /* nobody can be known by it */
    if (!sound)
        token.scopes = 0;
    if (token.scopes & ~end->scopes)
        return DB_OK;
    end->status = put_token_end(end, &token, sound ? end->until_ms : -llabs(end->until_ms));
    return end->status;
}

static enum db_status end_tokens(struct db *db, void *context)
{
    struct tokens_end *end = context;
    end->status = DB_OK;
    end->found = false;
    enum db_status status =
        table_rows(db, &client_tokens_table,
                   "WHERE client = $1 AND number >= $2 AND number <= $3 ORDER BY number",
                   DB_VALUES(db_text(end->client), db_integer(end->first), db_integer(end->last)),
                   see_ending, end);
    return status == DB_OK ? end->status : status;
}

enum db_status client_tokens_end(struct db *db, const char *client, int64_t number,
                                 int64_t until_ms)
{
    struct tokens_end end = {.db = db,
                             .client = client,
                             .first = number,
                             .last = number,
                             .scopes = UINT32_MAX,
                             .until_ms = until_ms};
    enum db_status status = db_transact(db, end_tokens, &end);
    return status == DB_OK && !end.found ? DB_NONE : status;
}

enum db_status client_tokens_end_older(struct db *db, const char *client, int64_t number,
                                       uint32_t scopes, int64_t until_ms)
{
    struct tokens_end end = {
        .db = db, .client = client, .last = number - 1, .scopes = scopes, .until_ms = until_ms};
    return db_transact(db, end_tokens, &end);
}
