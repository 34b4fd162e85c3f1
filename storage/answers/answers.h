/* One key, one answer: what a call with an Idempotency-Key was answered, byte for byte. The answer
 * is stored in the transaction that does what it says, and is never deleted. */
#ifndef TACET_STORAGE_ANSWERS_ANSWERS_H
#define TACET_STORAGE_ANSWERS_ANSWERS_H

#include "storage/db/db.h"

#define ANSWER_FINGERPRINT_SIZE 32

struct answer_row {
    unsigned char fingerprint[ANSWER_FINGERPRINT_SIZE]; /* of the request; made by the caller */
    int status;
    char content_type[80];
    char location[240]; /* "" for none */
    char *body;         /* malloc'ed by answers_find, ends in a NUL that is not counted */
    size_t body_size;
    int64_t created_ms;
};

/* The answer stored for CLIENT and KEY. DB_NONE: the key is new. Free with answer_done. */
enum db_status answers_find(struct db *db, const char *client, const char *key,
                            struct answer_row *out);

/* Frees the body; a NULL body is allowed. */
void answer_done(struct answer_row *answer);

/* Stores ANSWER, inside the transaction that does what it says. DB_NONE when the key was taken
 * meanwhile: roll back and replay. */
enum db_status answers_store(struct db *db, const char *client, const char *key,
                             const struct answer_row *answer);

#endif
