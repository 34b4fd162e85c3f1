/* One key, one answer: what was replied to a call that carried an Idempotency-Key. Never deleted. */
#ifndef TACET_STORAGE_ANSWERS_H
#define TACET_STORAGE_ANSWERS_H

#include <stdint.h>

#include "storage/db.h"
#include "storage/id.h"

#define ANSWER_FINGERPRINT_SIZE 32

struct answer {
    unsigned char fingerprint[ANSWER_FINGERPRINT_SIZE]; /* of method, path, query, body */
    int status;
    char content_type[64];
    char location[128]; /* "" for none */
    unsigned char *body; /* malloc'ed by answers_find (caller frees), borrowed by answers_store */
    size_t body_size;
    int64_t created_ms;
};

/* DB_NONE: the key is free. */
enum db_status answers_find(struct db *db, const char *client, const char *key, struct answer *out);
/* DB_NONE: the key was taken meanwhile; nothing was stored. */
enum db_status answers_store(struct db *db, const char *client, const char *key, const struct answer *answer);

#endif
