/* Projects and their members. */
#include "storage/projects.h"

#include <string.h>

#include "storage/db/listing.h"
#include "storage/db/table.h"
#include "storage/digests.h"

const char *const project_role_names[] = {"owner",       "steward", "viewer",
                                          "contributor", "student", NULL};

static const struct column project_columns[] = {
    COLUMN(project_row, id, TEXT),
    COLUMN(project_row, name, TEXT),
    COLUMN(project_row, invited_only, FLAG),
    COLUMN(project_row, created_ms, INTEGER),
};

const struct table projects_table = TABLE_DIGESTED("projects", project_row, project_columns,
                                                   TABLE_ALL(project_columns), "digest", 1, 0);

static const struct column member_columns[] = {
    COLUMN(project_member_row, project, TEXT),
    COLUMN(project_member_row, client, TEXT),
    {"role", COLUMN_WORD, offsetof(struct project_member_row, role), 0, project_role_names},
    COLUMN(project_member_row, added_by, TEXT),
    COLUMN(project_member_row, added_ms, INTEGER),
};

const struct table project_members_table =
    TABLE_DIGESTED("project_members", project_member_row, member_columns, TABLE_ALL(member_columns),
                   "digest", 2, 0);

enum db_status projects_insert(struct db *db, const struct project_row *project)
{
    return table_insert(db, &projects_table, project, NULL, 0);
}

enum db_status projects_find(struct db *db, const char *id, struct project_row *out)
{
    return table_find_id(db, &projects_table, id, out);
}

enum db_status projects_update(struct db *db, const struct project_row *project)
{
    unsigned char digest[DIGEST_SIZE];
    table_digest(db, &projects_table, project, digest);
    return db_change(db,
                     "UPDATE projects SET name = $2, invited_only = $3, digest = $4 WHERE id = $1",
                     DB_VALUES(db_text(project->id), db_text(project->name),
                               db_integer(project->invited_only), db_bytes(digest, DIGEST_SIZE)));
}

TABLE_SHOW(show_project, project_row);

enum db_status projects_list(struct db *db, const char *client, const struct listing_page *page,
                             project_fn *each, void *context)
{
    struct show_project list = {each, context};
    return table_list(
        db, &projects_table,
        "WHERE ($1 = '' OR id IN (SELECT project FROM project_members WHERE client = $1)) "
        "AND" LISTING_PAGE("$2", "$3", "$4"),
        DB_VALUES(db_text_or_empty(client), LISTING_VALUES(page)), show_project, &list);
}

struct membership_list {
    struct db *db;
    project_membership_fn *each;
    void *context;
};

/* A damaged membership, or one of a damaged project, allows nothing. */
static enum db_status show_membership(void *context, const struct db_row *row)
{
    const struct membership_list *list = context;
    struct project_member_row member;
    struct project_membership_row membership;
    if (!table_read_part(list->db, &project_members_table, row, 0, &member) ||
        !table_read_part(list->db, &projects_table, row, project_members_table.count + 1,
                         &membership.project))
        return DB_OK;
    membership.role = member.role;
    return list->each(list->context, &membership) ? DB_OK : DB_NONE;
}

enum db_status projects_memberships(struct db *db, const char *client, project_membership_fn *each,
                                    void *context)
{
    struct membership_list list = {db, each, context};
    return db_optional(db_run(
        db,
        "SELECT m.project, m.client, m.role, m.added_by, m.added_ms, m.digest, p.id, p.name, "
        "p.invited_only, p.created_ms, p.digest FROM project_members AS m JOIN projects AS p ON "
        "p.id = m.project WHERE m.client = $1 ORDER BY p.created_ms, p.id",
        DB_VALUES(db_text(client)), show_membership, &list));
}

TABLE_SHOW(show_member, project_member_row);

enum db_status projects_members(struct db *db, const char *project, project_member_fn *each,
                                void *context)
{
    struct show_member list = {each, context};
    return table_list_sound(db, &project_members_table,
                            "WHERE project = $1 ORDER BY added_ms, client",
                            DB_VALUES(db_text(project)), show_member, &list);
}

enum db_status projects_member_find(struct db *db, const char *project, const char *client,
                                    struct project_member_row *out)
{
    return table_find_sound(db, &project_members_table, "WHERE project = $1 AND client = $2",
                            DB_VALUES(db_text(project), db_text(client)), out);
}

enum db_status projects_member_put(struct db *db, const struct project_member_row *member)
{
    unsigned char digest[DIGEST_SIZE];
    table_digest(db, &project_members_table, member, digest);
    return db_change(
        db,
        "INSERT INTO project_members (project, client, role, added_by, added_ms, digest) "
        "VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (project, client) DO UPDATE SET role = $3, "
        "added_by = $4, added_ms = $5, digest = $6",
        DB_VALUES(db_text(member->project), db_text(member->client),
                  db_text(project_role_names[member->role]), db_text(member->added_by),
                  db_integer(member->added_ms), db_bytes(digest, DIGEST_SIZE)));
}

enum db_status projects_member_remove(struct db *db, const char *project, const char *client)
{
    return db_change(db, "DELETE FROM project_members WHERE project = $1 AND client = $2",
                     DB_VALUES(db_text(project), db_text(client)));
}

enum db_status projects_stewards_remove(struct db *db, const char *project)
{
    return db_optional(db_change(db,
                                 "DELETE FROM project_members WHERE project = $1 "
                                 "AND role IN ('owner', 'steward')",
                                 DB_VALUES(db_text(project))));
}

static bool count_owner(void *context, const void *row)
{
    const struct project_member_row *member = row;
    *(int64_t *)context += member->role == PROJECT_OWNER;
    return true;
}

enum db_status projects_owners(struct db *db, const char *project, int64_t *out)
{
    *out = 0;
    return table_list_sound(db, &project_members_table, "WHERE project = $1",
                            DB_VALUES(db_text(project)), count_owner, out);
}

bool projects_always_open(const char *project)
{
    return strncmp(project, "cli_", 4) == 0;
}

enum db_status projects_admit(struct db *db, const char *project, const char *client, bool *out)
{
    struct project_row row;
    struct project_member_row member;
    enum db_status status = projects_find(db, project, &row);
    *out = status == DB_OK && !row.invited_only;
    if (*out || (status != DB_OK && status != DB_NONE))
        return status;
    status = projects_member_find(db, project, client, &member);
    *out = status == DB_OK;
    return db_optional(status);
}
