/* Names of policies, treatment@2 and treatment@current, and who may read released ones.
 *
 * A name belongs to its owner. Behind the @ a version begins with a digit and names one policy for
 * ever; any other is an alias, which its owner moves. Each move is a row that stays. */
#ifndef TACET_STORAGE_POLICY_NAMES_H
#define TACET_STORAGE_POLICY_NAMES_H

#include "storage/db/db.h"
#include "storage/db/id.h"

#define POLICY_NAME_SIZE      112  /* bytes, with the NUL */
#define POLICY_NAME_REVISIONS 1000 /* of one alias; with the last it stays, as a version does */

struct policy_name_row {
    char owner[ID_SIZE];
    char name[POLICY_NAME_SIZE];
    int64_t revision; /* 1, 2, ...: the newest holds */
    char policy[ID_SIZE];
    char client[ID_SIZE]; /* who moved it */
    int64_t moved_ms;
};

/* True when NAME has the form of a name: lower-case letters, digits and "._-" on both sides of one
 * @, beginning with a letter or digit. */
bool policy_name_valid(const char *name);

/* True when what ROW says is never changed: of a version, and of an alias's last revision. */
bool policy_name_stays(const struct policy_name_row *row);

/* What OWNER's NAME names now. DB_NONE: nothing. */
enum db_status policy_names_find(struct db *db, const char *owner, const char *name,
                                 struct policy_name_row *out);

/* Stores one more revision of a name. DB_NONE: it has this revision. */
enum db_status policy_names_move(struct db *db, const struct policy_name_row *row);

typedef bool policy_name_fn(void *context, const struct policy_name_row *row);

/* Shows what the names of OWNERS, separated by spaces, name now, in order, from after the one of
 * which AFTER is "name owner" (NULL: the first). */
enum db_status policy_names_list(struct db *db, const char *owners, const char *after,
                                 unsigned limit, policy_name_fn *each, void *context);

/* Shows what NAME names now to those of OWNERS, separated by spaces, that have it. */
enum db_status policy_names_owned(struct db *db, const char *owners, const char *name,
                                  policy_name_fn *each, void *context);

/* The same, and to owners whose policy of that name was granted to CLIENT or to all. */
enum db_status policy_names_readable(struct db *db, const char *owners, const char *client,
                                     const char *name, policy_name_fn *each, void *context);

/* Shows all revisions of a name, oldest first. */
enum db_status policy_names_moves(struct db *db, const char *owner, const char *name,
                                  policy_name_fn *each, void *context);

/* Shows the names that POLICY has now. */
enum db_status policy_names_of(struct db *db, const char *policy, policy_name_fn *each,
                               void *context);

/* ---- who may read a released policy */

#define POLICY_PUBLIC "public" /* in the place of a client: every client */

struct policy_grant {
    char policy[ID_SIZE];
    char client[ID_SIZE];
    char granted_by[ID_SIZE];
    int64_t granted_ms;
};

/* DB_NONE: it is granted already. */
enum db_status policy_grants_insert(struct db *db, const struct policy_grant *grant);

/* DB_NONE: there is no such grant. */
enum db_status policy_grants_delete(struct db *db, const char *policy, const char *client);

/* Sets *OUT to whether CLIENT, or every client, may read POLICY. */
enum db_status policy_grants_allow(struct db *db, const char *policy, const char *client,
                                   bool *out);

typedef bool policy_grant_fn(void *context, const struct policy_grant *grant);

/* Shows all grants of POLICY, in the order of their clients. */
enum db_status policy_grants_list(struct db *db, const char *policy, policy_grant_fn *each,
                                  void *context);

#endif
