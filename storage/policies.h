/* Trained and imported policies: opaque bytes, and whether they may leave. */
#ifndef TACET_STORAGE_POLICIES_H
#define TACET_STORAGE_POLICIES_H

#include <stdbool.h>
#include <stdint.h>

#include "storage/clients.h"
#include "storage/db.h"
#include "storage/id.h"

struct policy_row {
    char id[ID_SIZE];
    char owner[ID_SIZE];
    char name[NAME_SIZE];
    char environment[32]; /* "" when unknown */
    char dataset[ID_SIZE], job[ID_SIZE]; /* "" when imported */
    char algorithm[32], mechanism[32];   /* "imported" and "" when imported */
    bool released; /* weights, actions and returns may leave */
    int64_t state_dim, action_count;
    char certificate[ID_SIZE]; /* "" for none */
    int64_t created_ms;
};

/* CERTIFICATE_TEXT may be NULL. */
enum db_status policies_insert(struct db *db, const struct policy_row *row, const void *bytes, size_t size,
                               const char *certificate_text);
enum db_status policies_find(struct db *db, const char *id, struct policy_row *out);
/* malloc'ed. */
enum db_status policies_bytes(struct db *db, const char *id, unsigned char **out_bytes, size_t *out_size);
/* The signed certificate by its own id (crt_...), malloc'ed text, and whose policy it is. */
enum db_status policies_certificate(struct db *db, const char *certificate, char **out_text, char policy[ID_SIZE]);
/* Policies of OWNER (NULL: anybody's), or released ones too when AND_RELEASED; oldest first. */
enum db_status policies_list(struct db *db, const char *owner, bool and_released, int64_t after_ms,
                             const char *after_id, unsigned limit, struct policy_row *out, unsigned *out_count);

#endif
