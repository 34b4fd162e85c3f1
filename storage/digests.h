/* What is stored under a digest (db/digest.h), each column in one line, and under which key. */
#ifndef TACET_STORAGE_DIGESTS_H
#define TACET_STORAGE_DIGESTS_H

#include "storage/db/table.h"

extern const struct table policies_table;               /* what a policy is: policies.c */
extern const struct table policy_bytes_table;           /* its weights */
extern const struct table teachers_table;               /* teachers.c */
extern const struct table expert_policies_table;        /* experts.c */
extern const struct table checkpoints_table;            /* jobs_lease.c */
extern const struct table q_releases_table;             /* q_releases.c */
extern const struct table q_sealed_table;               /* the secret of a Q-release */
extern const struct table aggregation_parameters_table; /* aggregations.c */
extern const struct table endings_table;                /* endings.c */
extern const struct table policy_names_table;           /* policy_names.c */
extern const struct table policy_grants_table;          /* who may read a policy */
extern const struct table signing_keys_table;           /* signing_keys.c */
extern const struct table jobs_table;                   /* what was asked for: jobs.c */
extern const struct table datasets_table;               /* what was declared: datasets.c */
extern const struct table aggregations_table;           /* aggregations.c */
extern const struct table limit_changes_table;          /* limit_changes.c */
extern const struct table limit_approvals_table;        /* stewards that a limit takes */
extern const struct table budget_requests_table;        /* budget_requests.c */
extern const struct table environments_table;           /* programs that are run */
extern const struct table clients_table;                /* roles: clients.c */
extern const struct table client_tokens_table;          /* what a token may do */
extern const struct table client_certificates_table;    /* whose a certificate is */
extern const struct table projects_table;               /* whom a project admits: projects.c */
extern const struct table project_members_table;        /* roles in it */

/* All of them, and answers_table, but notes_table; ends in NULL. */
extern const struct table *const digests_tables[];

/* Gives every row of the tables that had them first a digest, and the database its key: the upgrade
 * from the version without. */
enum db_status digests_begin(struct db *db, char error[DB_ERROR_SIZE]);

/* Gives endings, names of policies and grants digests: the upgrade from the version without. */
enum db_status digests_begin_names(struct db *db, char error[DB_ERROR_SIZE]);

/* Gives digests to the tables that came behind signing keys, likewise. */
enum db_status digests_begin_plans(struct db *db, char error[DB_ERROR_SIZE]);

/* Gives digests to clients, tokens, certificates, projects and members, likewise. */
enum db_status digests_begin_rights(struct db *db, char error[DB_ERROR_SIZE]);

/* Makes the notes of a database, where they are missing, and gives them digests: the upgrade from
 * the version without. */
enum db_status digests_begin_notes(struct db *db, char error[DB_ERROR_SIZE]);

/* Reads which key the digests of DB have. DB_NONE: it does not say. DB_FAILED: another key, and
 * ERROR says so. */
enum db_status digests_key_fits(struct db *db, char error[DB_ERROR_SIZE]);

/* Makes the notes of a database without clients. DB_FAILED: it has another key, or its notes are
 * gone; ERROR says so. */
enum db_status digests_bind(struct db *db, char error[DB_ERROR_SIZE]);

#endif
