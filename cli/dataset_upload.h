/* The calls by which a subcommand fills a dataset of a Tacet server: make or find it, send
 * trajectories, seal it.
 *
 * Every call carries an Idempotency-Key that its caller makes from what it sends, so that a call
 * that is repeated, after a lost answer or a crash of either side, is answered from the server's
 * store and never adds trajectories twice. The server refuses other data under the same key. After
 * a restore a server refuses keys that name no time: then the call is made under a key that is made
 * from the first and names one, so that it is known again, too. */
#ifndef TACET_CLI_DATASET_UPLOAD_H
#define TACET_CLI_DATASET_UPLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/wire/inflate.h"
#include "cli/http_out.h"

#define DATASET_UPLOAD_KEY_SIZE  64
#define DATASET_UPLOAD_SALT_SIZE 33

struct dataset_upload {
    struct http_out *out;
    const char *reused_hint;   /* said after "idempotency-key-reused"; NULL: nothing */
    const char *conflict_hint; /* said after "conflict"; NULL: nothing */
    const char *taken_hint;    /* said where the refusal names the dataset that has the name */
    bool keys_name_contents;   /* the keys of dataset_upload_send name what is sent, before it was
                                  compressed */
    char dataset[80];          /* "" until it is made or named */
    int64_t created_ms;        /* when it was made; 0: not known yet */
    bool replayed;             /* an earlier run of this command has made the dataset */
    uint64_t had, brought;     /* parts that the server had already; that brought back the erased */
    bool refused;              /* the server refused the last call for good: a retry is useless */
    char error[1200];          /* why the last function failed: one line, no token in it */
};

/* Opens the connection; sends nothing. The caller closes UPLOAD with dataset_upload_close, also
 * after a failure. */
bool dataset_upload_open(struct dataset_upload *upload, const struct http_out_settings *server);

/* Closes the connection; NULL parts are fine. */
void dataset_upload_close(struct dataset_upload *upload);

/* Asks for the salt that the server gives this client alone, always the same. */
bool dataset_upload_salt(struct dataset_upload *upload, char out[DATASET_UPLOAD_SALT_SIZE]);

/* Writes the key "PREFIX-HASH" of TEXT. A server stores keys in clear, so a TEXT that tells of
 * private data has the salt, too. */
void dataset_upload_key(const char *prefix, const char *text, char out[DATASET_UPLOAD_KEY_SIZE]);

/* Makes one call; false: upload->error says why. */
bool dataset_upload_call(struct dataset_upload *upload, const struct http_out_call *what,
                         struct http_out_answer *answer);

/* Makes the dataset of BODY, a JSON text, under KEY. */
bool dataset_upload_make(struct dataset_upload *upload, const char *body, const char *key);

/* Takes the dataset ID, which a person or an earlier run named. */
bool dataset_upload_name(struct dataset_upload *upload, const char *id);

/* Checks that the dataset is there, of WORLD (NULL: of any), and open. COMPLETE: nothing is left to
 * send, so it may be sealed already. ANSWER gets what the server says of it, until the next call.
 */
bool dataset_upload_check(struct dataset_upload *upload, const char *world, bool complete,
                          struct http_out_answer *answer);

/* Sends SIZE bytes of NDJSON trajectories, which are compressed by ENCODING already. AGAIN: if they
 * are refused because their experts were erased, sends them knowingly, under this key; NULL: not.
 */
bool dataset_upload_send(struct dataset_upload *upload, enum inflate_encoding encoding,
                         const void *bytes, size_t size, const char *key, const char *again);

/* Seals the dataset. */
bool dataset_upload_seal(struct dataset_upload *upload, const char *key);

/* Notes why something failed; gives false. */
bool dataset_upload_failed(struct dataset_upload *upload, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
