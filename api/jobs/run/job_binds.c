/* What a job's certificate is bound to: the released weights or function, the data that were
 * trained on, and the ledger. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "algos/release/q_release.h"
#include "api/call/commitment.h"
#include "api/data/private_data.h"
#include "api/jobs/run/job_certificate.h"
#include "api/jobs/run/run_release.h"
#include "api/policies/network_digest.h"
#include "storage/datasets.h"
#include "storage/uploads.h"

/* ---- the digest of a dataset's contents */

struct digesting {
    struct job_run *run;
    crypto_hash_sha256_state state;
};

/* Adds a piece: its length as eight little-endian bytes, then its bytes. */
static void digest_piece(struct digesting *digesting, const void *bytes, size_t size)
{
    uint64_t length = size;
    crypto_hash_sha256_update(&digesting->state, (const unsigned char *)&length, sizeof length);
    crypto_hash_sha256_update(&digesting->state, bytes, size);
    (void)job_run_beat(digesting->run, false, JOB_LEASE_MS); /* a lost lease is seen at the end */
}

static bool digest_expert(void *context, const struct expert_row *expert)
{
    digest_piece(context, expert->owner, strlen(expert->owner));
    digest_piece(context, expert->name, strlen(expert->name));
    return true;
}

static bool digest_chunk(void *context, const struct upload_chunk *chunk)
{
    digest_piece(context, chunk->experts, chunk->expert_count * sizeof *chunk->experts);
    digest_piece(context, chunk->bytes, chunk->size);
    return true;
}

static bool digest_network(void *context, uint32_t number, const void *bytes, size_t size)
{
    digest_piece(context, &number, sizeof number);
    digest_piece(context, bytes, size);
    return true;
}

/* DB_NONE: the dataset was deleted. */
static enum db_status digest_dataset(struct job_run *run, unsigned char out[DIGEST_BYTES])
{
    struct digesting digesting = {.run = run};
    const char *id = run->job.dataset;
    crypto_hash_sha256_init(&digesting.state);
    enum db_status status = datasets_experts(run->db, id, 0, UINT32_MAX, digest_expert, &digesting);
    if (status == DB_OK)
        status = private_read(run->app, run->db, id, digest_chunk, &digesting);
    if (status == DB_OK)
        status = private_policies(run->app, run->db, id, digest_network, &digesting);
    crypto_hash_sha256_final(&digesting.state, out);
    return status;
}

/* ---- the certificate's members */

static bool bind_dataset(struct job_run *run, const char *certificate, json_t *binds)
{
    json_t *commitment = json_null();
    if (run->job.dataset[0] != '\0') {
        unsigned char digest[DIGEST_BYTES];
        enum db_status status = digest_dataset(run, digest);
        if (status == DB_OK)
            commitment = commitment_json(run->app, certificate, "dataset", digest);
        else if (status != DB_NONE)
            return false;
    }
    json_object_set_new(binds, "dataset_commitment", commitment);
    return true;
}

static void bind_function(const struct job_run *run, const struct q_release *release,
                          const char *certificate, json_t *binds)
{
    unsigned char digest[DIGEST_BYTES];
    size_t size = 0;
    unsigned char *secret = q_release_to_bytes(release, &size);
    crypto_hash_sha256(digest, secret, size);
    sodium_memzero(secret, size);
    free(secret);
    json_object_set_new(binds, "function_commitment",
                        commitment_json(run->app, certificate, "function", digest));
}

json_t *job_binds(struct job_run *run, const char *certificate, const struct policy *network,
                  const struct q_release *release)
{
    json_t *binds = json_object();
    if (release)
        bind_function(run, release, certificate, binds);
    if (bind_dataset(run, certificate, binds) && (!network || network_binds(network, binds)))
        return binds;
    json_decref(binds);
    return NULL;
}
