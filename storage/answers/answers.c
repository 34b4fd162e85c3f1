/* Answers under their keys: looked up before a request is executed again, stored with the request's
 * effects. */
#include "storage/answers/answers.h"

#include <assert.h>

#include "storage/db/table.h"

static const struct column answer_columns[] = {
    COLUMN(answer_row, fingerprint, BYTES),       COLUMN(answer_row, status, COUNT),
    COLUMN(answer_row, content_type, TEXT),       COLUMN(answer_row, location, TEXT),
    COLUMN_BYTES_OF(answer_row, body, body_size), COLUMN(answer_row, created_ms, INTEGER),
};

static const struct table answers_table =
    TABLE("answers", answer_row, answer_columns, TABLE_ALL(answer_columns));

void answer_done(struct answer_row *answer)
{
    table_done(&answers_table, answer);
}

enum db_status answers_find(struct db *db, const char *client, const char *key,
                            struct answer_row *out)
{
    out->body = NULL;
    return table_find(db, &answers_table, "WHERE client = $1 AND key = $2",
                      DB_VALUES(db_text(client), db_text(key)), out);
}

enum db_status answers_store(struct db *db, const char *client, const char *key,
                             const struct answer_row *answer)
{
    struct table_extra name[] = {{"client", db_text(client)}, {"key", db_text(key)}};
    assert(db_in_transaction(db));
    return table_insert(db, &answers_table, answer, name, 2);
}
