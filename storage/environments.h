/* Worlds that clients registered: programs that the service keeps and runs sealed. A row is made
 * once and never changed, and its id is never used again. */
#ifndef TACET_STORAGE_ENVIRONMENTS_H
#define TACET_STORAGE_ENVIRONMENTS_H

#include "storage/db/db.h"
#include "storage/db/id.h"

#define ENVIRONMENT_PREFIX      "env_"
#define ENVIRONMENT_RUNNER_SIZE 32
#define ENVIRONMENT_SHA256_SIZE 65 /* hexadecimal digits and NUL */

struct environment_row {
    char id[ID_SIZE];    /* env_ */
    char owner[ID_SIZE]; /* its project */
    char name[NAME_SIZE];
    char client[ID_SIZE]; /* who registered it */
    char runner[ENVIRONMENT_RUNNER_SIZE];
    char source_sha256[ENVIRONMENT_SHA256_SIZE];
    int64_t created_ms;
    char *description; /* JSON, as its program described itself */
    char *source;      /* NULL in lists */
};

/* Stores a world. */
enum db_status environments_insert(struct db *db, const struct environment_row *row);

/* DB_NONE: unknown. Free what it holds with environments_done. */
enum db_status environments_find(struct db *db, const char *id, struct environment_row *out);

/* Frees the texts of ROW. */
void environments_done(struct environment_row *row);

typedef bool environment_fn(void *context, const struct environment_row *row);

/* Shows the worlds of OWNERS, separated by spaces, without their sources, in order of creation. */
enum db_status environments_list(struct db *db, const char *owners, environment_fn *each,
                                 void *context);

/* How many CLIENT registered that are still there. */
enum db_status environments_count(struct db *db, const char *client, int64_t *out);

/* Removes a world with its source. DB_NONE: unknown. */
enum db_status environments_delete(struct db *db, const char *id);

#endif
