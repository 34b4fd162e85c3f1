/* Rows as lines of JSON, by the same list of columns that names them in SQL: every column is a
 * member of its own name, in the list's order, and nothing else stands between them.
 *
 *     {"account":"acc_...","sequence":1,"kind":"open","epsilon":1,"hash":"64 hex digits"}
 *
 * Integers are whole numbers of up to 19 digits, which are more than a double holds. */
#ifndef TACET_API_PROOF_ROW_TEXT_H
#define TACET_API_PROOF_ROW_TEXT_H

#include <stdbool.h>

#include "memory/buffer.h"
#include "storage/db/table.h"

/* Adds ROW of TABLE to OUT. OUT may fail. */
void row_text_write(struct buffer *out, const struct table *table, const void *row);

/* Reads what row_text_write wrote at *AT, in place: texts are unescaped where they stand, and
 * pointers of ROW point at them. *AT moves behind the row. False: it is no such row. */
bool row_text_read(const struct table *table, char **at, void *row);

/* Moves *AT behind the literal TEXT. False, and *AT stays: another text is there. */
bool row_text_skip(char **at, const char *text);

/* Reads an integer at *AT into *OUT. False: there is none, or it is written in another way. */
bool row_text_integer(char **at, int64_t *out);

/* Reads a JSON string at *AT and unescapes it in place. NULL: there is none. */
char *row_text_string(char **at);

#endif
