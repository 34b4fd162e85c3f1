/* Datasets: their declarations, their experts, and how much data they have. Their bytes are in
 * uploads.h. */
#ifndef TACET_STORAGE_DATASETS_H
#define TACET_STORAGE_DATASETS_H

#include "storage/db/db.h"
#include "storage/db/id.h"
#include "storage/marks/marks.h"

#define DATASET_ENVIRONMENT_SIZE 64
#define DATASET_EXPERT_SIZE      65  /* bytes of an expert's name, NUL included */
#define DATASET_MEANS_SIZE       201 /* of what "expert" means, likewise */

enum dataset_state { DATASET_OPEN, DATASET_SEALED, DATASET_DELETED };

/* "open", "sealed" or "deleted". */
const char *dataset_state_name(enum dataset_state state);

struct dataset_row {
    char id[ID_SIZE];    /* ds_ */
    char owner[ID_SIZE]; /* the steward */
    char name[NAME_SIZE];
    char environment[DATASET_ENVIRONMENT_SIZE]; /* "" when the dimensions were declared */
    uint32_t state_dim, action_count, max_episode_steps;
    double discount;
    double min_action_probability;
    bool is_public;          /* "sensitivity":"public": holds nobody's secrets */
    int64_t nominal_experts; /* the declared, public number of experts; 0: not declared */
    enum dataset_state state;
    int64_t experts, trajectories, transitions; /* stored so far; secret unless is_public */
    char account[ID_SIZE];                      /* of the ledger; "" for none */
    int64_t created_ms;
    bool uncovered; /* a job without a mechanism was accepted on it: its budget does not cover all
                     * that was revealed; never false again */
    char expert_means[DATASET_MEANS_SIZE]; /* who an expert is, in the owner's words; "" where the
                                            * dataset was not described */
    int64_t retention_days; /* an expert's data are erased when they are older; 0: never */
    int64_t erased_days;    /* from its creation, whose uploads were declared to be erased by now */
    int64_t sealed_ms;      /* 0: it is open */
};

enum dataset_verdict {
    DATASET_OK,
    DATASET_UNKNOWN,       /* no such dataset (or upload), or it was deleted */
    DATASET_NOT_OPEN,      /* sealed */
    DATASET_EXPERTS_LIMIT, /* more experts than allowed */
    DATASET_INCOMPLETE,    /* chunks are missing */
};

/* Stores a new dataset as open with counts of 0, whatever DATASET says of them, and its DESCRIPTION
 * (NULL: none), an opaque text. DB_NONE: the id exists. */
enum db_status datasets_insert(struct db *db, const struct dataset_row *dataset,
                               const char *description);

/* Reads the description of dataset ID, which the caller frees. DB_NONE: it has none. */
enum db_status datasets_description(struct db *db, const char *id, char **out);

/* Finds a dataset, also a deleted one; see its state. DB_NONE: unknown. */
enum db_status datasets_find(struct db *db, const char *id, struct dataset_row *out);

/* Finds a dataset that takes more data; DB_OK for any verdict. Verdicts: OK, UNKNOWN, NOT_OPEN. */
enum db_status datasets_find_open(struct db *db, const char *id, struct dataset_row *out,
                                  enum dataset_verdict *out_verdict);

typedef bool dataset_fn(void *context, const struct dataset_row *dataset);

/* Lists a PAGE of the datasets that are not deleted (listing.h). */
enum db_status datasets_list(struct db *db, const char *owner, const char *client,
                             const struct listing_page *page, dataset_fn *each, void *context);

/* Seals an open dataset. Verdicts: OK, UNKNOWN, NOT_OPEN (sealed before). */
enum db_status datasets_seal(struct db *db, const char *id, int64_t now_ms,
                             enum dataset_verdict *out_verdict);

/* Notes that the budget of dataset ID does not cover everything any more, in the marks
 * (datasets_mark), too; again is fine. In the caller's transaction that accepts the job. DB_NONE:
 * unknown. */
enum db_status datasets_uncover(struct db *db, const char *id);

/* Finds the first private dataset behind AFTER ("": all), deleted or not, that is UNCOVERED, or
 * that is not. DB_NONE: there is none. */
enum db_status datasets_next_private(struct db *db, bool uncovered, const char *after,
                                     char out[ID_SIZE]);

/* Finds a dataset of OWNER that has NAME and is not deleted, or else a deleted one of whose budgets
 * something is spent, or set aside. DB_NONE: there is none. Reads all datasets. */
enum db_status datasets_find_name(struct db *db, const char *owner, const char *name,
                                  char out[ID_SIZE]);

/* Finds the first deleted dataset behind AFTER, likewise. */
enum db_status datasets_next_deleted(struct db *db, const char *after, char out[ID_SIZE]);

/* The mark of dataset ID that stands where it is uncovered, without amounts. */
struct mark datasets_mark(const char *id);

/* Sets the retention_days of dataset ID. DB_NONE: unknown. */
enum db_status datasets_set_retention(struct db *db, const char *id, int64_t days);

/* Lets ACCOUNT pay for dataset ID from now on, and for its teachers, whose first answer then costs
 * what all others do. In the caller's transaction. DB_NONE: unknown. */
enum db_status datasets_set_account(struct db *db, const char *id, const char *account);

/* Marks the dataset as deleted and removes its description, and its
 * experts' names and policies; the row and its ledger
 * account stay. From then on nothing reads its trajectories, which uploads_purge overwrites in
 * small steps. Verdicts: OK, UNKNOWN. Jobs that use it are the caller's to refuse. */
enum db_status datasets_delete(struct db *db, const char *id, enum dataset_verdict *out_verdict);

/* ---- experts: numbered 0, 1, ... within a dataset in the order they came. Names are each client's
 * own: two clients' experts of one name are two experts, and neither client learns of the other. */

struct expert_row {
    char dataset[ID_SIZE];
    uint32_t number;
    char name[DATASET_EXPERT_SIZE];
    char owner[ID_SIZE]; /* the client that calls its expert by this name */
    bool has_policy;
};

/* What one client calls its experts; NAMES are distinct. */
struct expert_names {
    const char *dataset, *client;
    const char *const *names;
    uint32_t count;
    int64_t max_own; /* of CLIENT in the dataset. Others' experts do not count: a refusal would tell
                      * how many they have */
    int64_t now_ms;  /* of the upload */
};

struct experts_outcome {
    enum dataset_verdict verdict;
    uint32_t expert;     /* EXPERTS_LIMIT: which of the names */
    int64_t new_experts; /* OK: how many were not yet in the dataset */
    int64_t first_new;   /* OK: the lowest number of a new one */
};

/* Finds CLIENT's experts NAMES, or registers them with the next numbers. Verdicts: OK (OUT_NUMBERS
 * are COUNT numbers), EXPERTS_LIMIT, UNKNOWN, NOT_OPEN; with any but OK nothing has changed. */
enum db_status datasets_register_experts(struct db *db, const struct expert_names *names,
                                         uint32_t *out_numbers, struct experts_outcome *out);

typedef bool expert_fn(void *context, const struct expert_row *expert);

/* Shows at most LIMIT experts from number FROM on, in order. */
enum db_status datasets_experts(struct db *db, const char *dataset, uint32_t from, unsigned limit,
                                expert_fn *each, void *context);

/* Shows the experts of DATASET that CLIENT (NULL: any client) calls NAME, in order. */
enum db_status datasets_experts_named(struct db *db, const char *dataset, const char *client,
                                      const char *name, expert_fn *each, void *context);

/* Gives expert NUMBER another NAME, which no client can give, and removes its policy: its key was
 * erased. DB_NONE: unknown. */
enum db_status datasets_erase_expert(struct db *db, const char *dataset, uint32_t number,
                                     const char *name);

/* Whether dataset ID is deleted, or unknown. Reads nothing else of it. */
enum db_status datasets_is_deleted(struct db *db, const char *id, bool *out);

/* Finds the first dataset behind AFTER of which uploads of more than its erased_days would be to
 * erase by NOW_MS if there are any, with the new erased_days. Behind the day of its sealing there
 * are none. DB_NONE: there is no such dataset. DB_FAILED: the one with OUT's id cannot be read;
 * "": none could be looked for. */
enum db_status datasets_next_day(struct db *db, int64_t now_ms, const char *after,
                                 struct dataset_row *out);

/* Notes the erased_days of DATASET. DB_NONE: they are noted. */
enum db_status datasets_note_days(struct db *db, const struct dataset_row *dataset);

/* Of the first dataset behind AFTER ("": all) with experts whose newest upload is older than its
 * retention_days, and whose day is noted (datasets_note_days; or all days of a sealed dataset),
 * finds the one whose is the oldest. Uploads and ages count in whole days from the dataset's
 * creation, so that the hour of an upload does not show. DB_NONE: no such dataset. */
enum db_status datasets_next_due(struct db *db, const char *after, int64_t now_ms,
                                 struct expert_row *out);

/* Finds the newest expert whose name begins with PREFIX, of CLIENT (NULL: any). DB_NONE: none. */
enum db_status datasets_find_erased(struct db *db, const char *dataset, const char *client,
                                    const char *prefix, struct expert_row *out);

/* Shows the names alone of the experts of DATASET and of CLIENT (NULL: any) that were given another
 * name. */
enum db_status datasets_experts_erased(struct db *db, const char *dataset, const char *client,
                                       expert_fn *each, void *context);

struct expert_policy {
    const char *dataset;
    uint32_t number; /* of its expert, which is registered */
    const void *bytes;
    size_t size;
    int64_t now_ms;
};

/* Stores (or replaces) the policy of an expert, in the transaction that registered it or found it.
 * Its bytes are opaque. */
enum db_status datasets_put_policy(struct db *db, const struct expert_policy *policy);

/* Counts the policies of DATASET and their bytes. */
enum db_status datasets_policies_size(struct db *db, const char *dataset, int64_t *out_count,
                                      int64_t *out_bytes);

typedef bool expert_policy_fn(void *context, uint32_t number, const void *bytes, size_t size);

/* Shows every policy in order of expert; BYTES are borrowed and 8-byte aligned. EACH may stop by
 * false, and may use DB. */
enum db_status datasets_policies(struct db *db, const char *dataset, expert_policy_fn *each,
                                 void *context);

#endif
