/* The outside issuer of tokens (--oidc-issuer) and its public keys, which a process of its own
 * watches: a file, or an address that it fetches. That process is begun before this one confines
 * itself, knows no secret, may write no file, and sends the text of the keys through a socket. So
 * the service itself needs neither the file nor a connection. */
#ifndef TACET_SERVER_ISSUER_H
#define TACET_SERVER_ISSUER_H

#include <stdbool.h>
#include <stddef.h>

#include "server/config.h"

struct issuer;

/* Begins to watch what CONFIG names, while there is one thread and before secrets are read. Waits
 * for the first answer: a file must hold keys, an address may fail for now. NULL with ERROR empty:
 * CONFIG names no issuer; otherwise ERROR is a sentence. */
struct issuer *issuer_open(struct config *config, char *error, size_t error_size);

/* What checks its tokens; as long as ISSUER. */
struct identity *issuer_identity(struct issuer *issuer);

/* Starts the thread that takes the keys from now on. False: no thread. */
bool issuer_follow(struct issuer *issuer);

/* Ends process and thread and frees. NULL is fine. */
void issuer_close(struct issuer *issuer);

#endif
