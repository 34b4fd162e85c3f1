/* Small named values. */
#include "storage/db/meta.h"

#include "storage/db/listing.h"

struct text_out {
    char *out;
    size_t size;
};

static enum db_status see_value(void *context, const struct db_row *row)
{
    const struct text_out *to = context;
    return db_row_copy(row, 0, to->out, to->size) ? DB_OK : DB_FAILED;
}

enum db_status meta_get(struct db *db, const char *name, char *out, size_t size)
{
    struct db_value values[] = {db_text(name)};
    struct text_out to = {out, size};
    return db_one(db, "SELECT value FROM meta WHERE name = $1", values, 1, see_value, &to);
}

enum db_status meta_set(struct db *db, const char *name, const char *value)
{
    struct db_value values[] = {db_text(name), db_text(value)};
    return db_optional(db_change(db,
                                 "INSERT INTO meta (name, value) VALUES ($1, $2) "
                                 "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                                 values, 2));
}
