/* The texts of transparency logs, by the specifications of C2SP: checkpoints (tlog-checkpoint, a
 * signed-note), proofs that a leaf is in a log (tlog-proof), requests to a witness (tlog-witness)
 * and its cosignatures (tlog-cosignature). All signatures are Ed25519.
 *
 *     example.com/log                      origin
 *     20852163                             size
 *     CsUYapGGPo4dkMgIAUqom/Xajj7h2fB...   root, base64
 *
 *     — example.com/log Az3grlgtzPICa...   key name, base64 of key id and signature
 *
 * Nothing here is secret but the keys, and nothing is trusted before its signature was checked. */
#ifndef TACET_API_CALL_TLOG_H
#define TACET_API_CALL_TLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory/buffer.h"
#include "storage/ledger/merkle.h"

#define TLOG_NAME_SIZE 128             /* bytes of an origin or key name with its NUL */
#define TLOG_NOTE_MOST ((size_t)16384) /* bytes of a checkpoint with all its signatures */
#define TLOG_TEXT_MOST ((size_t)24576) /* of a proof or request with its checkpoint */

/* The tree that a checkpoint names. */
struct tlog_checkpoint {
    char origin[TLOG_NAME_SIZE];
    int64_t size;
    unsigned char root[MERKLE_HASH_SIZE];
};

/* Whether NAME may be an origin and the name of a key: printable ASCII without spaces and "+". */
bool tlog_name_good(const char *name);

/* Adds the checkpoint, signed with the 64 bytes of SECRET_KEY under the name that is its origin. */
void tlog_checkpoint_add(struct buffer *out, const struct tlog_checkpoint *checkpoint,
                         const unsigned char *secret_key);

/* Adds a further signature of the same checkpoint, by another key. */
void tlog_signature_add(struct buffer *out, const struct tlog_checkpoint *checkpoint,
                        const unsigned char *secret_key);

/* Reads the checkpoint NOTE of SIZE bytes that KEY signed under its origin; signatures of other
 * keys are passed over. NULL, or a sentence. */
const char *tlog_checkpoint_read(const char *note, size_t size, const unsigned char key[32],
                                 struct tlog_checkpoint *out);

/* Adds the cosignature of NOTE, a line, by the witness NAME with SECRET_KEY at TIME_S, seconds
 * since 1970. */
void tlog_cosignature_add(struct buffer *out, const char *note, size_t size, const char *name,
                          const unsigned char *secret_key, int64_t time_s);

/* Checks that the witness NAME has cosigned NOTE with KEY; *OUT_TIME_S receives when. NULL, or a
 * sentence. */
const char *tlog_cosigned(const char *note, size_t size, const char *name,
                          const unsigned char key[32], int64_t *out_time_s);

/* Writes the verifier key "NAME+ID+BASE64" of KEY; a witness has its own type of them. */
void tlog_key_add(struct buffer *out, const char *name, const unsigned char key[32], bool witness);

/* Reads such a key of a witness. False: TEXT is none. */
bool tlog_key_read(const char *text, char name[TLOG_NAME_SIZE], unsigned char key[32]);

/* ---- texts with hashes, an empty line, and a checkpoint */

struct tlog_text {
    int64_t number; /* of the leaf, or the size that is known already */
    struct merkle_proof proof;
    const char *note; /* in the text that was read */
    size_t note_size;
};

/* Adds the proof that leaf NUMBER is in the log, without its checkpoint. */
void tlog_proof_add(struct buffer *out, int64_t number, const struct merkle_proof *proof);

/* Reads such a proof with its checkpoint. False: it is none. */
bool tlog_proof_read(const char *text, size_t size, struct tlog_text *out);

/* Adds the head of a request to a witness that knows the tree of size NUMBER. */
void tlog_request_add(struct buffer *out, int64_t number, const struct merkle_proof *proof);

/* Reads such a request. False: it is none. */
bool tlog_request_read(const char *text, size_t size, struct tlog_text *out);

#endif
