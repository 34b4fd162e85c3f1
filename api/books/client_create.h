/* Making clients and their tokens: by routes, and from the command line on a service that need not
 * run. */
#ifndef TACET_API_BOOKS_CLIENT_CREATE_H
#define TACET_API_BOOKS_CLIENT_CREATE_H

#include "api/call/auth.h"
#include "storage/client_tokens.h"

struct app;

#define CLIENT_NAME_MAX_BYTES   100
#define CLIENT_TOKENS_MOST      10 /* that work at a time */
#define TOKEN_DAYS_MOST         3650
#define TOKEN_OVERLAP_MOST_S    2592000 /* 30 days */
#define TOKEN_OVERLAP_DEFAULT_S 86400

/* What a token is made for. */
struct token_terms {
    uint32_t scopes; /* of enum scope */
    int64_t days;    /* until it expires; 0: never */
};

/* Stores a new client with a new token inside the transaction of the caller. *OUT receives the
 * client's row, *OUT_TOKEN the token's, and TOKEN its text, which is not stored. DB_OK, or the
 * failure of the database. */
enum db_status client_create(struct db *db, const char *name, const char *role,
                             const struct token_terms *terms, int64_t now_ms,
                             struct client_row *out, struct client_token *out_token,
                             char token[TOKEN_SIZE]);

struct token_rotation {
    const char *client;
    struct token_terms terms;
    uint32_t replaced; /* older tokens end that have no scope but these */
    int64_t overlap_s; /* so long the older ones work on */
    int64_t now_ms;
};

/* Stores a new token of a client that exists and ends the older ones after the overlap, inside the
 * transaction of the caller. Outputs as of client_create. DB_NONE: the client has
 * CLIENT_TOKENS_MOST tokens that work. */
enum db_status client_rotate(struct db *db, const struct token_rotation *rotation,
                             struct client_token *out_token, char token[TOKEN_SIZE]);

/* Makes a client and gives its token ("tct_<id>_<secret>", shown once). NULL on success, else a
 * sentence. */
const char *api_client_create(struct app *app, struct db *db, const char *name, const char *role,
                              const struct token_terms *terms, char token[TOKEN_SIZE]);

/* Gives the client of ROTATION a new token; with no scopes in its terms, those of the newest token.
 * Sets now_ms itself. NULL on success, else a sentence. */
const char *api_client_rotate(struct app *app, struct db *db, struct token_rotation *rotation,
                              char token[TOKEN_SIZE]);

#endif
