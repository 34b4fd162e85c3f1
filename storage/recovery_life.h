/* The note of a service's life, and what its marks say of datasets. Within storage/recovery*. */
#ifndef TACET_STORAGE_RECOVERY_LIFE_H
#define TACET_STORAGE_RECOVERY_LIFE_H

#include <stdbool.h>
#include <stddef.h>

#include "storage/recovery.h"

#define RECOVERY_MOVED "moved" /* the life of marks whose service is elsewhere */

/* As recovery_life. False: ERROR holds a sentence. */
bool recovery_read_life(struct db *db, struct recovery_life *out, char *error, size_t error_size);

/* Notes CONTEXT, a struct recovery_life: work of a transaction. */
enum db_status recovery_note_life(struct db *db, void *context);

struct recovery_uncovering {
    const struct marks *marks;
    const char *life; /* of ID_SIZE bytes: the audit trail names it */
    int64_t now_ms;
};

/* Uncovers the private datasets that by CONTEXT, a struct recovery_uncovering, were uncovered after
 * the database was copied, or may have been: work of a transaction. */
enum db_status recovery_uncover(struct db *db, void *context);

#endif
