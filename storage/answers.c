/* Answers under their keys: found before anything is done again, stored with what was done. */
#include "storage/answers.h"

#include <stdlib.h>
#include <string.h>

#include "storage/listing.h"

void answer_done(struct answer_row *answer)
{
    free(answer->body);
    answer->body = NULL;
}

static enum db_status see_answer(void *context, const struct db_row *row)
{
    struct answer_row *out = context;
    size_t size = 0;
    const void *fingerprint = db_row_bytes(row, 0, &size);
    if (size != sizeof out->fingerprint) {
        return DB_FAILED;
    }
    memcpy(out->fingerprint, fingerprint, size);
    out->status = (int)db_row_integer(row, 1);
    out->created_ms = db_row_integer(row, 5);
    const void *body = db_row_bytes(row, 4, &out->body_size);
    if (!db_row_copy(row, 2, out->content_type, sizeof out->content_type) ||
        !db_row_copy(row, 3, out->location, sizeof out->location)) {
        return DB_FAILED;
    }
    out->body = listing_duplicate(body, out->body_size);
    return out->body == NULL ? DB_FAILED : DB_OK;
}

enum db_status answers_find(struct db *db, const char *client, const char *key,
                            struct answer_row *out)
{
    struct db_value values[] = {db_text(client), db_text(key)};
    out->body = NULL;
    enum db_status status =
        db_one(db,
               "SELECT fingerprint, status, content_type, location, body, created_ms FROM answers "
               "WHERE client = $1 AND key = $2",
               values, 2, see_answer, out);
    if (status != DB_OK) {
        answer_done(out);
    }
    return status;
}

enum db_status answers_store(struct db *db, const char *client, const char *key,
                             const struct answer_row *answer)
{
    struct db_value values[] = {
        db_text(client),
        db_text(key),
        db_bytes(answer->fingerprint, sizeof answer->fingerprint),
        db_integer(answer->status),
        db_text(answer->content_type),
        db_text(answer->location),
        db_bytes(answer->body, answer->body_size),
        db_integer(answer->created_ms),
    };
    return db_hit(db,
                  "INSERT INTO answers (client, key, fingerprint, status, content_type, "
                  "location, body, created_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) "
                  "ON CONFLICT DO NOTHING",
                  values, sizeof values / sizeof *values);
}
