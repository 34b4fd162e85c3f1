/* Names of policies are rows that are only added; the newest of a name holds. */
#include "storage/policy_names.h"

#include <string.h>

#include "storage/db/listing.h"
#include "storage/digests.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyz0123456789"

static const struct column name_columns[] = {
    COLUMN(policy_name_row, owner, TEXT),       COLUMN(policy_name_row, name, TEXT),
    COLUMN(policy_name_row, revision, INTEGER), COLUMN(policy_name_row, policy, TEXT),
    COLUMN(policy_name_row, client, TEXT),      COLUMN(policy_name_row, moved_ms, INTEGER),
};

const struct table policy_names_table = TABLE_DIGESTED(
    "policy_names", policy_name_row, name_columns, TABLE_ALL(name_columns), "digest", 3, 0);

/* The rows that hold. */
#define NEWEST                                                                                     \
    " revision = (SELECT max(n.revision) FROM policy_names n"                                      \
    " WHERE n.owner = policy_names.owner AND n.name = policy_names.name)"

/* The length of the part of NAME that may stand at its beginning; 0: none. */
static size_t name_part(const char *name)
{
    if (!*name || !strchr(LETTERS, *name))
        return 0;
    return strspn(name, LETTERS "._-");
}

bool policy_name_valid(const char *name)
{
    size_t first = name_part(name);
    if (first == 0 || name[first] != '@' || strlen(name) >= POLICY_NAME_SIZE)
        return false;
    size_t second = name_part(name + first + 1);
    return second > 0 && name[first + 1 + second] == '\0';
}

bool policy_name_stays(const struct policy_name_row *row)
{
    char first = strchr(row->name, '@')[1];
    bool version = first >= '0' && first <= '9';
    return version || row->revision >= POLICY_NAME_REVISIONS;
}

enum db_status policy_names_find(struct db *db, const char *owner, const char *name,
                                 struct policy_name_row *out)
{
    return table_find(db, &policy_names_table, "WHERE owner = $1 AND name = $2 AND" NEWEST,
                      DB_VALUES(db_text(owner), db_text(name)), out);
}

enum db_status policy_names_move(struct db *db, const struct policy_name_row *row)
{
    return table_insert(db, &policy_names_table, row, NULL, 0);
}

TABLE_SHOW(show_name, policy_name_row);

enum db_status policy_names_list(struct db *db, const char *owners, const char *after,
                                 unsigned limit, policy_name_fn *each, void *context)
{
    struct show_name list = {each, context};
    return table_list(db, &policy_names_table,
                      "WHERE" OWNER_AMONG("$1") "AND name || ' ' || owner > $2 AND" NEWEST
                                                " ORDER BY name, owner LIMIT $3",
                      DB_VALUES(db_text(owners), db_text_or_empty(after), db_integer(limit)),
                      show_name, &list);
}

enum db_status policy_names_owned(struct db *db, const char *owners, const char *name,
                                  policy_name_fn *each, void *context)
{
    struct show_name list = {each, context};
    return table_list(db, &policy_names_table,
                      "WHERE name = $1 AND" OWNER_AMONG("$2") "AND" NEWEST " ORDER BY owner",
                      DB_VALUES(db_text(name), db_text(owners)), show_name, &list);
}

enum db_status policy_names_readable(struct db *db, const char *owners, const char *client,
                                     const char *name, policy_name_fn *each, void *context)
{
    struct show_name list = {each, context};
    return table_list(db, &policy_names_table,
                      "WHERE name = $1 AND (" OWNER_AMONG(
                          "$2") "OR EXISTS (SELECT 1 FROM"
                                " policy_grants g WHERE g.policy = policy_names.policy"
                                " AND g.client IN ($3, '" POLICY_PUBLIC "'))) AND" NEWEST
                                " ORDER BY owner",
                      DB_VALUES(db_text(name), db_text(owners), db_text(client)), show_name, &list);
}

enum db_status policy_names_moves(struct db *db, const char *owner, const char *name,
                                  policy_name_fn *each, void *context)
{
    struct show_name list = {each, context};
    return table_list(db, &policy_names_table, "WHERE owner = $1 AND name = $2 ORDER BY revision",
                      DB_VALUES(db_text(owner), db_text(name)), show_name, &list);
}

enum db_status policy_names_of(struct db *db, const char *policy, policy_name_fn *each,
                               void *context)
{
    struct show_name list = {each, context};
    return table_list(db, &policy_names_table, "WHERE policy = $1 AND" NEWEST " ORDER BY name",
                      DB_VALUES(db_text(policy)), show_name, &list);
}

/* ---- grants */

static const struct column grant_columns[] = {
    COLUMN(policy_grant, policy, TEXT),
    COLUMN(policy_grant, client, TEXT),
    COLUMN(policy_grant, granted_by, TEXT),
    COLUMN(policy_grant, granted_ms, INTEGER),
};

const struct table policy_grants_table = TABLE_DIGESTED(
    "policy_grants", policy_grant, grant_columns, TABLE_ALL(grant_columns), "digest", 2, 0);

enum db_status policy_grants_insert(struct db *db, const struct policy_grant *grant)
{
    return table_insert(db, &policy_grants_table, grant, NULL, 0);
}

enum db_status policy_grants_delete(struct db *db, const char *policy, const char *client)
{
    return db_change(db, "DELETE FROM policy_grants WHERE policy = $1 AND client = $2",
                     DB_VALUES(db_text(policy), db_text(client)));
}

enum db_status policy_grants_allow(struct db *db, const char *policy, const char *client, bool *out)
{
    struct policy_grant grant;
    enum db_status status =
        table_find(db, &policy_grants_table,
                   "WHERE policy = $1 AND client IN ($2, '" POLICY_PUBLIC "') LIMIT 1",
                   DB_VALUES(db_text(policy), db_text(client)), &grant);
    *out = status == DB_OK;
    return db_optional(status);
}

TABLE_SHOW(show_grant, policy_grant);

enum db_status policy_grants_list(struct db *db, const char *policy, policy_grant_fn *each,
                                  void *context)
{
    struct show_grant list = {each, context};
    return table_list(db, &policy_grants_table, "WHERE policy = $1 ORDER BY client",
                      DB_VALUES(db_text(policy)), show_grant, &list);
}
