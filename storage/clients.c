/* Clients. */
#include "storage/clients.h"

#include <stdio.h>
#include <string.h>

#include "storage/db/digest.h"
#include "storage/db/listing.h"
#include "storage/db/table.h"
#include "storage/digests.h"
#include "storage/projects.h"

static const struct column client_columns[] = {
    COLUMN(client_row, id, TEXT),
    COLUMN(client_row, name, TEXT),
    COLUMN(client_row, role, TEXT),
    COLUMN(client_row, created_ms, INTEGER),
    COLUMN(client_row, revoked_ms, INTEGER),
};

const struct table clients_table = TABLE_DIGESTED("clients", client_row, client_columns,
                                                  TABLE_ALL(client_columns), "digest", 1, 0);

/* A steward has a project of its own, which bears its id and name. */
static enum db_status give_project(struct db *db, const struct client_row *client)
{
    struct project_row project = {.created_ms = client->created_ms};
    struct project_member_row member = {.role = PROJECT_OWNER, .added_ms = client->created_ms};
    memcpy(project.id, client->id, ID_SIZE);
    memcpy(project.name, client->name, NAME_SIZE);
    memcpy(member.project, client->id, ID_SIZE);
    memcpy(member.client, client->id, ID_SIZE);
    memcpy(member.added_by, client->id, ID_SIZE);
    enum db_status status = projects_insert(db, &project);
    return status == DB_OK ? projects_member_put(db, &member) : status;
}

static enum db_status insert_client(struct db *db, void *context)
{
    const struct client_row *client = context;
    enum db_status status = table_insert(db, &clients_table, client, NULL, 0);
    if (status == DB_OK && strcmp(client->role, "steward") == 0)
        status = db_owed(give_project(db, client));
    return status;
}

enum db_status clients_insert(struct db *db, const struct client_row *client)
{
    struct client_row row = *client;
    return db_transact(db, insert_client, &row);
}

enum db_status clients_find(struct db *db, const char *id, struct client_row *out)
{
    return table_find(db, &clients_table, "WHERE id = $1", DB_VALUES(db_text(id)), out);
}

TABLE_SHOW(show_client, client_row);

enum db_status clients_list(struct db *db, const struct listing_page *page, client_fn *each,
                            void *context)
{
    struct show_client list = {each, context};
    return table_list(db, &clients_table, "WHERE" LISTING_PAGE("$1", "$2", "$3"),
                      DB_VALUES(LISTING_VALUES(page)), show_client, &list);
}

enum db_status clients_name(struct db *db, const char *id, char out[NAME_SIZE])
{
    struct client_row row;
    enum db_status status =
        table_find_sound(db, &clients_table, "WHERE id = $1", DB_VALUES(db_text(id)), &row);
    if (status == DB_OK)
        memcpy(out, row.name, NAME_SIZE);
    return status;
}

struct revocation {
    const char *client;
    int64_t now_ms;
};

/* What a damaged row says of a client is not known. */
static enum db_status find_to_revoke(struct db *db, const char *id, struct client_row *out)
{
    enum db_status status = clients_find(db, id, out);
    if (status != DB_FAILED || !digest_damaged(db, &clients_table, id))
        return status;
    *out = (struct client_row){.role = "student"};
    snprintf(out->id, sizeof out->id, "%s", id);
    return db_one(db, "SELECT created_ms FROM clients WHERE id = $1", DB_VALUES(db_text(id)),
                  listing_integer, &out->created_ms);
}

static enum db_status revoke_client(struct db *db, void *context)
{
    const struct revocation *revocation = context;
    struct client_row row;
    unsigned char digest[DIGEST_SIZE];
    enum db_status status = find_to_revoke(db, revocation->client, &row);
    if (status != DB_OK || row.revoked_ms != 0)
        return status;
    row.revoked_ms = revocation->now_ms;
    table_digest(db, &clients_table, &row, digest);
    return db_owed(db_change(
        db, "UPDATE clients SET name = $2, role = $3, revoked_ms = $4, digest = $5 WHERE id = $1",
        DB_VALUES(db_text(row.id), db_text(row.name), db_text(row.role), db_integer(row.revoked_ms),
                  db_bytes(digest, DIGEST_SIZE))));
}

enum db_status clients_revoke(struct db *db, const char *id, int64_t now_ms)
{
    struct revocation revocation = {id, now_ms};
    return db_transact(db, revoke_client, &revocation);
}
