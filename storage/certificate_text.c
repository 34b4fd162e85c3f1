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
