/* Uploads: trajectories on their way into a dataset, and how training reads them.
 *
 * An upload is staged in chunks of about 1 MiB, each in its own small transaction, so that a large
 * one never keeps other writers waiting; one last transaction makes all of it part of the dataset,
 * or nothing. Chunks are opaque bytes; the numbers that they give to experts are the upload's own,
 * and a map from these to the dataset's numbers goes with them. Deleted bytes are overwritten with
 * zeros in the database file (see README.md). */
#ifndef TACET_STORAGE_UPLOADS_H
#define TACET_STORAGE_UPLOADS_H

#include "storage/datasets.h"

#define UPLOAD_CHUNK_MAX (64u << 20) /* bytes of one chunk; about 1 MiB is the right size */

/* Starts an upload of CLIENT into an open dataset. Verdicts: OK (OUT_UPLOAD is its id), UNKNOWN,
 * NOT_OPEN. */
enum db_status uploads_begin(struct db *db, const char *dataset, const char *client, int64_t now_ms,
                             char out_upload[ID_SIZE], enum dataset_verdict *out_verdict);

/* Stores chunk SEQUENCE (0, 1, ...), durably. DB_NONE: no such upload is under way. */
enum db_status uploads_chunk(struct db *db, const char *upload, uint32_t sequence,
                             const void *bytes, size_t size);

/* The bytes that CLIENT has in uploads, also staged ones, and in experts' policies. */
enum db_status uploads_size(struct db *db, const char *client, int64_t *out_bytes);

/* What the upload turned out to hold. EXPERTS[i] is the name of the expert that its chunks call i;
 * names are distinct. */
struct upload_summary {
    uint32_t chunks;
    int64_t trajectories, transitions;
    const char *const *experts;
    uint32_t expert_count;
    int64_t max_experts; /* of one client in the dataset */
    uint32_t *numbers;   /* EXPERT_COUNT: the commit sets the experts' numbers in the dataset */
};

/* Makes the upload part of its dataset in one transaction: checks that it is still open and that
 * all chunks are there, registers the experts, adds the counts. With any verdict but OK nothing has
 * changed and the upload is still staged: abort it. */
enum db_status uploads_commit(struct db *db, const char *upload,
                              const struct upload_summary *summary, struct experts_outcome *out);

/* Stores the KEYS of an upload, opaque bytes that go with its chunks; may be called within the
 * transaction of its commit. DB_NONE: unknown. */
enum db_status uploads_set_keys(struct db *db, const char *upload, const void *keys, size_t size);

/* Drops a staged upload in small transactions (must not be inside one). Unknown ids are fine. */
enum db_status uploads_abort(struct db *db, const char *upload);

/* At start: drops what crashed uploads left. Where other processes work on the database, an upload
 * may be theirs until it is UPLOADS_LEFT_MS old by NOW. Must not be inside a transaction. */
enum db_status uploads_sweep(struct db *db, int64_t now_ms);

#define UPLOADS_LEFT_MS (INT64_C(8) * 86400000) /* longer than any upload may take */

/* Overwrites a few MiB of what deleted datasets left behind; *OUT_MORE: call again.
 * Must not be inside a transaction. Cheap when there is nothing to do. */
enum db_status uploads_purge(struct db *db, bool *out_more);

struct upload_chunk {
    const char *upload;
    uint32_t sequence;
    const void *bytes; /* 8-byte aligned */
    size_t size;
    const uint32_t *experts; /* EXPERTS[i] is the dataset's number of the upload's expert i */
    uint32_t expert_count;
    const void *keys; /* of uploads_set_keys */
    size_t keys_size;
};

typedef bool upload_chunk_fn(void *context, const struct upload_chunk *chunk);

/* Shows the chunks of a dataset's uploads in the order they were committed; all is borrowed. EACH
 * may stop by false. Takes no lasting view: nothing waits for a slow reader. DB_NONE: the
 * dataset is unknown or was deleted, perhaps half way. */
enum db_status uploads_read(struct db *db, const char *dataset, upload_chunk_fn *each,
                            void *context);

/* The same for one upload. DB_NONE: it is not part of a dataset. */
enum db_status uploads_read_one(struct db *db, const char *upload, upload_chunk_fn *each,
                                void *context);

#endif
