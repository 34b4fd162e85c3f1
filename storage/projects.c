/* Projects and their members. */
#include "storage/projects.h"

#include <string.h>

#include "storage/db/listing.h"
#include "storage/db/table.h"

const char *const project_role_names[] = {"owner",       "steward", "viewer",
                                          "contributor", "student", NULL};

static const struct column project_columns[] = {
    COLUMN(project_row, id, TEXT),
    COLUMN(project_row, name, TEXT),
    COLUMN(project_row, invited_only, FLAG),
    COLUMN(project_row, created_ms, INTEGER),
};

static const struct table projects_table =
    TABLE("projects", project_row, project_columns, TABLE_ALL(project_columns));

static const struct column member_columns[] = {
    COLUMN(project_member_row, project, TEXT),
    COLUMN(project_member_row, client, TEXT),
    {"role", COLUMN_WORD, offsetof(struct project_member_row, role), 0, project_role_names},
    COLUMN(project_member_row, added_by, TEXT),
    COLUMN(project_member_row, added_ms, INTEGER),
};

static const struct table members_table =
    TABLE("project_members", project_member_row, member_columns, 0);

#define OF_PROJECT(field) offsetof(struct project_membership_row, project.field)

static const struct column membership_columns[] = {
    {"projects.id", COLUMN_TEXT, OF_PROJECT(id), ID_SIZE, NULL},
    {"projects.name", COLUMN_TEXT, OF_PROJECT(name), NAME_SIZE, NULL},
    {"projects.invited_only", COLUMN_FLAG, OF_PROJECT(invited_only), 0, NULL},
    {"projects.created_ms", COLUMN_INTEGER, OF_PROJECT(created_ms), 0, NULL},
    {"role", COLUMN_WORD, offsetof(struct project_membership_row, role), 0, project_role_names},
};

static const struct table memberships_table =
    TABLE("project_members JOIN projects ON projects.id = project", project_membership_row,
          membership_columns, 0);

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
    return db_change(
        db, "UPDATE projects SET name = $2, invited_only = $3 WHERE id = $1",
        DB_VALUES(db_text(project->id), db_text(project->name), db_integer(project->invited_only)));
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

TABLE_SHOW(show_membership, project_membership_row);

enum db_status projects_memberships(struct db *db, const char *client, project_membership_fn *each,
                                    void *context)
{
    struct show_membership list = {each, context};
    return table_list(db, &memberships_table,
                      "WHERE client = $1 ORDER BY projects.created_ms, projects.id",
                      DB_VALUES(db_text(client)), show_membership, &list);
}

TABLE_SHOW(show_member, project_member_row);

enum db_status projects_members(struct db *db, const char *project, project_member_fn *each,
                                void *context)
{
    struct show_member list = {each, context};
    return table_list(db, &members_table, "WHERE project = $1 ORDER BY added_ms, client",
                      DB_VALUES(db_text(project)), show_member, &list);
}

enum db_status projects_member_find(struct db *db, const char *project, const char *client,
                                    struct project_member_row *out)
{
    return table_find(db, &members_table, "WHERE project = $1 AND client = $2",
                      DB_VALUES(db_text(project), db_text(client)), out);
}

enum db_status projects_member_put(struct db *db, const struct project_member_row *member)
{
    return db_change(
        db,
        "INSERT INTO project_members (project, client, role, added_by, added_ms) "
        "VALUES ($1, $2, $3, $4, $5) ON CONFLICT (project, client) DO UPDATE SET role = $3, "
        "added_by = $4, added_ms = $5",
        DB_VALUES(db_text(member->project), db_text(member->client),
                  db_text(project_role_names[member->role]), db_text(member->added_by),
                  db_integer(member->added_ms)));
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

enum db_status projects_owners(struct db *db, const char *project, int64_t *out)
{
    return db_owed(
        db_one(db, "SELECT count(*) FROM project_members WHERE project = $1 AND role = 'owner'",
               DB_VALUES(db_text(project)), listing_integer, out));
}

bool projects_always_open(const char *project)
{
    return strncmp(project, "cli_", 4) == 0;
}

enum db_status projects_admit(struct db *db, const char *project, const char *client, bool *out)
{
    int64_t found = 0;
    enum db_status status =
        db_run_known(db,
                     "SELECT EXISTS (SELECT 1 FROM projects WHERE id = $1 AND invited_only = 0) OR"
                     " EXISTS (SELECT 1 FROM project_members WHERE project = $1 AND client = $2)",
                     DB_VALUES(db_text(project), db_text(client)), listing_integer, &found);
    *out = found != 0;
    return status;
}
