/* The tables of schema_sqlite.c in PostgreSQL's SQL: the same statements, word by word.
 *
 * DESIGN. There is one list of tables, and this file knows the few words in which the two databases
 * differ. Words are replaced as whole words, so that `text` the column is not TEXT the type. Texts
 * are ordered by their bytes, as SQLite orders them. A trigger becomes a function and a trigger of
 * the same name. Tables that are read in the order of their rows get the column rowid, which SQLite
 * has by itself. A database of this kind begins with version
 * SCHEMA_POSTGRES_FIRST; later steps are translated too. */
#include "storage/db/schema_postgres.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "memory/buffer.h"
#include "memory/memory.h"
#include "storage/db/schema_sqlite.h"

#define STATEMENT_MOST        16384
#define SCHEMA_POSTGRES_FIRST 27

static const char *const words[][2] = {
    {"TEXT", "TEXT COLLATE \"C\""},
    {"BLOB", "BYTEA"},
    {"INTEGER", "BIGINT"},
    {"REAL", "DOUBLE PRECISION"},
    {"x''", "''"},
    {", WITHOUT ROWID", ""},
    {" STRICT", ""},
    {"CREATE TABLE ledger_entries (",
     "CREATE TABLE ledger_entries ( rowid BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE,"},
    {"CREATE TABLE answers (",
     "CREATE TABLE answers ( rowid BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE,"},
    /* a number behind which other text follows is no number to PostgreSQL (ledger_fold.h) */
    {"substr(event, 42)", "substring(event, '^.{41}([0-9]{1,18})')"},
    {"> OLD.sequence, 1)", "> OLD.sequence, true)"},
};

static bool is_word_part(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The number of the words that begin at AT, which stands behind the character BEFORE; -1: none. */
static int words_at(const char *at, char before)
{
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        size_t size = strlen(words[i][0]);
        bool whole = !(is_word_part(before) && is_word_part(at[0])) &&
                     !(is_word_part(at[size - 1]) && is_word_part(at[size]));
        if (strncmp(at, words[i][0], size) == 0 && whole)
            return (int)i;
    }
    return -1;
}

static void translate_words(struct buffer *out, const char *from, const char *end)
{
    char before = ' ';
    while (from < end) {
        int found = words_at(from, before);
        if (found >= 0) {
            buffer_add_text(out, words[found][1]);
            from += strlen(words[found][0]);
        } else {
            buffer_add(out, from++, 1);
        }
        before = from[-1];
    }
}

/* "CREATE TRIGGER name BEFORE DELETE ON table [WHEN condition] BEGIN SELECT RAISE(ABORT, 'text');
 * END" */
static void translate_trigger(struct buffer *out, const char *sql)
{
    static const char head[] = "CREATE TRIGGER ", raise[] = " BEGIN SELECT RAISE(ABORT, ";
    const char *name = sql + sizeof head - 1;
    const char *event = strchr(name, ' ');
    const char *text = strstr(event, raise), *text_end = strstr(event, "); END");
    const char *when = strstr(event, " WHEN ");
    assert(event && text && text_end);
    const char *event_end = when ? when : text;
    bool deletes = strncmp(event, " BEFORE DELETE ", 15) == 0;
    buffer_add_format(out,
                      "CREATE FUNCTION %.*s() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF ",
                      (int)(event - name), name);
    if (when)
        translate_words(out, when + strlen(" WHEN "), text);
    else
        buffer_add_text(out, "true");
    text += sizeof raise - 1;
    buffer_add_format(out, " THEN RAISE EXCEPTION %.*s; END IF; RETURN %s; END $$; ",
                      (int)(text_end - text), text, deletes ? "OLD" : "NEW");
    buffer_add_format(out, "CREATE TRIGGER %.*s FOR EACH ROW EXECUTE FUNCTION %.*s()",
                      (int)(event_end - name), name, (int)(event - name), name);
}

/* "DROP TRIGGER name": the function goes, and with it its trigger. */
static void translate_drop(struct buffer *out, const char *name)
{
    buffer_add_format(out, "DROP FUNCTION %s() CASCADE", name);
}

static char *translate_statement(const char *sql)
{
    static const char drop[] = "DROP TRIGGER ";
    struct buffer out = {.lid = STATEMENT_MOST};
    size_t size;
    if (strncmp(sql, "CREATE TRIGGER ", 15) == 0)
        translate_trigger(&out, sql);
    else if (strncmp(sql, drop, sizeof drop - 1) == 0)
        translate_drop(&out, sql + sizeof drop - 1);
    else
        translate_words(&out, sql, sql + strlen(sql));
    return memory_must(buffer_take(&out, &size));
}

/* What SQLite has by itself. */
static const char *const before_tables[] = {
    "CREATE FUNCTION instr(text, text) RETURNS integer LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE"
    " RETURN strpos($1, $2)",
    NULL,
};

const struct db_schema schema_postgres = {
    .tables = schema_sqlite_tables,
    .before = before_tables,
    .oldest = SCHEMA_POSTGRES_FIRST,
    .steps = schema_sqlite_steps + (SCHEMA_POSTGRES_FIRST - SCHEMA_SQLITE_OLDEST),
    .translate = translate_statement,
};
