/* Clients. */
#include "storage/clients.h"

#include "storage/db/listing.h"
#include "storage/db/table.h"

static const struct column client_columns[] = {
    COLUMN(client_row, id, TEXT),
    COLUMN(client_row, name, TEXT),
    COLUMN(client_row, role, TEXT),
    COLUMN(client_row, created_ms, INTEGER),
    COLUMN(client_row, revoked_ms, INTEGER),
};

static const struct table clients_table =
    TABLE("clients", client_row, client_columns, TABLE_ALL(client_columns));

enum db_status clients_insert(struct db *db, const struct client_row *client)
{
    return table_insert(db, &clients_table, client, NULL, 0);
}

enum db_status clients_find(struct db *db, const char *id, struct client_row *out)
{
    return table_find(db, &clients_table, "WHERE id = $1", DB_VALUES(db_text(id)), out);
}

TABLE_SHOW(show_client, client_row);

enum db_status clients_list(struct db *db, const char *after, unsigned limit, client_fn *each,
                            void *context)
{
    struct show_client list = {each, context};
    return table_list(db, &clients_table, "WHERE" LISTING_PAGE("clients", "$1", "$2"),
                      DB_VALUES(db_text_or_empty(after), db_integer(limit)), show_client, &list);
}

enum db_status clients_revoke(struct db *db, const char *id, int64_t now_ms)
{
    return db_change(db,
                     "UPDATE clients SET revoked_ms = CASE WHEN revoked_ms = 0 THEN $2 "
                     "ELSE revoked_ms END WHERE id = $1",
                     DB_VALUES(db_text(id), db_integer(now_ms)));
}
