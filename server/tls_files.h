/* The service's TLS files: read at the start, and again when it is told to. */
#ifndef TACET_SERVER_TLS_FILES_H
#define TACET_SERVER_TLS_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "server/config.h"
#include "server/tls/tls_keys.h"

enum server_file { SERVER_CONFIG, SERVER_CERT, SERVER_KEY, SERVER_CLIENT_CA, SERVER_FILES };

/* The names in CONFIG of the files that are read again, in the order of enum server_file; "" for
 * one that there is not. */
void server_files(const struct config *config, const char *out[SERVER_FILES]);

struct reopen;

struct tls_files {
    struct tls_pem pem;    /* the key only until the server listens */
    struct tls_keys *keys; /* NULL: plain HTTP */
};

/* Reads the files of CONFIG. False: ERROR holds a sentence. */
bool tls_files_open(struct tls_files *tls, const struct config *config, char *error,
                    size_t error_size);

/* Reads them again, through FILES (server/os/reopen.h, begun with server_files). Connections that
 * begin from now on get them. False: what was before stays, and ERROR holds a sentence. */
bool tls_files_renew(struct tls_files *tls, const struct config *config, struct reopen *files,
                     char *error, size_t error_size);

/* Wipes and frees. */
void tls_files_close(struct tls_files *tls);

#endif
