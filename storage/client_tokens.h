/* The tokens of clients. A client may have several: an old one goes on to work for a while when it
 * is replaced. Of a token only the hash of its secret is stored. */
#ifndef TACET_STORAGE_CLIENT_TOKENS_H
#define TACET_STORAGE_CLIENT_TOKENS_H

#include "storage/clients.h"

#define CLIENT_HASH_SIZE 32

struct client_token {
    char client[ID_SIZE];
    int64_t number; /* 1, 2, ... of the client */
    unsigned char secret_hash[CLIENT_HASH_SIZE];
    uint32_t scopes; /* of enum scope; 0: they are not known, because its row was damaged */
    int64_t created_ms;
    int64_t expires_ms; /* as declared when it was made; 0: never */
    int64_t revoked_ms; /* 0: not revoked; above 0: replaced, and valid until then; below 0: it has
                           ended at -revoked_ms, whatever a clock says */
};

/* A token with what must be known of its client. */
struct client_bearer {
    struct client_token token;
    struct client_row client;
};

/* The time from which a token with these times is not valid any more; INT64_MAX: none. */
int64_t client_token_end(int64_t expires_ms, int64_t revoked_ms);

/* Stores TOKEN under the next number of its client and sets token->number. Removes the client's
 * tokens that have ended and are 50 numbers older. */
enum db_status client_tokens_insert(struct db *db, struct client_token *token);

/* Finds the token of CLIENT with the hash HASH, valid or not. DB_NONE: there is none. */
enum db_status client_tokens_bearer(struct db *db, const char *client,
                                    const unsigned char hash[CLIENT_HASH_SIZE],
                                    struct client_bearer *out);

/* Finds the token NUMBER of CLIENT; with NUMBER 0 its newest one. DB_NONE: there is none. */
enum db_status client_tokens_find(struct db *db, const char *client, int64_t number,
                                  struct client_token *out);

typedef bool client_token_fn(void *context, const struct client_token *token);

/* Shows the tokens of CLIENT in the order of their numbers, without damaged ones. EACH may stop by
 * false. */
enum db_status client_tokens_list(struct db *db, const char *client, client_token_fn *each,
                                  void *context);

/* *out_count receives the number of CLIENT's tokens that are valid at NOW. */
enum db_status client_tokens_count(struct db *db, const char *client, int64_t now_ms,
                                   int64_t *out_count);

/* Ends token NUMBER of CLIENT at UNTIL, or leaves it if it was to end before. An UNTIL below 0 ends
 * it now, at -UNTIL, also for servers whose clocks are behind. A damaged one ends at once. DB_NONE:
 * unknown.
 */
enum db_status client_tokens_end(struct db *db, const char *client, int64_t number,
                                 int64_t until_ms);

/* Does the same with all tokens of CLIENT below NUMBER that have no scope but SCOPES. */
enum db_status client_tokens_end_older(struct db *db, const char *client, int64_t number,
                                       uint32_t scopes, int64_t until_ms);

#endif
