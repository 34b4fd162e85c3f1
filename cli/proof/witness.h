/* A witness of one or more transparency logs (C2SP tlog-witness): it remembers the largest
 * checkpoint of each log that it has cosigned, and cosigns only what goes on from it.
 *
 * Its directory holds `signing.key` (server/os/data_dir.h) and a file for each log, named by the
 * hash of its origin, with the last cosigned checkpoint. This file is on disk before a cosignature
 * leaves, so that no crash lets the witness cosign two histories. A new checkpoint has to be signed
 * by the key that no other one has followed. Which keys have followed is kept, too (".keys"), so
 * that no later run goes on to another one.
 *
 * What was refused although its signature holds is evidence against the log. It is kept beside that
 * file as it came, proof included, under a name of its own (SIZE and DIGEST, ".refused"), and with
 * it the checkpoint that was the last cosigned one then (".cosigned"). Neither is ever replaced. */
#ifndef TACET_CLI_PROOF_WITNESS_H
#define TACET_CLI_PROOF_WITNESS_H

#include "api/proof/proof_keys.h"

#define WITNESS_ERROR_SIZE   512
#define WITNESS_REFUSED_MOST 1000 /* refused checkpoints that are kept of a log */

struct witness {
    const char *directory;  /* which the caller has locked */
    const char *name;       /* of the witness's key */
    const char *origin;     /* of the log */
    struct proof_keys keys; /* of the log */
    unsigned char secret_key[64];
};

/* Adds to the keys of WITNESS, whom the caller trusts, those that had followed them when it
 * cosigned last. False: ERROR says what is wrong. */
bool witness_keys_kept(struct witness *witness, char error[WITNESS_ERROR_SIZE]);

/* Finds the size of the log that WITNESS knows, 0 for none. False: ERROR says what is wrong. */
bool witness_known(const struct witness *witness, int64_t *out, char error[WITNESS_ERROR_SIZE]);

/* Checks REQUEST (tlog_request_add and a checkpoint) against what WITNESS knows, remembers its
 * checkpoint and adds it with the cosignature of TIME_S to OUT. False: ERROR says why not, and
 * nothing was cosigned. */
bool witness_cosign(const struct witness *witness, const char *request, size_t size, int64_t time_s,
                    struct buffer *out, char error[WITNESS_ERROR_SIZE]);

/* Keeps the checkpoint NOTE of a log that has no proof for WITNESS: it is shorter, say. ERROR says
 * what is wrong with the log. */
void witness_refuse(const struct witness *witness, const char *note, size_t size,
                    char error[WITNESS_ERROR_SIZE]);

#endif
