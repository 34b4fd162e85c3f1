/* An export: one stream of JSON lines with which anyone can check the service without access to it.
 * It holds the public key, every certificate, every account, every entry of the ledger, the audit
 * trail and every leaf of the log with a signed checkpoint, and no raw data, weights or tokens.
 * docs/verify.md describes it line by line. */
#ifndef TACET_API_PROOF_EXPORT_H
#define TACET_API_PROOF_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct app;
struct db;

/* Two forms: without lines of keys, and with them, where a key has followed another. */
#define EXPORT_ONE_KEY 3
#define EXPORT_VERSION 4
/* What the last line's signature is over: the number of lines before it, and the hex BLAKE2b-256
 * of their bytes. */
#define EXPORT_SIGNED      "tacet export 1 lines %lld digest %s\n"
#define EXPORT_SIGNED_SIZE 160

/* Takes SIZE bytes of the stream. False: no more is written. */
typedef bool export_write_fn(void *context, const char *bytes, size_t size);

/* Writes the export of one moment, signed with APP's key, in constant memory. NULL, or a sentence
 * that says why it is not whole. DB is a connection outside of any transaction. */
const char *export_write(const struct app *app, struct db *db, export_write_fn *write,
                         void *context);

#endif
