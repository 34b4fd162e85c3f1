/* Teachers: policies that answer queries for a price, and who may ask them. */
#ifndef TACET_STORAGE_TEACHERS_H
#define TACET_STORAGE_TEACHERS_H

#include "storage/db/db.h"
#include "storage/db/id.h"
#include "storage/ledger/ledger.h"

/* A teacher never changes; numbers mean what algos/release says. */
struct teacher_row {
    char id[ID_SIZE]; /* tch_ */
    char owner[ID_SIZE];
    char policy[ID_SIZE];
    char mechanism[40];                               /* "dirichlet", "gaussian_simplex" */
    char adjacency[24];                               /* "observation", "expert" */
    double concentration, min_probability, vanishing; /* of "dirichlet"; else 0, 0, 1 */
    double sigma;                                     /* of "gaussian_simplex"; else 0 */
    double temperature;
    char at_floor[8];   /* where the schedule ends: "uniform", "refuse"; "charge" in old rows */
    char when_spent[8]; /* where a budget ends: "refuse", "random" */
    double radius, lipschitz; /* of "observation"; else 0 */
    double sensitivity;
    uint32_t shards;                  /* of "expert"; else 0 */
    char dataset[ID_SIZE];            /* whose experts are protected; "" for "observation" */
    char dataset_account[ID_SIZE];    /* pays beside the other two; "": none */
    int64_t first_units, first_delta; /* what the first answer costs that account beside its price,
                                         in the ledger's units */
    char certificate[ID_SIZE];        /* crt_; "" for none */
    double renyi_order;               /* of all its accounts; 0: basic composition */
    int64_t delta_share;    /* of basic accounts: what each answer spends of delta, in 1e-18 */
    char account[ID_SIZE];  /* the cap over all clients */
    bool has_client_budget; /* false: only clients with a grant may ask */
    double client_epsilon, client_delta;
    int64_t created_ms;
    char name[NAME_SIZE]; /* "": it is called as its policy is */
};

/* With the CERTIFICATE_TEXT of row->certificate ("" for none). DB_NONE: the id exists. */
enum db_status teachers_insert(struct db *db, const struct teacher_row *teacher,
                               const char *certificate_text);
/* The text of the certificate of the teacher or certificate ID, and whose it is; the caller frees
 * *out_text. DB_NONE: unknown, or it has none. */
enum db_status teachers_certificate(struct db *db, const char *id, char out_certificate[ID_SIZE],
                                    char out_owner[ID_SIZE], char **out_text);
/* One lookup by primary key. DB_NONE: unknown. */
enum db_status teachers_find(struct db *db, const char *id, struct teacher_row *out);

/* Finds the newest teacher whose answers the dataset's ACCOUNT pays for. DB_NONE: none. */
enum db_status teachers_find_newest(struct db *db, const char *account, struct teacher_row *out);

/* Finds a teacher of POLICY that is not closed. DB_NONE: there is none. */
enum db_status teachers_find_open(struct db *db, const char *policy, char out_id[ID_SIZE]);

typedef bool teacher_fn(void *context, const struct teacher_row *teacher);

/* Lists a PAGE of the teachers (listing.h) that CLIENT may ask, by its own account or by the
 * default budget; none that is deleted. */
enum db_status teachers_list(struct db *db, const char *owner, const char *client,
                             const struct listing_page *page, teacher_fn *each, void *context);

/* ---- a client's standing with a teacher */

struct teacher_client_row {
    char teacher[ID_SIZE], client[ID_SIZE];
    char account[ID_SIZE]; /* what the client spends from */
    int64_t rollout;       /* 0, 1, ...: the vanishing schedule's position */
    char share[ID_SIZE]; /* the account of what the teacher's cap sets aside for it; "": nothing */
    char dataset_share[ID_SIZE]; /* the same of the dataset's account */
};

/* Lets ACCOUNT pay for the teachers of DATASET whose answers its account pays for, from now on; the
 * first answer then costs what all others do. In the caller's transaction. */
enum db_status teachers_set_payer(struct db *db, const char *dataset, const char *account);

/* DB_NONE: the client has no account with this teacher yet. */
enum db_status teachers_client_find(struct db *db, const char *teacher, const char *client,
                                    struct teacher_client_row *out);
/* Gives CLIENT an account, roll-out 0. DB_NONE: it has one. */
enum db_status teachers_client_insert(struct db *db, const char *teacher, const char *client,
                                      const char *account, int64_t now_ms);
/* DB_OK: ACCOUNT, the account or a share of the standing ROW, is its client's. DB_FAILED: it is
 * another's, so the row is damaged. */
enum db_status teachers_client_has(struct db *db, const struct teacher_client_row *row,
                                   const struct ledger_account *account);
/* Reads the account of the standing ROW, which has it. */
enum db_status teachers_client_account(struct db *db, const struct teacher_client_row *row,
                                       struct ledger_account *out);
/* Next roll-out; *OUT_ROLLOUT is its number. DB_NONE: no account. */
enum db_status teachers_client_next_rollout(struct db *db, const char *teacher, const char *client,
                                            int64_t *out_rollout);

/* Stores the shares of the standing ROW. In the caller's transaction. */
enum db_status teachers_client_set_shares(struct db *db, const struct teacher_client_row *row);

/* Finds a standing of CLIENT, or at TEACHER (the other is NULL), that has a share. DB_NONE: there
 * is none. */
enum db_status teachers_client_find_shared(struct db *db, const char *client, const char *teacher,
                                           struct teacher_client_row *out);

/* What a teacher guarantees to a client: answers, or a part of the client's budget. Zeros: nothing.
 */
struct teacher_guarantee {
    double epsilon, delta;
    int64_t answers;
};

/* Reads what TEACHER guarantees to clients under its default budget; zeros: nothing. */
enum db_status teachers_guarantee(struct db *db, const char *teacher,
                                  struct teacher_guarantee *out);

/* Stores it, once, for a new teacher. */
enum db_status teachers_set_guarantee(struct db *db, const char *teacher,
                                      const struct teacher_guarantee *guarantee);

#endif
