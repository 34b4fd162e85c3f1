/* The keys that sign for the service: certificates, receipts, checkpoints of the log, exports. The
 * first one is that of signing.key, which derives, seals and digests everything else and never
 * changes. Each later one is random. Its row has the seed, sealed under signing.key, and a
 * signature by the key before it: who trusts that one can go on to this one. Rows are only added,
 * and the newest key signs. Nothing of them is kept in memory, so all servers of a database sign
 * with the same one. */
#ifndef TACET_STORAGE_SIGNING_KEYS_H
#define TACET_STORAGE_SIGNING_KEYS_H

#include "storage/db/table.h"
#include "storage/keys/key_box.h"

#define SIGNING_KEYS_MOST 256 /* the first one included */
#define SIGNING_ID_SIZE   17
#define SIGNING_TIME_SIZE 32
#define SIGNING_TEXT_SIZE 160
#define SIGNING_ROTATED   "tacet key rotate" /* the action in the audit trail; it names the id */

struct signing_key {
    int64_t number;   /* 2, 3, ... */
    int64_t since_ms; /* it signs from then on */
    unsigned char public_key[32], signature[64];
    unsigned char sealed[KEY_BOX_SIZE];
};

/* The id of the public KEY: 16 hexadecimal digits of its BLAKE2b-128 hash. */
void signing_key_id(const unsigned char key[32], char out[SIGNING_ID_SIZE]);

/* Writes SINCE_MS as what a signature has of it, a time in UTC. */
void signing_key_time(int64_t since_ms, char out[SIGNING_TIME_SIZE]);

/* Writes what the key BEFORE signs of KEY, which follows it from the time FROM on, and gives the
 * size: "tacet key 1 X follows X from TIME" and a newline, each X a key in base64url. */
size_t signing_key_text(const unsigned char before[32], const unsigned char key[32],
                        const char *from, char out[SIGNING_TEXT_SIZE]);

/* Shows the rows in their order. */
enum db_status signing_keys_list(struct db *db,
                                 bool (*each)(void *context, const struct signing_key *key),
                                 void *context);

/* Ed25519: a seed and its public key. */
struct signing_pair {
    int64_t number;
    unsigned char secret_key[64];
};

/* Finds the newest key and the one before it; *out_count is 1 while there is only the first, which
 * is of the seed ROOT. The caller wipes OUT. */
enum db_status signing_keys_newest(struct db *db, const unsigned char root[32],
                                   struct signing_pair out[2], unsigned *out_count);

/* Adds a new key that signs from NOW_MS on, with its row of the audit trail, in the open
 * transaction: by the database's clock if it is shared, and from no time before the last row or
 * key, so that a clock that is behind makes nothing that was signed a forgery. DB_NONE: there are
 * SIGNING_KEYS_MOST. */
enum db_status signing_keys_add(struct db *db, const unsigned char root[32], int64_t now_ms,
                                struct signing_key *out);

#endif
