/* Making a client: by the route POST /v1/clients, and from the command line on a new service. */
#ifndef TACET_API_BOOKS_CLIENT_CREATE_H
#define TACET_API_BOOKS_CLIENT_CREATE_H

#include "api/call/auth.h"
#include "storage/clients.h"

struct app;

#define CLIENT_NAME_MAX_BYTES 100

/* Stores a new client with a new token inside the transaction of the caller. *OUT receives the
 * client's row and TOKEN the token, which is not stored. DB_OK, or the failure of the database. */
enum db_status client_create(struct db *db, const char *name, const char *role, int64_t now_ms,
                             struct client_row *out, char token[TOKEN_SIZE]);

/* Makes a client and gives its token ("tct_<id>_<secret>", shown once). NULL on success, else a
 * sentence. */
const char *api_client_create(struct app *app, struct db *db, const char *name, const char *role,
                              char token[160]);

#endif
