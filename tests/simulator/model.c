#include "tests/simulator/model.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define AMOUNTS  "limit_units, limit_delta, spent_units, spent_delta, held_units, held_delta"
#define ACCOUNTS "FROM ledger_accounts ORDER BY created_ms, id"

static struct model_amount amount_at(const struct db_row *row, unsigned column)
{
    return (struct model_amount){db_row_integer(row, column), db_row_integer(row, column + 1)};
}

static struct model_account balances_at(const struct db_row *row, unsigned column)
{
    return (struct model_account){.limit = amount_at(row, column),
                                  .spent = amount_at(row, column + 2),
                                  .held = amount_at(row, column + 4)};
}

static enum db_status read_account(void *context, const struct db_row *row)
{
    struct model *model = context;
    assert(model->account_count < MODEL_ACCOUNTS);
    struct model_account *account = &model->accounts[model->account_count++];
    *account = balances_at(row, 3);
    db_row_copy(row, 0, account->id, sizeof account->id);
    db_row_copy(row, 1, account->resource, sizeof account->resource);
    db_row_copy(row, 2, account->client, sizeof account->client);
    account->revision = db_row_integer(row, 9);
    return DB_OK;
}

static enum db_status read_job(void *context, const struct db_row *row)
{
    struct model *model = context;
    assert(model->job_count < MODEL_JOBS);
    struct model_job *job = &model->jobs[model->job_count++];
    job->over = true;
    db_row_copy(row, 0, job->id, sizeof job->id);
    return DB_OK;
}

bool model_read(struct model *model, struct db *db)
{
    *model = (struct model){.account_count = 0};
    return db_run(db,
                  "SELECT id, resource, client, " AMOUNTS
                  ", (SELECT count(*) FROM ledger_entries WHERE account = ledger_accounts.id "
                  "AND kind IN ('open', 'limit')) " ACCOUNTS,
                  NULL, 0, read_account, model) == DB_OK &&
           db_run(db, "SELECT id FROM jobs", NULL, 0, read_job, model) == DB_OK;
}

int model_find(const struct model *model, const char *resource, const char *client)
{
    for (int i = 0; i < model->account_count; i++)
        if (strcmp(model->accounts[i].resource, resource) == 0 &&
            strcmp(model->accounts[i].client, client) == 0)
            return i;
    return -1;
}

/* ---- limits */

struct model_change *model_propose(struct model *model, const char *id, int account, unsigned limit,
                                   unsigned proposer)
{
    assert(model->change_count < MODEL_CHANGES);
    struct model_change *change = &model->changes[model->change_count++];
    *change = (struct model_change){.account = account, .limit = limit, .proposer = proposer};
    snprintf(change->id, sizeof change->id, "%s", id);
    return change;
}

void model_set_limit(struct model *model, int account, struct model_amount limit)
{
    model->accounts[account].limit = limit;
    model->accounts[account].revision++;
}

bool model_may_be(const struct model *model, int account, struct model_amount limit)
{
    const struct model_account *a = &model->accounts[account];
    return a->spent.units + a->held.units <= limit.units &&
           a->spent.delta + a->held.delta <= limit.delta;
}

/* ---- spending */

enum model_verdict model_weigh(const struct model *model, const struct model_payment *payments,
                               unsigned count)
{
    enum model_verdict verdict = MODEL_PAYS;
    for (unsigned i = 0; i < count; i++) {
        const struct model_account *a = &model->accounts[payments[i].account];
        int64_t units = a->limit.units - a->spent.units - payments[i].amount.units;
        int64_t delta = a->limit.delta - a->spent.delta - payments[i].amount.delta;
        if (units < 0 || delta < 0)
            return MODEL_EXHAUSTED;
        if (units < a->held.units || delta < a->held.delta)
            verdict = MODEL_RESERVED;
    }
    return verdict;
}

static void add_amount(struct model_amount *to, struct model_amount more, int sign)
{
    to->units += sign * more.units;
    to->delta += sign * more.delta;
}

void model_pay(struct model *model, const struct model_payment *payments, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        add_amount(&model->accounts[payments[i].account].spent, payments[i].amount, 1);
}

/* ---- jobs */

void model_submit(struct model *model, const char *id, int account, struct model_amount price)
{
    assert(model->job_count < MODEL_JOBS);
    struct model_job *job = &model->jobs[model->job_count++];
    *job = (struct model_job){.account = account, .price = price};
    snprintf(job->id, sizeof job->id, "%s", id);
    if (account >= 0)
        add_amount(&model->accounts[account].held, price, 1);
}

void model_cancel(struct model *model, const char *id)
{
    for (int i = 0; i < model->job_count; i++) {
        struct model_job *job = &model->jobs[i];
        if (strcmp(job->id, id) != 0 || job->over || job->freed)
            continue;
        job->freed = true;
        if (job->account >= 0)
            add_amount(&model->accounts[job->account].held, job->price, -1);
    }
}

struct ends { /* of the jobs, as the database tells them */
    struct model *model;
    struct db *db;
    int seen, over;
    bool idle;
    char *why;
};

struct settlement {
    int count;
    struct model_amount spent, held;
};

static enum db_status read_settlement(void *context, const struct db_row *row)
{
    struct settlement *settlement = context;
    settlement->count++;
    settlement->spent = amount_at(row, 0);
    settlement->held = amount_at(row, 2);
    return DB_OK;
}

static bool pays_as_it_ended(const struct model_job *job, const char *state, bool began,
                             struct model_amount paid)
{
    const struct model_amount *price = &job->price;
    if (strcmp(state, "succeeded") == 0 || job->left)
        return paid.units == price->units && paid.delta == price->delta;
    if (!began || job->freed)
        return paid.units == 0 && paid.delta == 0;
    return paid.units >= 0 && paid.units <= price->units && paid.delta >= 0 &&
           paid.delta <= price->delta;
}

static bool settle_job(struct ends *ends, struct model_job *job, const char *state, bool began)
{
    struct settlement found = {.count = 0};
    enum db_status status =
        db_run(ends->db,
               "SELECT spent_units, spent_delta, held_units, held_delta FROM ledger_entries "
               "WHERE resource = $1 AND kind = 'settle'",
               DB_VALUES(db_text(job->id)), read_settlement, &found);
    if (job->account < 0)
        return status == DB_OK && found.count == 0;
    if (!job->freed)
        add_amount(&ends->model->accounts[job->account].held, job->price, -1);
    add_amount(&ends->model->accounts[job->account].spent, found.spent, 1);
    snprintf(
        ends->why, MODEL_WHY, "%s %s%s%s, and its %d settlements pay %lld and free %lld of %lld",
        job->id, state, began ? ", begun" : "", job->left ? ", left by a worker" : "", found.count,
        (long long)found.spent.units, (long long)-found.held.units, (long long)job->price.units);
    return status == DB_OK && found.count == 1 && found.held.units == -job->price.units &&
           found.held.delta == -job->price.delta &&
           pays_as_it_ended(job, state, began, found.spent);
}

static enum db_status see_job(void *context, const struct db_row *row)
{
    struct ends *ends = context;
    struct model *model = ends->model;
    const char *id = db_row_text(row, 0), *state = db_row_text(row, 1);
    int i = 0;
    while (i < model->job_count && strcmp(model->jobs[i].id, id) != 0)
        i++;
    if (i == model->job_count) {
        snprintf(ends->why, MODEL_WHY, "%s is a job that nobody was told of", id);
        return DB_FAILED;
    }
    struct model_job *job = &model->jobs[i];
    bool over = strcmp(state, "queued") != 0 && strcmp(state, "running") != 0;
    ends->seen++;
    ends->over += over;
    job->left =
        job->left || (ends->idle && strcmp(state, "running") == 0 && db_row_integer(row, 2) != 0);
    if (job->over == over)
        return DB_OK;
    if (job->over || !settle_job(ends, job, state, db_row_integer(row, 2) != 0)) {
        if (job->over)
            snprintf(ends->why, MODEL_WHY, "%s is %s again", id, state);
        return DB_FAILED;
    }
    job->over = true;
    db_row_copy(row, 3, job->q_release, sizeof job->q_release);
    return DB_OK;
}

bool model_end_jobs(struct model *model, struct db *db, bool idle, char why[MODEL_WHY])
{
    struct ends ends = {.model = model, .db = db, .idle = idle, .why = why};
    snprintf(why, MODEL_WHY, "the jobs cannot be read");
    if (db_run(db, "SELECT id, state, started_ms, q_release FROM jobs", NULL, 0, see_job, &ends) !=
        DB_OK)
        return false;
    snprintf(why, MODEL_WHY, "there are %d jobs, and %d were accepted", ends.seen,
             model->job_count);
    model->jobs_over = ends.over;
    return ends.seen == model->job_count;
}

/* ---- comparing */

struct comparison {
    const struct model *model;
    int at;
    char *why;
};

static bool same_amount(struct model_amount a, struct model_amount b)
{
    return a.units == b.units && a.delta == b.delta;
}

static enum db_status compare_account(void *context, const struct db_row *row)
{
    struct comparison *comparison = context;
    const struct model_account is = balances_at(row, 0);
    const struct model_account *should = &comparison->model->accounts[comparison->at++];
    if (comparison->at <= comparison->model->account_count &&
        same_amount(is.limit, should->limit) && same_amount(is.spent, should->spent) &&
        same_amount(is.held, should->held) && is.spent.units + is.held.units <= is.limit.units &&
        is.spent.delta + is.held.delta <= is.limit.delta)
        return DB_OK;
    snprintf(comparison->why, MODEL_WHY,
             "%s of %s %s: limit, spent, held are %lld %lld %lld and should be %lld %lld %lld "
             "(delta: %lld %lld %lld, %lld %lld %lld)",
             should->id, should->resource, should->client, (long long)is.limit.units,
             (long long)is.spent.units, (long long)is.held.units, (long long)should->limit.units,
             (long long)should->spent.units, (long long)should->held.units,
             (long long)is.limit.delta, (long long)is.spent.delta, (long long)is.held.delta,
             (long long)should->limit.delta, (long long)should->spent.delta,
             (long long)should->held.delta);
    return DB_FAILED;
}

bool model_compare(const struct model *model, struct db *db, char why[MODEL_WHY])
{
    struct comparison comparison = {.model = model, .why = why};
    snprintf(why, MODEL_WHY, "the accounts cannot be read");
    return db_run(db, "SELECT " AMOUNTS " " ACCOUNTS, NULL, 0, compare_account, &comparison) ==
               DB_OK &&
           comparison.at == model->account_count;
}
