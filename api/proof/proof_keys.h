/* The public keys by which certificates, receipts, checkpoints and exports are checked, and the
 * chain that leads from one to those that followed it (storage/signing_keys.h). */
#ifndef TACET_API_PROOF_PROOF_KEYS_H
#define TACET_API_PROOF_PROOF_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "api/call/tlog.h"
#include "storage/signing_keys.h"

/* What is said of a key: that the one before it has signed that it follows. */
struct proof_link {
    char follows[SIGNING_ID_SIZE]; /* the id of the key before it; "": it is the first one */
    char from[SIGNING_TIME_SIZE];  /* since when */
    unsigned char signature[64];
};

/* Public keys that the caller trusts, and which of them has followed which. */
struct proof_keys {
    unsigned count;
    unsigned char key[SIGNING_KEYS_MOST][32];  /* Ed25519 */
    struct proof_link link[SIGNING_KEYS_MOST]; /* of each */
};

/* True when KEY is among KEYS. */
bool proof_keys_have(const struct proof_keys *keys, const unsigned char key[32]);

/* Whether the key BEFORE has signed that KEY follows it, as LINK says. */
bool proof_key_follows(const unsigned char before[32], const unsigned char key[32],
                       const struct proof_link *link);

/* The place of the one of KEYS that has followed KEY; their count: none has. */
unsigned proof_keys_next(const struct proof_keys *keys, const unsigned char key[32]);

/* Whether KEY cannot have signed anything of TIME_MS: another one of KEYS had followed it then for
 * more than a day, as clocks differ. *OUT_FROM, of KEYS: since when one has; "": none has. */
bool proof_key_is_late(const struct proof_keys *keys, const unsigned char key[32], int64_t time_ms,
                       const char **out_from);

/* Reads TIME, in UTC, as json_time writes it. False: it is none. */
bool proof_time_read(const char *time, int64_t *out_ms);

/* Reads the SIZE bytes that TEXT stands for in base64url. False: it is of others. */
bool proof_bytes_read(const char *text, unsigned char *out, size_t size);

/* Reads the key set TEXT of /.well-known/jwks.json; keys that are not Ed25519 are passed over. NULL
 * when it has one, or a sentence: two keys follow one, or a statement is not signed by the key of
 * the set that it names, say. */
const char *proof_keys_read(const char *text, size_t size, struct proof_keys *out);

/* Adds to KEYS those of such a set, from anywhere, to which signed statements lead from KEYS. A key
 * to which none leads is passed over. NULL, or a sentence: a statement is not signed by the key
 * that it names, or two keys follow one, here or beside KEYS; KEYS then holds nothing of use. */
const char *proof_keys_follow(const char *text, size_t size, struct proof_keys *keys);

/* Adds KEYS to OUT as such a set, with what leads from each to the next. */
void proof_keys_write(const struct proof_keys *keys, struct buffer *out);

/* tlog_checkpoint_read by any of KEYS. */
const char *proof_checkpoint_read(const char *note, size_t size, const struct proof_keys *keys,
                                  struct tlog_checkpoint *out);

#endif
