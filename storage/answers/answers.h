/* One key, one answer: what a call with an Idempotency-Key was answered, byte for byte. The answer
 * is stored in the transaction that does what it says.
 *
 * DESIGN. An answer is removed only when its key can never be answered again. A key may name a time
 * (key_date.h). The database notes the time from which answers are kept. It only grows, and who
 * serves a call refuses a key that names an earlier time. Then the key itself proves that it is too
 * old, and nothing has to be remembered of it. A key that names no time is kept for ever. */
#ifndef TACET_STORAGE_ANSWERS_ANSWERS_H
#define TACET_STORAGE_ANSWERS_ANSWERS_H

#include "storage/db/db.h"
#include "storage/db/id.h"

#define ANSWER_FINGERPRINT_SIZE 32

#define ANSWER_KEY_SIZE         256  /* bytes of a key with its NUL */
#define ANSWER_HEADERS_SIZE     1200 /* bytes of an answer's headers with their NUL */

extern const struct table answers_table; /* each row under a digest */

struct answer_row {
    unsigned char fingerprint[ANSWER_FINGERPRINT_SIZE]; /* of the request; made by the caller */
    int status;
    char content_type[80];
    /* Values of headers, one to a line: the Location, and what its caller adds. "": none. */
    char headers[ANSWER_HEADERS_SIZE];
    char *body; /* malloc'ed by answers_find, ends in a NUL that is not counted */
    size_t body_size;
    int64_t created_ms;
};

/* The answer stored for CLIENT and KEY. DB_NONE: the key is new. DB_FAILED: or the row is damaged.
 * Free with answer_done. */
enum db_status answers_find(struct db *db, const char *client, const char *key,
                            struct answer_row *out);

/* Says that answers_find will be called for CLIENT and KEY, a text of ASCII, in DB's open batch.
 * Where each statement is a message to another process, the first call then asks for all such keys
 * at once which ones are new. */
void answers_expect(struct db *db, const char *client, const char *key);

/* Reads every answer and the index by which they are found, and counts the answers: each is as it
 * was stored, and is found under its name. Anything but DB_OK: ERROR says which is not. */
enum db_status answers_verify(struct db *db, int64_t *out_count, char error[DB_ERROR_SIZE]);

/* The newest answer for CLIENT under NAME, or under NAME with a date (key_date_name) of FROM_MS or
 * later. DB_NONE: there is none. Free with answer_done. */
enum db_status answers_find_since(struct db *db, const char *client, const char *name,
                                  int64_t from_ms, struct answer_row *out);

/* ---- removal */

/* Reads the time before which answers may have been removed; 0: none was. A key that names an
 * earlier time must not be answered any more. DB_FAILED: or the note is damaged or gone, and
 * db_last_error says so. */
enum db_status answers_kept_from(struct db *db, int64_t *out_ms);

/* Reads when the newest answer was stored; 0: there is none. */
enum db_status answers_newest(struct db *db, int64_t *out_ms);

#define ANSWERS_EARLY_MS INT64_C(3600000) /* a key may name a time so far ahead of the clock */

struct answers_sweep {
    int64_t from_ms; /* answers are kept from here on, and earlier keys are refused already */
    int64_t now_ms;
    int64_t seen; /* the last row that earlier calls have seen; at first 0 */
    bool more;    /* out: call again */
};

/* Notes the time from which answers are kept and removes some that are older, in one transaction.
 * Rows are seen in the order in which they were stored, so an answer goes ANSWERS_EARLY_MS after
 * its key's time at the earliest. DB_FAILED: or a row is damaged. One thread at a time. */
enum db_status answers_prune(struct db *db, struct answers_sweep *sweep);

/* Frees the body; a NULL body is allowed. */
void answer_done(struct answer_row *answer);

/* Stores ANSWER, inside the transaction that does what it says. DB_NONE when the key was taken
 * meanwhile: roll back and replay. In a batch that is found out later (table_append). */
enum db_status answers_store(struct db *db, const char *client, const char *key,
                             const struct answer_row *answer);

#endif
