/* Aggregations of locally private reports: settings and counters, the shared parameters, the
 * reports that wait for the next update, and how many reports each agent has had accepted. */
#ifndef TACET_STORAGE_AGGREGATIONS_H
#define TACET_STORAGE_AGGREGATIONS_H

#include "storage/db/db.h"
#include "storage/db/id.h"

#define AGGREGATION_WORD_SIZE 40

struct aggregation_row {
    char id[ID_SIZE]; /* agg_ */
    char owner[ID_SIZE];
    char name[NAME_SIZE];
    char environment[64]; /* "" for none */
    uint32_t state_dim, action_count, hidden;
    char mechanism[AGGREGATION_WORD_SIZE];
    double epsilon; /* of an agent, all its reports together */
    double clip, projection_clip;
    int64_t submissions_per_agent;
    int64_t price_units; /* budget of an agent, for all its reports together */
    int64_t buffer;      /* price of one report, in the ledger's units */
    double learning_rate, discount, value_weight, entropy_weight;
    double exploration, exploration_decay;
    bool refuses_stale; /* reports in an update */
    bool open;
    int64_t version; /* reports that were made under an earlier version */
    int64_t reports; /* accepted so far */
    int64_t applied; /* accepted reports that the parameters contain; the rest waits */
    int64_t created_ms;
};

/* Stores a new aggregation with its first parameters and the caller's SCHEME (opaque bytes, never
 * changed). DB_NONE: the id exists. */
enum db_status aggregations_insert(struct db *db, const struct aggregation_row *row,
                                   const void *scheme, size_t scheme_size, const void *parameters,
                                   size_t parameters_size);

/* Reads an aggregation. OUT_SCHEME[SCHEME_SIZE] (or NULL) receives the stored scheme; a scheme of
 * another size is DB_FAILED. DB_NONE: unknown. */
enum db_status aggregations_find(struct db *db, const char *id, struct aggregation_row *out,
                                 void *out_scheme, size_t scheme_size);

/* Reads the parameters of the present version; malloc'ed. DB_NONE: unknown. */
enum db_status aggregations_parameters(struct db *db, const char *id, void **out, size_t *out_size);

typedef bool aggregation_fn(void *context, const struct aggregation_row *row);

/* Lists a PAGE of the aggregations (listing.h). */
enum db_status aggregations_list(struct db *db, const char *owner, const char *client,
                                 const struct listing_page *page, aggregation_fn *each,
                                 void *context);

/* Closes the aggregation: it takes no more reports. DB_NONE: unknown, or closed before. */
enum db_status aggregations_close(struct db *db, const char *id);

/* The number of CLIENT's accepted reports, 0 for an unknown client. */
enum db_status aggregations_agent(struct db *db, const char *id, const char *client,
                                  int64_t *out_reports);

/* Accepts a report of CLIENT, in the transaction that debits its account, and after everything else
 * about it was checked against ROW as it was read in this transaction: counts it for the agent
 * (*out_number: its first is 1) and for the aggregation (row->reports moves) and keeps its BYTES.
 * DB_NONE: the agent has had all its reports. DB_RETRY: another transaction was here meanwhile. */
enum db_status aggregations_accept(struct db *db, struct aggregation_row *row, const char *client,
                                   const void *bytes, size_t size, int64_t now_ms,
                                   int64_t *out_number);

typedef bool aggregation_report_fn(void *context, const char *client, int64_t number,
                                   const void *bytes, size_t size);

/* Shows the waiting reports in the order of their acceptance. EACH returns false to stop. */
enum db_status aggregations_waiting(struct db *db, const char *id, aggregation_report_fn *each,
                                    void *context);

/* Puts PARAMETERS in place of those of row->version, moves the version by one, counts all accepted
 * reports as applied and forgets them. *ROW moves along. DB_RETRY as above. */
enum db_status aggregations_update(struct db *db, struct aggregation_row *row,
                                   const void *parameters, size_t size);

#endif
