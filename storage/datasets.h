/* Datasets, the staged uploads that fill them, and their experts. Raw data live in chunks of about a MiB, so that a large
 * upload never holds the writer for long; what they contain is the caller's business. */
#ifndef TACET_STORAGE_DATASETS_H
#define TACET_STORAGE_DATASETS_H

#include <stdbool.h>
#include <stdint.h>

#include "storage/clients.h"
#include "storage/db.h"
#include "storage/id.h"

#define EXPERT_NAME_SIZE 68 /* at most 64 bytes */

struct dataset_row {
    char id[ID_SIZE];
    char owner[ID_SIZE];
    char name[NAME_SIZE];
    char environment[32]; /* "" when the dimensions were declared */
    int64_t state_dim, action_count, max_episode_steps;
    double discount, min_action_probability;
    char sensitivity[8]; /* "private", "public" */
    int64_t nominal_experts; /* 0: not declared */
    char state[8];           /* "open", "sealed", "deleted" */
    int64_t experts, trajectories, transitions;
    char account[ID_SIZE]; /* "" for a public dataset without a budget */
    int64_t created_ms, sealed_ms;
};

enum db_status datasets_insert(struct db *db, const struct dataset_row *row);
enum db_status datasets_find(struct db *db, const char *id, struct dataset_row *out);
/* Not the deleted ones; newest last. OWNER NULL for all. */
enum db_status datasets_list(struct db *db, const char *owner, int64_t after_ms, const char *after_id, unsigned limit,
                             struct dataset_row *out, unsigned *out_count);
/* open -> sealed; DB_NONE when it is not open. */
enum db_status datasets_seal(struct db *db, const char *id, int64_t now_ms);
/* Removes chunks, expert names and policies (their pages are overwritten); keeps the row as "deleted". DB_NONE: not there. */
enum db_status datasets_delete(struct db *db, const char *id);

/* ---- uploads: begin, chunks, then commit or abort. Each of these but the commit is a transaction of its own. */

enum db_status uploads_begin(struct db *db, const char *upload, const char *dataset, const char *client,
                             int64_t now_ms);
enum db_status uploads_chunk(struct db *db, const char *upload, int64_t sequence, const void *bytes, size_t size);
void uploads_abort(struct db *db, const char *upload);

enum upload_verdict {
    UPLOAD_OK,
    UPLOAD_NOT_OPEN,         /* the dataset was sealed or deleted meanwhile */
    UPLOAD_FOREIGN_EXPERT,   /* an expert belongs to another client */
    UPLOAD_TOO_MANY_EXPERTS, /* of the dataset */
};
struct upload_summary {
    const char *const *experts; /* names in the order of the upload's own numbers 0, 1, ... */
    uint32_t expert_count;
    bool steward; /* the dataset's owner may add to anybody's experts */
    int64_t trajectories, transitions;
    int64_t max_experts;
};
/* Everything at once: experts get their numbers in the dataset, counts grow, the upload is stored. With a verdict other
 * than UPLOAD_OK the status is DB_NONE and nothing happened. *out_expert is the number of a foreign expert. */
enum db_status uploads_commit(struct db *db, const char *upload, const char *dataset, const char *client,
                              const struct upload_summary *summary, enum upload_verdict *out_verdict,
                              uint32_t *out_expert);

/* Removes what crashed uploads left. Only for a process that owns the database alone. */
enum db_status uploads_sweep(struct db *db);

/* Gives the stored chunks of a dataset in order. EXPERTS[expert_count] maps the upload's own expert numbers to those of
 * the dataset. False from CHUNK ends the reading. */
typedef bool (*upload_chunk_reader)(void *context, const uint32_t *experts, uint32_t expert_count,
                                    const unsigned char *bytes, size_t size);
enum db_status datasets_read(struct db *db, const char *dataset, upload_chunk_reader chunk, void *context);

/* ---- experts */

/* Number of the expert of that name and its owner; DB_NONE. */
enum db_status experts_find(struct db *db, const char *dataset, const char *name, int64_t *out_number,
                            char owner[ID_SIZE]);
/* Stores or replaces an expert's own policy; the expert is made when it is new (owner CLIENT). DB_NONE: the dataset is
 * not open, or the expert is another client's (see STEWARD in upload_summary), or there would be too many. */
enum db_status experts_put_policy(struct db *db, const char *dataset, const char *name, const char *client,
                                  bool steward, const void *bytes, size_t size, int64_t max_experts,
                                  enum upload_verdict *out_verdict);

#endif
