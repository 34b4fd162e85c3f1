/* Making a client. */
#include "api/books/client_create.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "api/call/app.h"
#include "api/call/auth.h"

enum db_status client_create(struct db *db, const char *name, const char *role, int64_t now_ms,
                             struct client_row *out, char token[TOKEN_SIZE])
{
    memset(out, 0, sizeof *out);
    id_new("cli_", out->id);
    snprintf(out->name, sizeof out->name, "%s", name);
    snprintf(out->role, sizeof out->role, "%s", role);
    out->created_ms = now_ms;
    auth_token_new(out->id, token, out->secret_hash);
    return clients_insert(db, out);
}

struct creation {
    const char *name, *role;
    int64_t now_ms;
    char *token;
};

static enum db_status create_work(struct db *db, void *context)
{
    struct creation *creation = context;
    struct client_row client;
    return client_create(db, creation->name, creation->role, creation->now_ms, &client,
                         creation->token);
}

const char *api_client_create(struct app *app, struct db *db, const char *name, const char *role,
                              char token[160])
{
    size_t length = strlen(name);
    if (length < 1 || length > CLIENT_NAME_MAX_BYTES)
        return "the name must be 1 to 100 bytes long";
    if (role_find(role) == ROLE_NONE)
        return "the role must be admin, steward, contributor, student, agent or auditor";
    struct creation creation = {name, role, app->settings.now_ms(), token};
    enum db_status status = db_transact(db, create_work, &creation);
    if (status == DB_OK)
        return NULL;
    sodium_memzero(token, TOKEN_SIZE);
    if (status == DB_FULL)
        return "the disk is full or read-only";
    return "the database failed";
}
