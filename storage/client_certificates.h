/* TLS client certificates that are bound to clients, by the SHA-256 of the certificate (DER). */
#ifndef TACET_STORAGE_CLIENT_CERTIFICATES_H
#define TACET_STORAGE_CLIENT_CERTIFICATES_H

#include "storage/clients.h"

#define CERTIFICATE_HASH_SIZE 32

struct client_certificate {
    unsigned char hash[CERTIFICATE_HASH_SIZE];
    char client[ID_SIZE];
    int64_t created_ms;
};

/* Binds a certificate. DB_NONE: it is bound. */
enum db_status client_certificates_insert(struct db *db,
                                          const struct client_certificate *certificate);

/* Finds whose certificate HASH is. DB_NONE: nobody's. */
enum db_status client_certificates_find(struct db *db,
                                        const unsigned char hash[CERTIFICATE_HASH_SIZE],
                                        struct client_certificate *out);

/* Ends a binding. DB_NONE: CLIENT has no such certificate. */
enum db_status client_certificates_remove(struct db *db, const char *client,
                                          const unsigned char hash[CERTIFICATE_HASH_SIZE]);

typedef bool client_certificate_fn(void *context, const struct client_certificate *certificate);

/* Shows CLIENT's certificates in order of their time. EACH may stop by false. */
enum db_status client_certificates_list(struct db *db, const char *client,
                                        client_certificate_fn *each, void *context);

/* *out_count receives the number of CLIENT's certificates. */
enum db_status client_certificates_count(struct db *db, const char *client, int64_t *out_count);

#endif
