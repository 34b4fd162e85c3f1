/* Answers as they lie in the database: runs of them in one row, each behind its length.
 *
 * A batch writes all its answers as one row, so that an answer costs its bytes and no row of its
 * own. Numbers are little endian:
 *
 *   u8 1 (this form), then for each answer
 *   u32 size of what follows; i64 created_ms; u16 status; 32 bytes of fingerprint;
 *   client, key, content type, location (each u16 size and bytes); the body (the rest)
 *
 * For answers.c alone. */
#ifndef TACET_STORAGE_ANSWERS_ANSWER_BLOCK_H
#define TACET_STORAGE_ANSWERS_ANSWER_BLOCK_H

#include "storage/answers/answers.h"

/* Bytes of an empty block, and the most that ANSWER takes in one. */
#define ANSWER_BLOCK_START 1
size_t answer_block_room(const char *client, const char *key, const struct answer_row *answer);

/* Writes the start of a block, or an answer behind what is there; gives the new end. There must be
 * room. */
unsigned char *answer_block_begin(unsigned char *at);
unsigned char *answer_block_add(unsigned char *at, const char *client, const char *key,
                                const struct answer_row *answer);

/* What a walk through a block sees; texts do not end in a NUL. */
struct answer_entry {
    const char *client, *key, *content_type, *location, *body;
    size_t client_size, key_size, content_type_size, location_size, body_size;
    const unsigned char *fingerprint;
    int status;
    int64_t created_ms;
};

/* A walk: `at` is where it stands. */
struct answer_walk {
    const unsigned char *at, *end;
};
bool answer_walk_begin(struct answer_walk *walk, const void *block, size_t size); /* false: not one
                                                                                     of ours */
enum answer_step { ANSWER_ENTRY, ANSWER_END, ANSWER_BROKEN };
enum answer_step answer_walk_next(struct answer_walk *walk, struct answer_entry *out);

/* What an index knows of a key: equal keys have equal hashes, and others rarely. */
int64_t answer_hash(const char *client, size_t client_size, const char *key, size_t key_size);

#endif
