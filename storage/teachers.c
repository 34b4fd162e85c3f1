/* Teachers and their clients. */
#include "storage/teachers.h"

#include <stdlib.h>
#include <string.h>

#include "storage/db/listing.h"
#include "storage/db/row_memo.h"

#define COLUMNS                                                                                    \
    "id, owner, policy, mechanism, adjacency, concentration, min_probability, vanishing, "         \
    "temperature, radius, lipschitz, sensitivity, renyi_order, account, has_client_budget, "       \
    "client_epsilon, client_delta, created_ms, sigma, delta_share, shards, dataset, "              \
    "dataset_account, first_units, first_delta, at_floor, certificate"

static bool read_teacher(const struct db_row *row, struct teacher_row *out)
{
    out->concentration = db_row_real(row, 5);
    out->min_probability = db_row_real(row, 6);
    out->vanishing = db_row_real(row, 7);
    out->temperature = db_row_real(row, 8);
    out->radius = db_row_real(row, 9);
    out->lipschitz = db_row_real(row, 10);
    out->sensitivity = db_row_real(row, 11);
    out->renyi_order = db_row_real(row, 12);
    out->has_client_budget = db_row_integer(row, 14) != 0;
    out->client_epsilon = db_row_real(row, 15);
    out->client_delta = db_row_real(row, 16);
    out->created_ms = db_row_integer(row, 17);
    out->sigma = db_row_real(row, 18);
    out->delta_share = db_row_integer(row, 19);
    out->shards = (uint32_t)db_row_integer(row, 20);
    out->first_units = db_row_integer(row, 23);
    out->first_delta = db_row_integer(row, 24);
    return db_row_copy(row, 21, out->dataset, sizeof out->dataset) &&
           db_row_copy(row, 22, out->dataset_account, sizeof out->dataset_account) &&
           db_row_copy(row, 25, out->at_floor, sizeof out->at_floor) &&
           db_row_copy(row, 26, out->certificate, sizeof out->certificate) &&
           db_row_copy(row, 0, out->id, sizeof out->id) &&
           db_row_copy(row, 1, out->owner, sizeof out->owner) &&
           db_row_copy(row, 2, out->policy, sizeof out->policy) &&
           db_row_copy(row, 3, out->mechanism, sizeof out->mechanism) &&
           db_row_copy(row, 4, out->adjacency, sizeof out->adjacency) &&
           db_row_copy(row, 13, out->account, sizeof out->account);
}

enum db_status teachers_insert(struct db *db, const struct teacher_row *t,
                               const char *certificate_text)
{
    struct db_value values[] = {
        db_text(t->id),
        db_text(t->owner),
        db_text(t->policy),
        db_text(t->mechanism),
        db_text(t->adjacency),
        db_real(t->concentration),
        db_real(t->min_probability),
        db_real(t->vanishing),
        db_real(t->temperature),
        db_real(t->radius),
        db_real(t->lipschitz),
        db_real(t->sensitivity),
        db_real(t->renyi_order),
        db_text(t->account),
        db_integer(t->has_client_budget),
        db_real(t->client_epsilon),
        db_real(t->client_delta),
        db_integer(t->created_ms),
        db_real(t->sigma),
        db_integer(t->delta_share),
        db_integer(t->shards),
        db_text(t->dataset),
        db_text(t->dataset_account),
        db_integer(t->first_units),
        db_integer(t->first_delta),
        db_text(t->at_floor),
        db_text(t->certificate),
        db_text(certificate_text),
    };
    return db_change(db,
                     "INSERT INTO teachers (" COLUMNS ", certificate_text) VALUES ($1, $2, $3, $4, "
                     "$5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, "
                     "$21, $22, $23, $24, $25, $26, $27, $28) "
                     "ON CONFLICT DO NOTHING RETURNING 1",
                     values, sizeof values / sizeof *values, listing_ignore, NULL);
}

static enum db_status see_teacher(void *context, const struct db_row *row)
{
    return read_teacher(row, context) ? DB_OK : DB_FAILED;
}

enum db_status teachers_find(struct db *db, const char *id, struct teacher_row *out)
{
    struct db_value values[] = {db_text(id)};
    return db_one(db, "SELECT " COLUMNS " FROM teachers WHERE id = $1", values, 1, see_teacher,
                  out);
}

struct certificate_copy {
    char *certificate, *owner, *text;
};

static enum db_status see_certificate(void *context, const struct db_row *row)
{
    struct certificate_copy *copy = context;
    if (!db_row_copy(row, 0, copy->certificate, ID_SIZE) ||
        !db_row_copy(row, 1, copy->owner, ID_SIZE))
        return DB_FAILED;
    copy->text = strdup(db_row_text(row, 2));
    return !copy->text ? DB_FAILED : DB_OK;
}

enum db_status teachers_certificate(struct db *db, const char *id, char out_certificate[ID_SIZE],
                                    char out_owner[ID_SIZE], char **out_text)
{
    struct db_value values[] = {db_text(id)};
    struct certificate_copy copy = {out_certificate, out_owner, NULL};
    enum db_status status = db_one(db,
                                   "SELECT certificate, owner, certificate_text FROM teachers "
                                   "WHERE (id = $1 OR certificate = $1) AND certificate <> ''",
                                   values, 1, see_certificate, &copy);
    if (status != DB_OK) {
        free(copy.text);
        copy.text = NULL;
    }
    *out_text = copy.text;
    return status;
}

struct teacher_list {
    teacher_fn *each;
    void *context;
};

static enum db_status show_teacher(void *context, const struct db_row *row)
{
    const struct teacher_list *list = context;
    struct teacher_row teacher;
    if (!read_teacher(row, &teacher))
        return DB_FAILED;
    return list->each(list->context, &teacher) ? DB_OK : DB_NONE;
}

enum db_status teachers_list(struct db *db, const char *owner, const char *client,
                             const char *after, unsigned limit, teacher_fn *each, void *context)
{
    struct teacher_list list = {each, context};
    struct db_value values[] = {db_text(!owner ? "" : owner), db_text(!client ? "" : client),
                                db_text(!after ? "" : after), db_integer(limit)};
    return listing_end(
        db_run(db,
               "SELECT " COLUMNS " FROM teachers t WHERE ($1 = '' OR owner = $1) "
               "AND ($2 = '' OR has_client_budget = 1 OR EXISTS (SELECT 1 FROM teacher_clients c "
               "WHERE c.teacher = t.id AND c.client = $2)) "
               "AND" LISTING_PAGE("teachers", "$3", "$4"),
               values, 4, show_teacher, &list));
}

/* ---- clients of a teacher */

static enum db_status see_standing(void *context, const struct db_row *row)
{
    struct teacher_client_row *out = context;
    out->rollout = db_row_integer(row, 3);
    out->revision = db_row_integer(row, 4);
    return db_row_copy(row, 0, out->teacher, sizeof out->teacher) &&
                   db_row_copy(row, 1, out->client, sizeof out->client) &&
                   db_row_copy(row, 2, out->account, sizeof out->account)
               ? DB_OK
               : DB_FAILED;
}

static const struct db_keeper memo = ROW_MEMO_KEEPER(DB_KEEP_STANDINGS, struct teacher_client_row);

struct standing_key {
    const char *teacher, *client;
};

static bool is_standing(const void *pointer, const void *wanted)
{
    const struct teacher_client_row *row = pointer;
    const struct standing_key *key = wanted;
    return strcmp(row->client, key->client) == 0 && strcmp(row->teacher, key->teacher) == 0;
}

enum db_status teachers_client_find(struct db *db, const char *teacher, const char *client,
                                    struct teacher_client_row *out)
{
    const struct standing_key key = {teacher, client};
    if (row_memo_find(db, &memo, sizeof *out, is_standing, &key, out))
        return DB_OK;
    struct db_value values[] = {db_text(teacher), db_text(client)};
    enum db_status status =
        db_one(db,
               "SELECT teacher, client, account, rollout, revision FROM teacher_clients "
               "WHERE teacher = $1 AND client = $2",
               values, 2, see_standing, out);
    if (status == DB_OK)
        row_memo_put(db, &memo, sizeof *out, out);
    return status;
}

enum db_status teachers_client_insert(struct db *db, const char *teacher, const char *client,
                                      const char *account, int64_t now_ms)
{
    struct db_value values[] = {db_text(teacher), db_text(client), db_text(account),
                                db_integer(now_ms)};
    return db_change(db,
                     "INSERT INTO teacher_clients (teacher, client, account, created_ms) "
                     "VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING RETURNING 1",
                     values, 4, listing_ignore, NULL);
}

enum db_status teachers_client_next_rollout(struct db *db, const char *teacher, const char *client,
                                            int64_t *out_rollout)
{
    struct db_value values[] = {db_text(teacher), db_text(client)};
    row_memo_drop(db, &memo);
    return db_change(db,
                     "UPDATE teacher_clients SET rollout = rollout + 1 "
                     "WHERE teacher = $1 AND client = $2 RETURNING rollout",
                     values, 2, listing_integer, out_rollout);
}

enum db_status teachers_client_revise(struct db *db, const char *teacher, const char *client,
                                      int64_t expected, int64_t *out_revision)
{
    struct db_value values[] = {db_text(teacher), db_text(client), db_integer(expected)};
    row_memo_drop(db, &memo);
    return db_change(db,
                     "UPDATE teacher_clients SET revision = revision + 1 "
                     "WHERE teacher = $1 AND client = $2 AND revision = $3 RETURNING revision",
                     values, 3, listing_integer, out_revision);
}
