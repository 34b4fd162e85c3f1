#include "storage/db/note.h"

#include <stdio.h>
#include <string.h>

struct note {
    char name[16], value[NOTE_SIZE];
};

static const struct column note_columns[] = {
    COLUMN(note, name, TEXT),
    COLUMN(note, value, TEXT),
};

const struct table notes_table =
    TABLE_DIGESTED("meta", note, note_columns, TABLE_ALL(note_columns), "digest", 1, 0);

enum db_status note_find(struct db *db, const char *name, char value[NOTE_SIZE])
{
    struct note note = {.value = ""};
    enum db_status status =
        table_find_known(db, &notes_table, "WHERE name = $1", DB_VALUES(db_text(name)), &note);
    memcpy(value, note.value, NOTE_SIZE);
    return status;
}

enum db_status note_put(struct db *db, const char *name, const char *value)
{
    struct note note;
    unsigned char digest[DIGEST_SIZE];
    snprintf(note.name, sizeof note.name, "%s", name);
    snprintf(note.value, sizeof note.value, "%s", value);
    table_digest(db, &notes_table, &note, digest);
    enum db_status status = db_change(
        db, "UPDATE meta SET value = $2, digest = $3 WHERE name = $1",
        DB_VALUES(db_text(note.name), db_text(note.value), db_bytes(digest, sizeof digest)));
    if (status == DB_NONE)
        status = table_insert(db, &notes_table, &note, NULL, 0);
    return db_owed(status);
}
