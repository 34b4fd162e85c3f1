/* Who may call. Tokens are not here, only a hash of their secret. */
#ifndef TACET_STORAGE_CLIENTS_H
#define TACET_STORAGE_CLIENTS_H

#include <stdint.h>

#include "storage/db.h"
#include "storage/id.h"

#define NAME_SIZE 204 /* a name of at most 200 bytes and its NUL */
#define CLIENT_HASH_SIZE 32

struct client {
    char id[ID_SIZE];
    char name[NAME_SIZE];
    char role[16];
    unsigned char secret_hash[CLIENT_HASH_SIZE];
    int64_t created_ms;
    int64_t revoked_ms; /* 0: valid */
};

enum db_status clients_insert(struct db *db, const struct client *client);
enum db_status clients_find(struct db *db, const char *id, struct client *out);
/* DB_NONE: no such client, or revoked already. The row stays: the ledger names it. */
enum db_status clients_revoke(struct db *db, const char *id, int64_t now_ms);
/* At most LIMIT clients that are not revoked, in order of creation, after the one that (AFTER_MS, AFTER_ID) names
 * (0, "" for the first). */
enum db_status clients_list(struct db *db, int64_t after_ms, const char *after_id, unsigned limit, struct client *out,
                            unsigned *out_count);

#endif
