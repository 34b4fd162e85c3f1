/* One key, one answer: what a call with an Idempotency-Key was answered, byte for byte. The answer
 * is stored in the transaction that does what it says, and is never deleted. */
#ifndef TACET_STORAGE_ANSWERS_ANSWERS_H
#define TACET_STORAGE_ANSWERS_ANSWERS_H

#include "storage/db/db.h"
#include "storage/db/id.h"

#define ANSWER_FINGERPRINT_SIZE 32

#define ANSWER_KEY_SIZE         256 /* bytes of a key with its NUL */

extern const struct table answers_table; /* each row under a digest */

struct answer_row {
    unsigned char fingerprint[ANSWER_FINGERPRINT_SIZE]; /* of the request; made by the caller */
    int status;
    char content_type[80];
    char location[240]; /* "" for none */
    char *body;         /* malloc'ed by answers_find, ends in a NUL that is not counted */
    size_t body_size;
    int64_t created_ms;
};

/* The answer stored for CLIENT and KEY. DB_NONE: the key is new. DB_FAILED: or the row is damaged.
 * Free with answer_done. */
enum db_status answers_find(struct db *db, const char *client, const char *key,
                            struct answer_row *out);

/* Reads every answer and the index by which they are found, and counts the answers: each is as it
 * was stored, and is found under its name. Anything but DB_OK: ERROR says which is not. */
enum db_status answers_verify(struct db *db, int64_t *out_count, char error[DB_ERROR_SIZE]);

/* Frees the body; a NULL body is allowed. */
void answer_done(struct answer_row *answer);

/* Stores ANSWER, inside the transaction that does what it says. DB_NONE when the key was taken
 * meanwhile: roll back and replay. */
enum db_status answers_store(struct db *db, const char *client, const char *key,
                             const struct answer_row *answer);

#endif
