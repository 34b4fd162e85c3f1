/* Projects: what datasets, policies, teachers, jobs and accounts belong to (their column "owner").
 * A project outlives its members. Every steward has one of its own, whose id is the steward's. */
#ifndef TACET_STORAGE_PROJECTS_H
#define TACET_STORAGE_PROJECTS_H

#include "storage/db/db.h"
#include "storage/db/id.h"

#define PROJECT_MEMBERSHIPS_MAX 200 /* projects of one client */

/* Ordered: each steward's role may do what the next one may. */
enum project_role {
    PROJECT_OWNER,       /* and who the members are */
    PROJECT_STEWARD,     /* everything else */
    PROJECT_VIEWER,      /* sees what a steward sees, changes nothing, spends nothing */
    PROJECT_CONTRIBUTOR, /* uploads to its datasets */
    PROJECT_STUDENT,     /* asks its teachers and releases, and reports to its aggregations */
};

extern const char *const project_role_names[]; /* "owner", ..., NULL */

struct project_row {
    char id[ID_SIZE]; /* prj_, or cli_ of a steward */
    char name[NAME_SIZE];
    bool invited_only; /* only members find its datasets, teachers, releases and aggregations */
    int64_t created_ms;
};

struct project_member_row {
    char project[ID_SIZE], client[ID_SIZE];
    enum project_role role;
    char added_by[ID_SIZE]; /* a client */
    int64_t added_ms;
};

/* A project of a client, and what the client is there. */
struct project_membership_row {
    struct project_row project;
    enum project_role role;
};

/* Stores a new project without members. DB_NONE: the id exists. */
enum db_status projects_insert(struct db *db, const struct project_row *project);

/* DB_NONE: unknown. */
enum db_status projects_find(struct db *db, const char *id, struct project_row *out);

/* Writes name and invited_only. DB_NONE: unknown. */
enum db_status projects_update(struct db *db, const struct project_row *project);

typedef bool project_fn(void *context, const struct project_row *project);

/* Shows a PAGE of the projects in order of creation, of the member CLIENT (NULL: all). EACH may
 * stop by false. */
enum db_status projects_list(struct db *db, const char *client, const struct listing_page *page,
                             project_fn *each, void *context);

typedef bool project_membership_fn(void *context, const struct project_membership_row *row);

/* Shows the projects of CLIENT in order of creation, without damaged ones. */
enum db_status projects_memberships(struct db *db, const char *client, project_membership_fn *each,
                                    void *context);

typedef bool project_member_fn(void *context, const struct project_member_row *member);

/* Shows the members of PROJECT, first those that came first, without damaged rows. */
enum db_status projects_members(struct db *db, const char *project, project_member_fn *each,
                                void *context);

/* DB_NONE: CLIENT is no member of PROJECT, or the row that says so is damaged. */
enum db_status projects_member_find(struct db *db, const char *project, const char *client,
                                    struct project_member_row *out);

/* Makes MEMBER a member, or changes its role. */
enum db_status projects_member_put(struct db *db, const struct project_member_row *member);

/* DB_NONE: it was none. */
enum db_status projects_member_remove(struct db *db, const char *project, const char *client);

/* Removes every member that is owner or steward. */
enum db_status projects_stewards_remove(struct db *db, const char *project);

/* Sets *OUT to the number of owners of PROJECT. */
enum db_status projects_owners(struct db *db, const char *project, int64_t *out);

/* True for a steward's own project, which is always open: no statement needs to look. */
bool projects_always_open(const char *project);

/* Sets *OUT to whether CLIENT may find what PROJECT shows: the project is open, or the client is a
 * member. An unknown project shows nothing. */
enum db_status projects_admit(struct db *db, const char *project, const char *client, bool *out);

/* A condition on the rows of a table with the column owner: CLIENT ("$2") may find them, or is ''.
 */
#define PROJECTS_ADMIT(client)                                                                     \
    " (" client " = '' OR EXISTS (SELECT 1 FROM projects WHERE projects.id = owner"                \
    " AND invited_only = 0) OR EXISTS (SELECT 1 FROM project_members WHERE project = owner"        \
    " AND project_members.client = " client ")) "

#endif
