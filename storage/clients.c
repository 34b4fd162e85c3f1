/* Clients and their secrets' hashes. */
#include "storage/clients.h"

#include <string.h>

#include "storage/db/listing.h"
#include "storage/db/row_memo.h"

#define COLUMNS "id, name, role, secret_hash, created_ms, revoked_ms"

static bool read_client(const struct db_row *row, struct client_row *out)
{
    size_t size = 0;
    const void *hash = db_row_bytes(row, 3, &size);
    if (size != sizeof out->secret_hash)
        return false;
    memcpy(out->secret_hash, hash, size);
    out->created_ms = db_row_integer(row, 4);
    out->revoked_ms = db_row_integer(row, 5);
    return db_row_copy(row, 0, out->id, sizeof out->id) &&
           db_row_copy(row, 1, out->name, sizeof out->name) &&
           db_row_copy(row, 2, out->role, sizeof out->role);
}

static const struct db_keeper memo = ROW_MEMO_KEEPER(DB_KEEP_CLIENTS, struct client_row);

static bool is_client(const void *row, const void *id)
{
    return strcmp(((const struct client_row *)row)->id, id) == 0;
}

enum db_status clients_insert(struct db *db, const struct client_row *client)
{
    struct db_value values[] = {
        db_text(client->id),
        db_text(client->name),
        db_text(client->role),
        db_bytes(client->secret_hash, sizeof client->secret_hash),
        db_integer(client->created_ms),
        db_integer(client->revoked_ms),
    };
    return db_change(db,
                     "INSERT INTO clients (" COLUMNS ") VALUES ($1, $2, $3, $4, $5, $6) "
                     "ON CONFLICT DO NOTHING RETURNING 1",
                     values, 6, listing_ignore, NULL);
}

static enum db_status see_client(void *context, const struct db_row *row)
{
    return read_client(row, context) ? DB_OK : DB_FAILED;
}

enum db_status clients_find(struct db *db, const char *id, struct client_row *out)
{
    if (row_memo_find(db, &memo, sizeof *out, is_client, id, out))
        return DB_OK;
    struct db_value values[] = {db_text(id)};
    enum db_status status =
        db_one(db, "SELECT " COLUMNS " FROM clients WHERE id = $1", values, 1, see_client, out);
    if (status == DB_OK)
        row_memo_put(db, &memo, sizeof *out, out);
    return status;
}

struct client_list {
    client_fn *each;
    void *context;
};

static enum db_status show_client(void *context, const struct db_row *row)
{
    const struct client_list *list = context;
    struct client_row client;
    if (!read_client(row, &client))
        return DB_FAILED;
    return list->each(list->context, &client) ? DB_OK : DB_NONE;
}

enum db_status clients_list(struct db *db, const char *after, unsigned limit, client_fn *each,
                            void *context)
{
    struct client_list list = {each, context};
    struct db_value values[] = {db_text(!after ? "" : after), db_integer(limit)};
    return listing_end(
        db_run(db, "SELECT " COLUMNS " FROM clients WHERE" LISTING_PAGE("clients", "$1", "$2"),
               values, 2, show_client, &list));
}

enum db_status clients_revoke(struct db *db, const char *id, int64_t now_ms)
{
    struct db_value values[] = {db_text(id), db_integer(now_ms)};
    row_memo_drop(db, &memo);
    return db_change(db,
                     "UPDATE clients SET revoked_ms = CASE WHEN revoked_ms = 0 THEN $2 "
                     "ELSE revoked_ms END WHERE id = $1 RETURNING 1",
                     values, 2, listing_ignore, NULL);
}
