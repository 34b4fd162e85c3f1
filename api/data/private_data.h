/* Experts' data at rest. Every episode and every network of an expert is encrypted under the key of
 * that expert (storage/keys/keyring.h), so that nobody can read them once the key is erased.
 *
 * An upload draws a key for each of its experts, which is in memory alone while it is staged, and
 * encrypts every record under its expert's. Its commit encrypts these keys under the experts' own,
 * and stores them beside the chunks (uploads_set_keys).
 *
 * A stored chunk is the 8 bytes of PRIVATE_CHUNK and records: u32 expert (the upload's number),
 * u32 size, ciphertext of SIZE bytes (trajectory.h), tag of 16 bytes. The nonce is the place of the
 * record: chunk and offset. */
#ifndef TACET_API_DATA_PRIVATE_DATA_H
#define TACET_API_DATA_PRIVATE_DATA_H

#include "storage/datasets.h"
#include "storage/uploads.h"

struct app;

#define PRIVATE_CHUNK       "TACETCH1"
#define PRIVATE_HEAD        8  /* bytes at the beginning of a chunk */
#define PRIVATE_MORE        24 /* bytes that a stored record is longer */
#define PRIVATE_POLICY_MORE 48 /* bytes that a stored network is longer */

/* ---- writing */

struct private_keys; /* of the experts of one staged upload */

struct private_keys *private_keys_new(void);

/* Wipes them. NULL is fine. */
void private_keys_free(struct private_keys *keys);

/* Draws the keys of the first COUNT experts that have none yet. */
void private_keys_draw(struct private_keys *keys, uint32_t count);

/* Encrypts the record of SIZE bytes that stands at chunk + at + 8, in its place, as that of EXPERT
 * (an upload's number; 0, 1, ... in the order they come) in chunk SEQUENCE. Gives the size of what
 * then stands at chunk + at. */
size_t private_record_close(struct private_keys *keys, uint32_t sequence, unsigned char *chunk,
                            size_t at, uint32_t expert, size_t size);

/* Whose keys are stored. */
struct private_upload {
    const char *dataset, *upload;
    const uint32_t *numbers; /* of its COUNT experts in the dataset */
    uint32_t count, first_new;
};

/* Encrypts KEYS under the keys of their experts, and stores them with the upload. Those of new
 * experts are made, and are on disk when it returns. In the transaction of the commit. */
enum db_status private_keys_store(const struct app *app, struct db *db,
                                  const struct private_keys *keys,
                                  const struct private_upload *upload);

/* Encrypts the network BYTES[size] of expert NUMBER, who is new when IS_NEW. The caller frees
 * *out. */
enum db_status private_policy_close(const struct app *app, const char *dataset, uint32_t number,
                                    bool is_new, const void *bytes, size_t size,
                                    unsigned char **out, size_t *out_size);

/* ---- reading */

/* uploads_read with chunks of records in clear, which are wiped behind EACH. Records of erased
 * experts are left out. DB_NONE also when something cannot be decrypted; DB_FULL when keys cannot
 * be read now. */
enum db_status private_read(const struct app *app, struct db *db, const char *dataset,
                            upload_chunk_fn *each, void *context);

/* datasets_policies with networks in clear, which are wiped behind EACH, without those of erased
 * experts. DB_NONE: something cannot be decrypted. */
enum db_status private_policies(const struct app *app, struct db *db, const char *dataset,
                                expert_policy_fn *each, void *context);

#endif
