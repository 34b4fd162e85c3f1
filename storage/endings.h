/* How teachers and policies end. A teacher is closed, which is final, and may be deleted after
 * that; a policy is deleted. The ledger, certificates and stored answers stay. */
#ifndef TACET_STORAGE_ENDINGS_H
#define TACET_STORAGE_ENDINGS_H

#include "storage/db/db.h"
#include "storage/db/id.h"

struct ending {
    char resource[ID_SIZE]; /* tch_ or pol_ */
    char client[ID_SIZE];   /* who ended it */
    int64_t closed_ms;
    int64_t deleted_ms; /* 0: it is closed, and shown */
};

/* How RESOURCE ended. DB_NONE: it has not. */
enum db_status endings_find(struct db *db, const char *resource, struct ending *out);

/* Sets *OUT to whether RESOURCE is deleted. */
enum db_status endings_deleted(struct db *db, const char *resource, bool *out);

/* Stores that ENDING closed its resource. DB_NONE: it was closed before. */
enum db_status endings_close(struct db *db, const struct ending *ending);

/* Stores that ENDING deleted its resource, closed or not. DB_NONE: it was deleted before. */
enum db_status endings_delete(struct db *db, const struct ending *ending);

#endif
