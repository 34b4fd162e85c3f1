/* Reads the certificates of all tables that have them. */
#include "storage/certificate_text.h"

#include <string.h>

const struct column certificate_text_columns[3] = {
    COLUMN(certificate_text, certificate, TEXT),
    COLUMN(certificate_text, owner, TEXT),
    COLUMN(certificate_text, certificate_text, POINTER),
};

enum db_status certificate_text_find(struct db *db, const struct table *table, const char *tail,
                                     const char *id, char out_id[ID_SIZE], char out_owner[ID_SIZE],
                                     char **out_text)
{
    struct certificate_text found = {.certificate_text = NULL};
    enum db_status status = table_find(db, table, tail, DB_VALUES(db_text(id)), &found);
    memcpy(out_id, found.certificate, ID_SIZE);
    memcpy(out_owner, found.owner, ID_SIZE);
    *out_text = found.certificate_text;
    return status;
}

static const char *const kind_names[] = {"policy", "release", "teacher", NULL};

static const struct column any_columns[] = {
    COLUMN(certificate_any, id, TEXT),
    COLUMN(certificate_any, owner, TEXT),
    COLUMN(certificate_any, policy, TEXT),
    {"kind", COLUMN_WORD, offsetof(struct certificate_any, kind), 0, kind_names},
    COLUMN(certificate_any, text, POINTER),
};

static const struct table any_table =
    TABLE("(SELECT id, owner, policy, 'policy' AS kind, text FROM certificates UNION ALL "
          "SELECT certificate, owner, '', 'release', certificate_text FROM q_releases UNION ALL "
          "SELECT certificate, owner, '', 'teacher', certificate_text FROM teachers "
          "WHERE certificate <> '') AS found",
          certificate_any, any_columns, 0);

enum db_status certificate_any_find(struct db *db, const char *id, struct certificate_any *out)
{
    *out = (struct certificate_any){.text = NULL};
    return table_find(db, &any_table, "WHERE id = $1", DB_VALUES(db_text(id)), out);
}

TABLE_SHOW(show_certificate, certificate_any);

enum db_status certificate_any_list(struct db *db, certificate_any_fn *each, void *context)
{
    struct show_certificate list = {each, context};
    return table_list(db, &any_table, "ORDER BY id", NULL, 0, show_certificate, &list);
}
