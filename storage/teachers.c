/* Teachers and their clients. */
#include "storage/teachers.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "storage/certificate_text.h"
#include "storage/db/listing.h"
#include "storage/digests.h"
#include "storage/projects.h"

static const struct column teacher_columns[] = {
    COLUMN(teacher_row, id, TEXT),
    COLUMN(teacher_row, owner, TEXT),
    COLUMN(teacher_row, policy, TEXT),
    COLUMN(teacher_row, mechanism, TEXT),
    COLUMN(teacher_row, adjacency, TEXT),
    COLUMN(teacher_row, concentration, REAL),
    COLUMN(teacher_row, min_probability, REAL),
    COLUMN(teacher_row, vanishing, REAL),
    COLUMN(teacher_row, temperature, REAL),
    COLUMN(teacher_row, radius, REAL),
    COLUMN(teacher_row, lipschitz, REAL),
    COLUMN(teacher_row, sensitivity, REAL),
    COLUMN(teacher_row, renyi_order, REAL),
    COLUMN(teacher_row, account, TEXT),
    COLUMN(teacher_row, has_client_budget, FLAG),
    COLUMN(teacher_row, client_epsilon, REAL),
    COLUMN(teacher_row, client_delta, REAL),
    COLUMN(teacher_row, created_ms, INTEGER),
    COLUMN(teacher_row, sigma, REAL),
    COLUMN(teacher_row, delta_share, INTEGER),
    COLUMN(teacher_row, shards, COUNT),
    COLUMN(teacher_row, dataset, TEXT),
    COLUMN(teacher_row, dataset_account, TEXT),
    COLUMN(teacher_row, first_units, INTEGER),
    COLUMN(teacher_row, first_delta, INTEGER),
    COLUMN(teacher_row, at_floor, TEXT),
    COLUMN(teacher_row, when_spent, TEXT),
    COLUMN(teacher_row, certificate, TEXT),
    COLUMN(teacher_row, name, TEXT),
};

const struct table teachers_table = TABLE_DIGESTED("teachers", teacher_row, teacher_columns,
                                                   TABLE_ALL(teacher_columns), "digest", 1, 1);

enum db_status teachers_insert(struct db *db, const struct teacher_row *teacher,
                               const char *certificate_text)
{
    struct table_extra text = {"certificate_text", db_text(certificate_text)};
    return table_insert(db, &teachers_table, teacher, &text, 1);
}

enum db_status teachers_find(struct db *db, const char *id, struct teacher_row *out)
{
    return table_find_id(db, &teachers_table, id, out);
}

enum db_status teachers_find_newest(struct db *db, const char *account, struct teacher_row *out)
{
    return table_find(db, &teachers_table,
                      "WHERE dataset_account = $1 AND dataset_account <> '' "
                      "ORDER BY created_ms DESC, id DESC LIMIT 1",
                      DB_VALUES(db_text(account)), out);
}

static const struct table certificate_table = CERTIFICATE_TABLE("teachers");

enum db_status teachers_certificate(struct db *db, const char *id, char out_certificate[ID_SIZE],
                                    char out_owner[ID_SIZE], char **out_text)
{
    return certificate_text_find(db, &certificate_table,
                                 "WHERE (id = $1 OR certificate = $1) AND certificate <> ''", id,
                                 out_certificate, out_owner, out_text);
}

enum db_status teachers_find_open(struct db *db, const char *policy, char out_id[ID_SIZE])
{
    return db_one(db,
                  "SELECT id FROM teachers WHERE policy = $1 AND NOT EXISTS "
                  "(SELECT 1 FROM endings e WHERE e.resource = teachers.id) LIMIT 1",
                  DB_VALUES(db_text(policy)), listing_id, out_id);
}

TABLE_SHOW(show_teacher, teacher_row);

enum db_status teachers_list(struct db *db, const char *owner, const char *client,
                             const struct listing_page *page, teacher_fn *each, void *context)
{
    struct show_teacher list = {each, context};
    return table_list(
        db, &teachers_table,
        "WHERE ($1 = '' OR" OWNER_AMONG(
            "$1") ") AND ($2 = '' "
                  "OR (has_client_budget = 1 AND" PROJECTS_ADMIT(
                      "$2") ") OR EXISTS (SELECT 1 FROM teacher_clients c "
                            "WHERE c.teacher = teachers.id AND c.client = $2)) "
                            "AND NOT EXISTS (SELECT 1 FROM endings e WHERE e.resource = "
                            "teachers.id AND e.deleted_ms > 0) AND" LISTING_PAGE("$3", "$4", "$5"),
        DB_VALUES(db_text_or_empty(owner), db_text_or_empty(client), LISTING_VALUES(page)),
        show_teacher, &list);
}

/* Writes the payer of ROW, which has another one in the table, and its new digest. */
static enum db_status write_payer(struct db *db, const struct teacher_row *row)
{
    unsigned char digest[DIGEST_SIZE];
    table_digest(db, &teachers_table, row, digest);
    return db_change(db,
                     "UPDATE teachers SET dataset_account = $2, first_units = $3, "
                     "first_delta = $4, digest = $5 WHERE id = $1",
                     DB_VALUES(db_text(row->id), db_text(row->dataset_account),
                               db_integer(row->first_units), db_integer(row->first_delta),
                               db_bytes(digest, sizeof digest)));
}

enum db_status teachers_set_payer(struct db *db, const char *dataset, const char *account)
{
    assert(db_in_transaction(db));
    enum db_status status = DB_OK;
    while (status == DB_OK) {
        struct teacher_row row;
        status = table_find(db, &teachers_table,
                            "WHERE dataset = $1 AND dataset_account NOT IN ('', $2) LIMIT 1",
                            DB_VALUES(db_text(dataset), db_text(account)), &row);
        if (status != DB_OK)
            return db_optional(status);
        snprintf(row.dataset_account, sizeof row.dataset_account, "%s", account);
        row.first_units = row.first_delta = 0;
        status = write_payer(db, &row);
    }
    return status;
}

/* ---- clients of a teacher */

static const struct column standing_columns[] = {
    COLUMN(teacher_client_row, teacher, TEXT), COLUMN(teacher_client_row, client, TEXT),
    COLUMN(teacher_client_row, account, TEXT), COLUMN(teacher_client_row, rollout, INTEGER),
    COLUMN(teacher_client_row, share, TEXT),   COLUMN(teacher_client_row, dataset_share, TEXT),
};

static const struct table standings_table =
    TABLE("teacher_clients", teacher_client_row, standing_columns, 0);

enum db_status teachers_client_find(struct db *db, const char *teacher, const char *client,
                                    struct teacher_client_row *out)
{
    return table_find_known(db, &standings_table, "WHERE teacher = $1 AND client = $2",
                            DB_VALUES(db_text(teacher), db_text(client)), out);
}

enum db_status teachers_client_insert(struct db *db, const char *teacher, const char *client,
                                      const char *account, int64_t now_ms)
{
    return db_change(
        db,
        "INSERT INTO teacher_clients (teacher, client, account, created_ms) "
        "VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
        DB_VALUES(db_text(teacher), db_text(client), db_text(account), db_integer(now_ms)));
}

enum db_status teachers_client_has(struct db *db, const struct teacher_client_row *row,
                                   const struct ledger_account *account)
{
    bool at_teacher =
        account->kind == LEDGER_CLIENT && strcmp(account->resource, row->teacher) == 0;
    bool is_share = account->kind == LEDGER_SHARE && strcmp(account->id, row->account) != 0;
    if ((at_teacher || is_share) && strcmp(account->client, row->client) == 0)
        return DB_OK;
    return db_fail(db, row->teacher, "the account of one of its clients is another's");
}

enum db_status teachers_client_account(struct db *db, const struct teacher_client_row *row,
                                       struct ledger_account *out)
{
    enum db_status status = db_owed(ledger_find(db, row->account, out));
    return status == DB_OK ? teachers_client_has(db, row, out) : status;
}

enum db_status teachers_client_next_rollout(struct db *db, const char *teacher, const char *client,
                                            int64_t *out_rollout)
{
    return db_change_one(db,
                         "UPDATE teacher_clients SET rollout = rollout + 1 "
                         "WHERE teacher = $1 AND client = $2 RETURNING rollout",
                         DB_VALUES(db_text(teacher), db_text(client)), listing_integer,
                         out_rollout);
}

/* ---- guarantees */

enum db_status teachers_client_set_shares(struct db *db, const struct teacher_client_row *row)
{
    return db_owed(db_change(db,
                             "UPDATE teacher_clients SET share = $3, dataset_share = $4 "
                             "WHERE teacher = $1 AND client = $2",
                             DB_VALUES(db_text(row->teacher), db_text(row->client),
                                       db_text(row->share), db_text(row->dataset_share))));
}

enum db_status teachers_client_find_shared(struct db *db, const char *client, const char *teacher,
                                           struct teacher_client_row *out)
{
    const char *tail = client ? "WHERE client = $1 AND share <> '' LIMIT 1"
                              : "WHERE teacher = $1 AND share <> '' LIMIT 1";
    return table_find(db, &standings_table, tail, DB_VALUES(db_text(client ? client : teacher)),
                      out);
}

static enum db_status read_guarantee(void *context, const struct db_row *row)
{
    *(struct teacher_guarantee *)context = (struct teacher_guarantee){
        db_row_real(row, 0), db_row_real(row, 1), db_row_integer(row, 2)};
    return DB_OK;
}

enum db_status teachers_guarantee(struct db *db, const char *teacher, struct teacher_guarantee *out)
{
    *out = (struct teacher_guarantee){.answers = 0};
    return db_optional(
        db_one(db, "SELECT epsilon, delta, answers FROM teacher_guarantees WHERE teacher = $1",
               DB_VALUES(db_text(teacher)), read_guarantee, out));
}

enum db_status teachers_set_guarantee(struct db *db, const char *teacher,
                                      const struct teacher_guarantee *guarantee)
{
    return db_owed(db_change(db,
                             "INSERT INTO teacher_guarantees (teacher, epsilon, delta, answers) "
                             "VALUES ($1, $2, $3, $4)",
                             DB_VALUES(db_text(teacher), db_real(guarantee->epsilon),
                                       db_real(guarantee->delta), db_integer(guarantee->answers))));
}
