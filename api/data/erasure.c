/* How data are erased, and the receipt. */
#include "api/data/erasure.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/call/certificate.h"
#include "api/call/commitment.h"
#include "api/data/datasets.h"
#include "api/data/private_form.h"
#include "api/json/json_text.h"
#include "memory/memory.h"
#include "memory/shelf.h"
#include "storage/jobs.h"
#include "storage/ledger/trail.h"
#include "storage/policies.h"
#include "storage/sealing.h"

static const char meaning[] =
    "The key of these data was overwritten. The service can read them no more, neither in its "
    "database and logs nor in a copy of them, unless the copy has the keys of that time beside it. "
    "A file system that copies on write, or a disk that moves blocks, may keep the old block of "
    "the keys for a while. A job that was stopped may hold the data in memory for some seconds. "
    "What was derived from the dataset and was not released is erased too, and teachers of such "
    "policies give no more answers. Policies, answers and functions that were released before "
    "stay. They were released under the guarantee that their certificates state, which bounds what "
    "they tell of these data, and the ledger keeps what they cost. A function that was released as "
    "a path keeps its mean without noise on the server, encrypted, so that it answers as before; "
    "DELETE of the release erases it. What was released without a mechanism, other datasets, and "
    "copies that others made of the data are not covered. Names are not encrypted: the name of an "
    "expert stays in copies of the database that were made before.";

void erasure_mark(const struct app *app, const char *dataset, const char *name,
                  char out[ERASURE_MARK_SIZE])
{
    unsigned char hash[16];
    char *texts = memory_format("%s%c%s", dataset, 0, name);
    keyed_hash(app, "tacet: names of erased experts, 1", texts, strlen(dataset) + strlen(name) + 2,
               hash, sizeof hash);
    free(texts);
    out[0] = '~'; /* no client's name begins with it */
    sodium_bin2hex(out + 1, 2 * sizeof hash + 1, hash, sizeof hash);
    strcat(out, ".");
}

/* Erases what was derived from DATASET and is not released, and stops the jobs that derive more. */
static enum db_status erase_derived(struct db *db, const char *dataset)
{
    enum db_status status = policies_erase_secrets(db, dataset);
    return status == DB_OK ? jobs_stop_on(db, dataset) : status;
}

struct erasing {
    struct db *db;
    const char *dataset;
    uint32_t number;
    char
        name[DATASET_EXPERT_SIZE]; /* what the expert is called from now on; "": it is so already */
    enum db_status status;
};

static bool erase_rows(void *context)
{
    struct erasing *erasing = context;
    enum db_status status = DB_OK;
    if (erasing->name[0] != '\0')
        status =
            datasets_erase_expert(erasing->db, erasing->dataset, erasing->number, erasing->name);
    erasing->status = status == DB_OK ? erase_derived(erasing->db, erasing->dataset) : status;
    return erasing->status == DB_OK;
}

/* The rows come before the keys. If the keys were out of reach for so long that the database has
 * ended the transaction, another server may have erased the expert, and others may have trained
 * and paid under the dataset's new key: it is left to them. */
static enum db_status erase_key(const struct app *app, struct erasing *erasing)
{
    enum db_status status = private_status(
        keyring_erase(app->settings.keys, erasing->dataset, erasing->number, erase_rows, erasing));
    return erasing->status == DB_OK ? status : erasing->status;
}

enum db_status erasure_expert(const struct app *app, struct db *db, const char *dataset,
                              const struct expert_row *expert, int64_t now_ms)
{
    char mark[ERASURE_MARK_SIZE];
    struct erasing erasing = {.db = db, .dataset = dataset, .number = expert->number};
    if (!app->settings.keys)
        return DB_FAILED;
    erasure_mark(app, dataset, expert->name, mark);
    snprintf(erasing.name, sizeof erasing.name, "%s%" PRId64 ".%" PRIu32, mark, now_ms,
             expert->number);
    return erase_key(app, &erasing);
}

enum db_status erasure_dataset(const struct app *app, struct db *db, const char *dataset,
                               enum dataset_verdict *out_verdict)
{
    if (!app->settings.keys)
        return DB_FAILED;
    enum db_status status = private_status(keyring_erase_all(app->settings.keys, dataset));
    if (status == DB_OK)
        status = datasets_delete(db, dataset, out_verdict);
    if (status == DB_OK)
        status = erase_derived(db, dataset);
    return status;
}

/* Notes in the audit trail what the service does to DATASET by itself. */
static enum db_status note_service(struct db *db, const char *action, const char *dataset,
                                   int64_t now_ms)
{
    struct trail_row row = {
        .time_ms = now_ms, .actor = "service", .status = 200, .outcome = "ok", .count = 1};
    snprintf(row.action, sizeof row.action, "%s", action);
    snprintf(row.resource, sizeof row.resource, "%s", dataset);
    return trail_append(db, &row);
}

/* ---- what was interrupted */

struct resuming {
    const struct app *app;
    struct db *db;
    const char *dataset; /* and the slot in hand */
    uint32_t number;
    bool erased; /* it was not whole */
    enum db_status status;
};

static bool keep_expert(void *context, const struct expert_row *row)
{
    *(struct expert_row *)context = *row;
    return false;
}

/* Where something is left, all of it is one transaction, which looks again: a crash leaves it to
 * the next start, and another server's erasure is seen whole. */
static enum db_status resume_slot(struct db *db, void *context)
{
    struct resuming *resuming = context;
    bool whole = resuming->number == KEYRING_DATASET;
    struct expert_row expert = {.number = UINT32_MAX};
    bool deleted = false;
    enum dataset_verdict verdict;
    enum db_status status = datasets_is_deleted(db, resuming->dataset, &deleted);
    if (status != DB_OK || deleted)
        return status;
    if (!whole)
        status = datasets_experts(db, resuming->dataset, resuming->number, 1, keep_expert, &expert);
    if (status != DB_OK || (!whole && (expert.number != resuming->number || expert.name[0] == '~')))
        return status;
    if (!db_in_transaction(db))
        return db_transact(db, resume_slot, context);
    resuming->erased = true;
    int64_t now_ms = resuming->app->settings.now_ms();
    if (whole)
        status = erasure_dataset(resuming->app, db, resuming->dataset, &verdict);
    else
        status = erasure_expert(resuming->app, db, resuming->dataset, &expert, now_ms);
    if (status == DB_OK)
        status = note_service(db, "erasure ended", resuming->dataset, now_ms);
    return status;
}

static bool resume_one(void *context, const char *dataset, uint32_t number)
{
    struct resuming *resuming = context;
    resuming->dataset = dataset;
    resuming->number = number;
    resuming->erased = false;
    resuming->status = db_optional(resume_slot(resuming->db, resuming));
    if (resuming->erased)
        shelf_drop(resuming->app->teachers, dataset);
    return resuming->status == DB_OK;
}

enum db_status erasure_resume(const struct app *app, struct db *db)
{
    struct resuming resuming = {.app = app, .db = db, .status = DB_OK};
    if (!app->settings.keys)
        return DB_OK;
    enum keyring_status status = keyring_erased(app->settings.keys, resume_one, &resuming);
    return resuming.status == DB_OK ? private_status(status) : resuming.status;
}

/* ---- keys that came back */

struct returned {
    const struct app *app;
    struct sealing_expert expert; /* number KEYRING_DATASET: the whole dataset */
};

/* DB_FULL: it cannot be told. */
static enum db_status find_returned(const struct returned *returned, bool *out_there)
{
    unsigned char key[KEYRING_KEY];
    struct keyring *keys = returned->app->settings.keys;
    const struct sealing_expert *expert = &returned->expert;
    enum keyring_status found = expert->number == KEYRING_DATASET
                                    ? keyring_find_any(keys, expert->dataset)
                                    : keyring_find(keys, expert->dataset, expert->number, key);
    sodium_memzero(key, sizeof key);
    *out_there = found == KEYRING_OK;
    return found == KEYRING_FULL ? DB_FULL : DB_OK;
}

/* What was derived goes, and the trail tells of it. */
static enum db_status note_returned(struct db *db, void *context)
{
    const struct returned *returned = context;
    const char *dataset = returned->expert.dataset;
    enum db_status status = erase_derived(db, dataset);
    if (status != DB_OK)
        return status;
    return note_service(db, "erasure repeated", dataset, returned->app->settings.now_ms());
}

static enum db_status erase_returned(struct db *db, void *context)
{
    const struct returned *returned = context;
    const struct sealing_expert *expert = &returned->expert;
    struct erasing erasing = {.db = db, .dataset = expert->dataset, .number = expert->number};
    if (expert->number == KEYRING_DATASET)
        return private_status(keyring_erase_all(returned->app->settings.keys, expert->dataset));
    return erase_key(returned->app, &erasing);
}

/* The key goes last, in a transaction of its own: as long as it is there, the next start erases
 * again. An erasure that was interrupted has more than one row in the trail. */
static enum db_status repeat_one(struct db *db, struct returned *returned)
{
    bool there = false;
    enum db_status status = find_returned(returned, &there);
    if (!there)
        return status;
    status = db_transact(db, note_returned, returned);
    if (status == DB_OK)
        status = db_transact(db, erase_returned, returned);
    shelf_drop(returned->app->teachers, returned->expert.dataset);
    return status;
}

enum db_status erasure_repeat(const struct app *app, struct db *db)
{
    struct returned returned = {.app = app};
    char after[ID_SIZE] = "";
    enum db_status status = DB_OK;
    while (status == DB_OK && (status = sealing_next_erased(db, &returned.expert)) == DB_OK)
        status = repeat_one(db, &returned);
    status = db_optional(status);
    returned.expert.number = KEYRING_DATASET;
    while (status == DB_OK &&
           (status = datasets_next_deleted(db, after, returned.expert.dataset)) == DB_OK) {
        status = repeat_one(db, &returned);
        memcpy(after, returned.expert.dataset, sizeof after);
    }
    return db_optional(status);
}

/* ---- what is older than was declared
 *
 * DESIGN. Each day on which uploads may be to erase is noted, before anything is erased and whether
 * or not there is anything: the day has a row in the audit trail, and what was derived from the
 * dataset and is not released goes. Neither the log's size, which every certificate shows, nor a
 * teacher that falls silent tells then whether somebody uploaded. */

struct due {
    const struct app *app;
    int64_t now_ms;
    char day_after[ID_SIZE], after[ID_SIZE]; /* the last datasets that were looked at */
    struct dataset_row dataset;
    struct expert_row expert;
};

static enum db_status note_day(struct db *db, void *context)
{
    const struct due *due = context;
    struct dataset_row now;
    enum db_status status = datasets_next_day(db, due->now_ms, due->day_after, &now);
    if (status == DB_OK && strcmp(now.id, due->dataset.id) != 0)
        return DB_NONE; /* another server has noted it */
    if (status == DB_OK)
        status = datasets_note_days(db, &now);
    if (status == DB_OK)
        status = erase_derived(db, now.id);
    if (status == DB_OK)
        status = note_service(db, "retention", now.id, due->now_ms);
    return status;
}

/* Looks again: another server may have erased it, or its owner uploaded more. */
static enum db_status erase_due(struct db *db, void *context)
{
    struct due *due = context;
    enum db_status status = datasets_next_due(db, due->after, due->now_ms, &due->expert);
    if (status != DB_OK)
        return status;
    return erasure_expert(due->app, db, due->expert.dataset, &due->expert, due->now_ms);
}

/* Notes the days of all datasets; one that cannot be read keeps no other waiting. */
static enum db_status note_days(struct due *due, struct db *db)
{
    enum db_status status, failed = DB_OK;
    while ((status = datasets_next_day(db, due->now_ms, due->day_after, &due->dataset)) !=
           DB_NONE) {
        if (due->dataset.id[0] == '\0')
            return status;
        if (status == DB_OK)
            status = db_transact(db, note_day, due);
        if (status == DB_OK)
            shelf_drop(due->app->teachers, due->dataset.id);
        else if (status != DB_NONE && status != DB_RETRY)
            failed = db_fail(db, due->dataset.id, "its days are not noted");
        memcpy(due->day_after, due->dataset.id, sizeof due->day_after);
    }
    return failed;
}

enum db_status erasure_due(const struct app *app, struct db *db, bool *out_more)
{
    struct due due = {.app = app, .now_ms = app->settings.now_ms()};
    enum db_status status, failed = note_days(&due, db);
    while ((status = datasets_next_due(db, due.after, due.now_ms, &due.expert)) == DB_OK) {
        status = db_transact(db, erase_due, &due);
        if (status == DB_OK) {
            shelf_drop(app->teachers, due.expert.dataset);
            *out_more = true;
        } else if (status != DB_NONE && status != DB_RETRY) {
            failed = db_fail(db, due.expert.dataset, "an expert whose days are over is not erased");
        }
        memcpy(due.after, due.expert.dataset, sizeof due.after);
    }
    return status == DB_NONE ? failed : status;
}

/* ---- who comes back */

/* A name that is sent, by what would stand in its place were it erased. */
struct sent_name {
    char mark[ERASURE_MARK_SIZE];
    uint32_t at;
};

struct comeback {
    struct call *call;
    const char *dataset;
    const char *const *names;
    uint32_t count;
    struct sent_name *sent; /* owned, sorted; NULL while no expert was seen to be erased */
    bool *is_erased;        /* owned, of each name */
    unsigned erased;
};

static int compare_sent(const void *a, const void *b)
{
    return strcmp(((const struct sent_name *)a)->mark, ((const struct sent_name *)b)->mark);
}

static void mark_names(struct comeback *back)
{
    back->sent = memory_new(back->count, sizeof *back->sent);
    back->is_erased = memory_new(back->count, sizeof *back->is_erased);
    for (uint32_t i = 0; i < back->count; i++) {
        back->sent[i].at = i;
        erasure_mark(back->call->app, back->dataset, back->names[i], back->sent[i].mark);
    }
    qsort(back->sent, back->count, sizeof *back->sent, compare_sent);
}

static bool note_erased(void *context, const struct expert_row *erased)
{
    struct comeback *back = context;
    struct sent_name key;
    if (!back->sent)
        mark_names(back);
    snprintf(key.mark, sizeof key.mark, "%.*s.", (int)strcspn(erased->name, "."), erased->name);
    struct sent_name *sent = bsearch(&key, back->sent, back->count, sizeof key, compare_sent);
    if (sent && !back->is_erased[sent->at]) {
        back->is_erased[sent->at] = true;
        back->erased++;
    }
    return true;
}

/* The first 100 names that were erased. */
static json_t *erased_names(const struct comeback *back)
{
    json_t *found = json_array();
    for (uint32_t i = 0; i < back->count && json_array_size(found) < 100; i++)
        if (back->is_erased[i])
            json_list_add(&found, json_string(back->names[i]));
    return found;
}

static enum problem refuse_comeback(const struct comeback *back)
{
    json_t *experts = call_own(back->call, erased_names(back));
    char more[64] = "";
    if (back->erased > 1)
        snprintf(more, sizeof more, " So were %u more of these experts.", back->erased - 1);
    call_problem_member(back->call, "experts", json_incref(experts));
    return call_problem(
        back->call, PROBLEM_CONFLICT,
        "The expert \"%s\" was erased from this dataset.%s Nothing was stored. Leave "
        "out whoever asked to be erased. If the data shall come back, send them with "
        "?erased=accept.",
        json_string_value(json_array_get(experts, 0)), more);
}

enum problem erasure_refuse_names(struct call *call, const char *dataset, const char *const *names,
                                  uint32_t count)
{
    const char *wanted = call_query(call, "erased");
    const char *client = call_guest(call);
    struct comeback back = {.call = call, .dataset = dataset, .names = names, .count = count};
    if (wanted && strcmp(wanted, "accept") != 0)
        return call_invalid_query(call, "erased", "must be accept, or be left out");
    if (wanted)
        return PROBLEM_NONE;
    enum db_status status = datasets_experts_erased(call->db, dataset, client, note_erased, &back);
    enum problem problem = call_db(call, status);
    if (problem == PROBLEM_NONE && back.erased > 0)
        problem = refuse_comeback(&back);
    free(back.sent);
    free(back.is_erased);
    return problem;
}

/* ---- the receipt */

/* SHA-256 of the receipt TEXT in hexadecimal: nobody who has not the receipt, with its signature,
 * can tell from it which expert was erased. */
static const char *digest_of_receipt(struct call *call, const char *text)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    char *hex = arena_array(&call->arena, 2 * sizeof hash + 1, 1);
    crypto_hash_sha256(hash, (const unsigned char *)text, strlen(text));
    return sodium_bin2hex(hex, 2 * sizeof hash + 1, hash, sizeof hash);
}

enum problem erasure_reply(struct call *call, const char *dataset, const char *expert,
                           const char *client, int64_t time_ms)
{
    json_t *receipt =
        json_pack("{s:s, s:s, s:o, s:o, s:o, s:s}", "type", "erasure", "dataset", dataset, "expert",
                  json_text_or_null(expert), "client", json_text_or_null(client), "erased_at",
                  json_time(time_ms), "meaning", meaning);
    char *text = NULL;
    enum db_status status = certificate_sign(call->app, call->db, receipt, &text);
    json_decref(receipt);
    if (status != DB_OK)
        return call_db(call, status);
    call->subject = digest_of_receipt(call, text);
    json_t *signed_receipt = json_text_stored(text);
    free(text);
    return call_reply_json(call, 200, signed_receipt);
}

enum problem erasure_wants_receipt(struct call *call, bool *out)
{
    const char *wanted = call_query(call, "receipt");
    *out = wanted && strcmp(wanted, "true") == 0;
    if (!wanted || *out || strcmp(wanted, "false") == 0)
        return PROBLEM_NONE;
    return call_invalid_query(call, "receipt", "must be true or false");
}
