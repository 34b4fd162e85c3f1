/* Policies, imported or trained, and their certificates. A row never changes, but that the bytes of
 * ensembles, and of policies that are not released, go with their dataset. */
#ifndef TACET_STORAGE_POLICIES_H
#define TACET_STORAGE_POLICIES_H

#include "storage/db/db.h"
#include "storage/db/id.h"

struct policy_row {
    char id[ID_SIZE]; /* pol_ */
    char owner[ID_SIZE];
    char name[NAME_SIZE];
    char environment[64];  /* "" for none */
    char dataset[ID_SIZE]; /* "" when imported */
    char job[ID_SIZE];     /* "" when imported */
    char mechanism[40];    /* "dpsgd", "none", "imported" ... */
    bool released;         /* its weights may leave the service */
    uint32_t shards;       /* number of policies in an ensemble; 0: one network. The bytes of an
                            * ensemble, and of a policy that was trained here and is not released,
                            * are sealed */
    uint32_t state_dim, action_count;
    char certificate[ID_SIZE]; /* crt_; "" for none */
    int64_t created_ms;
};

/* Stores a policy, its BYTES (opaque) and, unless row->certificate is "", the certificate's text.
 * DB_NONE: an id exists. */
enum db_status policies_insert(struct db *db, const struct policy_row *policy, const void *bytes,
                               size_t size, const char *certificate_text);

/* Reads everything but the bytes. DB_NONE: unknown. */
enum db_status policies_find(struct db *db, const char *id, struct policy_row *out);

/* Reads the bytes; malloc'ed, of size 0 when they were erased. DB_NONE: unknown. */
enum db_status policies_bytes(struct db *db, const char *id, void **out_bytes, size_t *out_size);

/* Sets *OUT to whether there are bytes of the policy ID, and they were not erased. */
enum db_status policies_have_bytes(struct db *db, const char *id, bool *out);

/* Erases the bytes of the policy ID. DB_NONE: unknown. */
enum db_status policies_erase(struct db *db, const char *id);

/* Erases the bytes of all ensembles and policies that were trained on DATASET and are not released.
 */
enum db_status policies_erase_secrets(struct db *db, const char *dataset);

typedef bool policy_fn(void *context, const struct policy_row *policy);

/* Lists a PAGE of the policies (listing.h) of OWNER (not NULL), and those that the client READER
 * may read; of these only those of PROJECT (NULL: of any), and none that is deleted. */
enum db_status policies_list(struct db *db, const char *owner, const char *reader,
                             const char *project, const struct listing_page *page, policy_fn *each,
                             void *context);

struct certificate_row {
    char id[ID_SIZE]; /* crt_ */
    char policy[ID_SIZE];
    char owner[ID_SIZE];
    int64_t created_ms;
    char *text; /* malloc'ed */
};
/* Finds a certificate by its own id or the policy's. DB_NONE: unknown. Free text with free(). */
enum db_status certificates_find(struct db *db, const char *certificate_or_policy,
                                 struct certificate_row *out);

#endif
