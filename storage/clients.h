/* Who may call: one row per client. Rows are never removed, because entries of the ledger name
 * them. What a client shows to prove who it is stands in client_tokens.h. */
#ifndef TACET_STORAGE_CLIENTS_H
#define TACET_STORAGE_CLIENTS_H

#include "storage/db/db.h"
#include "storage/db/id.h"

#define CLIENT_ROLE_SIZE 24

struct client_row {
    char id[ID_SIZE]; /* cli_ */
    char name[NAME_SIZE];
    char role[CLIENT_ROLE_SIZE];
    int64_t created_ms;
    int64_t revoked_ms; /* 0: may still call */
};

/* Stores CLIENT (its id from id_new), a steward with a project of its own that has its id.
 * DB_NONE when the id exists. */
enum db_status clients_insert(struct db *db, const struct client_row *client);

/* Finds a client by its id, revoked or not. DB_NONE: unknown. */
enum db_status clients_find(struct db *db, const char *id, struct client_row *out);

typedef bool client_fn(void *context, const struct client_row *client);

/* Shows a PAGE of the clients in order of creation, revoked ones included. EACH may stop by false.
 */
enum db_status clients_list(struct db *db, const struct listing_page *page, client_fn *each,
                            void *context);

/* Copies the name of a client. DB_NONE: unknown, or its row is damaged. */
enum db_status clients_name(struct db *db, const char *id, char out[NAME_SIZE]);

/* Marks the client as revoked; doing it twice keeps the first time. A damaged row
 * keeps its id and time, and becomes that of a student without a name. DB_NONE: unknown. */
enum db_status clients_revoke(struct db *db, const char *id, int64_t now_ms);

#endif
