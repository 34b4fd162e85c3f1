/* The note of a service's life. Within storage/recovery*. */
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

#endif
