/* Certificates are JSON objects that we sign: Ed25519 over the canonical JSON (RFC 8785: members
 * sorted, compact, shortest numbers) of the object without its "signature" member. */
#ifndef TACET_API_CALL_CERTIFICATE_H
#define TACET_API_CALL_CERTIFICATE_H

#include <jansson.h>

#include "memory/buffer.h"
#include "storage/ledger/ledger_log.h"

struct app;

/* The canonical text of CERTIFICATE (an object, borrowed, without "signature") with the member
 * "signature":{"algorithm":"Ed25519","key_id":...,"value":base64url} added, by the newest key that
 * DB has (storage/signing_keys.h): what is stored and served as it is. The caller frees *OUT, which
 * is NULL unless DB_OK. Read a proof that goes into CERTIFICATE before this call: then a
 * certificate whose log tells of a newer key is signed with that key. Outside of a transaction this
 * makes one, and its commit waits for a standby. So a failover loses neither the key nor what was
 * read before.
 */
enum db_status certificate_sign(const struct app *app, struct db *db, const json_t *certificate,
                                char **out);

/* Adds the checkpoint of TREE (tlog.h), of DB, to OUT. The newest key signs it, and the one before,
 * for witnesses that know only that one yet. It must not leave before ledger_head_keep has stored
 * its size. */
enum db_status certificate_checkpoint(const struct app *app, struct db *db,
                                      struct ledger_tree *tree, struct buffer *out);

/* Gives, as a JSON text, the proof that ACCOUNT (as it was read from DB) is in the log of the
 * ledger, with the checkpoint of the log as it now is: a tlog-proof. ACCOUNT NULL: null. *OUT is a
 * new reference, and NULL unless DB_OK. It must not leave before ledger_head_keep has stored
 * *OUT_SIZE. */
enum db_status certificate_proof_read(const struct app *app, struct db *db,
                                      const struct ledger_account *account, json_t **out,
                                      uint64_t *out_size);

/* The same, with the size stored. It fails in a view, which cannot store. */
enum db_status certificate_proof(const struct app *app, struct db *db,
                                 const struct ledger_account *account, json_t **out);

/* The key set of /.well-known/jwks.json (RFC 7517, 8037), the newest key first, each but the first
 * one with the member "follows": the key before, since when, and its signature. *OUT is a new
 * reference, and NULL unless DB_OK. */
enum db_status certificate_keys(const struct app *app, struct db *db, json_t **out);

#endif
