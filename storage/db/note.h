/* Notes of the store about itself: rows of meta that are under a digest. */
#ifndef TACET_STORAGE_DB_NOTE_H
#define TACET_STORAGE_DB_NOTE_H

#include "storage/db/table.h"

#define NOTE_SIZE 96 /* bytes of a value, its NUL included */

extern const struct table notes_table;

/* Reads the note NAME, of at most 15 bytes. DB_NONE: there is none, and VALUE is "". */
enum db_status note_find(struct db *db, const char *name, char value[NOTE_SIZE]);

/* Puts VALUE in place of what the note NAME says, or makes the note. */
enum db_status note_put(struct db *db, const char *name, const char *value);

#endif
