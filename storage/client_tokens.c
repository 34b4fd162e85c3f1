/* The tokens of clients, found by the hash of their secret. */
#include "storage/client_tokens.h"

#include "storage/db/listing.h"
#include "storage/db/table.h"

#define KEPT_NUMBERS "50"

/* A token NUMBER ($2) or an older one ends at $3, never later than it was to end; for good where $3
 * is below 0. */
#define END_AT_3                                                                                   \
    "UPDATE client_tokens SET revoked_ms = CASE WHEN revoked_ms < 0 THEN revoked_ms "              \
    "WHEN revoked_ms = 0 OR revoked_ms > abs($3) THEN $3 "                                         \
    "WHEN $3 < 0 THEN -revoked_ms ELSE revoked_ms END WHERE client = $1 AND number "

static const struct column token_columns[] = {
    COLUMN(client_token, client, TEXT),        COLUMN(client_token, number, INTEGER),
    COLUMN(client_token, secret_hash, BYTES),  COLUMN(client_token, scopes, COUNT),
    COLUMN(client_token, created_ms, INTEGER), COLUMN(client_token, expires_ms, INTEGER),
    COLUMN(client_token, revoked_ms, INTEGER),
};

static const struct table tokens_table =
    TABLE("client_tokens", client_token, token_columns, TABLE_ALL(token_columns));

#define BEARER_COLUMN(sql, field, kind)                                                            \
    {                                                                                              \
        sql, COLUMN_##kind, offsetof(struct client_bearer, field),                                 \
            sizeof(((struct client_bearer *)0)->field), NULL                                       \
    }

static const struct column bearer_columns[] = {
    BEARER_COLUMN("c.role", role, TEXT),
    BEARER_COLUMN("c.revoked_ms", client_revoked_ms, INTEGER),
    BEARER_COLUMN("t.number", number, INTEGER),
    BEARER_COLUMN("t.scopes", scopes, COUNT),
    BEARER_COLUMN("t.expires_ms", expires_ms, INTEGER),
    BEARER_COLUMN("t.revoked_ms", revoked_ms, INTEGER),
};

static const struct table bearers_table =
    TABLE("client_tokens AS t CROSS JOIN clients AS c", client_bearer, bearer_columns, 0);

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
        status = table_insert(db, &tokens_table, token, NULL, 0);
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

enum db_status client_tokens_bearer(struct db *db, const char *client,
                                    const unsigned char hash[CLIENT_HASH_SIZE],
                                    struct client_bearer *out)
{
    return table_find_known(db, &bearers_table,
                            "WHERE t.client = $1 AND t.secret_hash = $2 AND c.id = $1",
                            DB_VALUES(db_text(client), db_bytes(hash, CLIENT_HASH_SIZE)), out);
}

enum db_status client_tokens_find(struct db *db, const char *client, int64_t number,
                                  struct client_token *out)
{
    return table_find(db, &tokens_table,
                      "WHERE client = $1 AND ($2 = 0 OR number = $2)"
                      " ORDER BY number DESC LIMIT 1",
                      DB_VALUES(db_text(client), db_integer(number)), out);
}

TABLE_SHOW(show_token, client_token);

enum db_status client_tokens_list(struct db *db, const char *client, client_token_fn *each,
                                  void *context)
{
    struct show_token list = {each, context};
    return table_list(db, &tokens_table, "WHERE client = $1 ORDER BY number",
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

enum db_status client_tokens_end(struct db *db, const char *client, int64_t number,
                                 int64_t until_ms)
{
    return db_change(db, END_AT_3 "= $2",
                     DB_VALUES(db_text(client), db_integer(number), db_integer(until_ms)));
}

enum db_status client_tokens_end_older(struct db *db, const char *client, int64_t number,
                                       uint32_t scopes, int64_t until_ms)
{
    return db_optional(db_change(
        db, END_AT_3 "< $2 AND (scopes & ~$4) = 0",
        DB_VALUES(db_text(client), db_integer(number), db_integer(until_ms), db_integer(scopes))));
}
