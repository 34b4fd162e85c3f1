/* The prefix of an id says in which table its name is. */
#include "api/call/names.h"

#include <stdio.h>
#include <string.h>

#include "api/json/json_text.h"
#include "storage/aggregations.h"
#include "storage/clients.h"
#include "storage/datasets.h"
#include "storage/policies.h"
#include "storage/teachers.h"

static enum db_status dataset_name(struct db *db, const char *id, char out[NAME_SIZE])
{
    struct dataset_row row;
    enum db_status status = datasets_find(db, id, &row);
    if (status == DB_OK)
        memcpy(out, row.name, NAME_SIZE);
    return status;
}

static enum db_status policy_name(struct db *db, const char *id, char out[NAME_SIZE])
{
    struct policy_row row;
    enum db_status status = policies_find(db, id, &row);
    if (status == DB_OK)
        memcpy(out, row.name, NAME_SIZE);
    return status;
}

static enum db_status aggregation_name(struct db *db, const char *id, char out[NAME_SIZE])
{
    struct aggregation_row row;
    enum db_status status = aggregations_find(db, id, &row, NULL, 0);
    if (status == DB_OK)
        memcpy(out, row.name, NAME_SIZE);
    return status;
}

/* A teacher that an earlier version made without a name is called as its policy is, for those who
 * may see the policy. */
static enum db_status teacher_name(struct db *db, const char *id, bool owner, char out[NAME_SIZE])
{
    struct teacher_row row;
    enum db_status status = teachers_find(db, id, &row);
    if (status != DB_OK)
        return status;
    memcpy(out, row.name, NAME_SIZE);
    if (owner && out[0] == '\0')
        return policy_name(db, row.policy, out);
    return DB_OK;
}

static const struct {
    const char *prefix;
    enum db_status (*find)(struct db *db, const char *id, char out[NAME_SIZE]);
    bool open; /* whoever may see the id may see the name */
} kinds[] = {{"agg_", aggregation_name, true},
             {"cli_", clients_name, false},
             {"ds_", dataset_name, false},
             {"pol_", policy_name, false}};

enum db_status names_add(struct db *db, json_t *json, const char *member, const char *id)
{
    return names_show(db, json, member, id, true);
}

enum db_status names_show(struct db *db, json_t *json, const char *member, const char *id,
                          bool shown)
{
    char name[NAME_SIZE] = "";
    enum db_status status = DB_NONE;
    if (strncmp(id, "tch_", strlen("tch_")) == 0)
        status = teacher_name(db, id, shown, name);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if ((shown || kinds[i].open) && strncmp(id, kinds[i].prefix, strlen(kinds[i].prefix)) == 0)
            status = kinds[i].find(db, id, name);
    json_object_set_new(json, member, json_text_or_null(name));
    return db_optional(status);
}

enum db_status names_resource(struct db *db, const struct ledger_account *account,
                              char out[ID_SIZE])
{
    struct ledger_account before;
    enum db_status status = DB_OK;
    memcpy(out, account->resource, ID_SIZE);
    while (status == DB_OK && strncmp(out, "acc_", 4) == 0) {
        status = ledger_find(db, out, &before);
        if (status == DB_OK)
            memcpy(out, before.resource, ID_SIZE);
    }
    return status;
}
