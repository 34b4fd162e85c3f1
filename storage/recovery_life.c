#include "storage/recovery_life.h"

#include <inttypes.h>
#include <stdio.h>

#include "storage/db/note.h"

enum db_status recovery_life(struct db *db, struct recovery_life *out)
{
    char value[NOTE_SIZE];
    *out = (struct recovery_life){.number = 1};
    enum db_status status = note_find(db, "life", value);
    if (status == DB_OK &&
        sscanf(value, "%31s %" SCNd64 " %" SCNd64, out->id, &out->number, &out->answered_ms) != 3)
        return db_fail(db, "meta", "the note of the service's life cannot be read");
    return db_optional(status);
}

bool recovery_read_life(struct db *db, struct recovery_life *out, char *error, size_t error_size)
{
    bool good = recovery_life(db, out) == DB_OK;
    if (!good)
        snprintf(error, error_size, "the database cannot be read: %s", db_last_error(db));
    return good;
}

enum db_status recovery_note_life(struct db *db, void *context)
{
    const struct recovery_life *life = context;
    char value[NOTE_SIZE];
    snprintf(value, sizeof value, "%s %" PRId64 " %" PRId64, life->id, life->number,
             life->answered_ms);
    return note_put(db, "life", value);
}
