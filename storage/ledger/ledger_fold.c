/* A run is what one fold will count: consecutive debits of one account, and the fold before them if
 * there is one. */
#include "storage/ledger/ledger_fold.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"
#include "storage/db/listing.h"
#include "storage/ledger/ledger_log.h"
#include "storage/ledger/ledger_post.h"

#define FOLDED_AT_ONCE 1024 /* rows: some milliseconds, shorter than a full batch */
#define EVENT_SIZE     320

/* ---- a fold and its digest */

struct run {
    char account[ID_SIZE];
    int64_t first, first_ms; /* sequence and time */
    int64_t last, last_ms;
    int64_t spent_units, spent_delta;
    unsigned char previous_hash[LEDGER_HASH_SIZE], hash[LEDGER_HASH_SIZE];
};

static const struct column run_columns[] = {
    COLUMN(run, account, TEXT),        COLUMN(run, first, INTEGER),
    COLUMN(run, first_ms, INTEGER),    COLUMN(run, last, INTEGER),
    COLUMN(run, last_ms, INTEGER),     COLUMN(run, spent_units, INTEGER),
    COLUMN(run, spent_delta, INTEGER), COLUMN(run, previous_hash, BYTES),
    COLUMN(run, hash, BYTES),
};

/* For its digest alone: no such table is stored. */
static const struct table runs_table =
    TABLE_DIGESTED("ledger_folds", run, run_columns, 0, "digest", 2, 0);

static void fold_write_event(const struct ledger_fold *fold, int64_t last, const char *digest,
                             char out[EVENT_SIZE])
{
    char hash[2 * LEDGER_HASH_SIZE + 1];
    sodium_bin2hex(hash, sizeof hash, fold->previous_hash, LEDGER_HASH_SIZE);
    snprintf(out, EVENT_SIZE,
             "{\"type\":\"FoldedEntries\",\"first_sequence\":%lld,\"count\":%lld,"
             "\"first_time_ms\":%lld,\"previous_hash\":\"%s\",\"digest\":\"%s\"}",
             (long long)fold->first, (long long)(last - fold->first + 1), (long long)fold->first_ms,
             hash, digest);
}

/* What a fold has no word for is nothing: neither its digest nor its hash is about it. */
static bool fold_is_bare(const struct ledger_entry *entry)
{
    return entry->limit_units == 0 && entry->limit_delta == 0 && entry->held_units == 0 &&
           entry->held_delta == 0 && entry->epsilon == 0 && entry->delta == 0 &&
           entry->client[0] == '\0' && entry->resource[0] == '\0';
}

/* Reads the fold of ENTRY with its digest: what it reads is written again, and must be the same. */
static bool fold_read_event(const struct ledger_entry *entry, struct ledger_fold *out,
                            char digest[2 * DIGEST_SIZE + 1])
{
    char hash[2 * LEDGER_HASH_SIZE + 1], again[EVENT_SIZE];
    long long first, count, first_ms;
    if (entry->kind != LEDGER_ENTRY_FOLDED || !fold_is_bare(entry) ||
        sscanf(entry->event,
               "{\"type\":\"FoldedEntries\",\"first_sequence\":%19lld,\"count\":%19lld,"
               "\"first_time_ms\":%19lld,\"previous_hash\":\"%64[0-9a-f]\",\"digest\":\"%32[0-9a-"
               "f]\"}",
               &first, &count, &first_ms, hash, digest) != 5)
        return false;
    *out = (struct ledger_fold){.first = first, .first_ms = first_ms};
    if (first < 2 || first > entry->sequence ||
        sodium_hex2bin(out->previous_hash, LEDGER_HASH_SIZE, hash, strlen(hash), NULL, NULL, NULL))
        return false;
    fold_write_event(out, entry->sequence, digest, again);
    return strcmp(again, entry->event) == 0;
}

bool ledger_fold_read(const struct ledger_entry *entry, struct ledger_fold *out)
{
    char digest[2 * DIGEST_SIZE + 1];
    return fold_read_event(entry, out, digest);
}

static void digest_run(const struct db *db, const struct run *run, char out[2 * DIGEST_SIZE + 1])
{
    unsigned char digest[DIGEST_SIZE];
    table_digest(db, &runs_table, run, digest);
    sodium_bin2hex(out, 2 * DIGEST_SIZE + 1, digest, sizeof digest);
}

static bool read_run(const struct db *db, const struct ledger_entry *entry, struct ledger_fold *out,
                     struct run *run)
{
    char digest[2 * DIGEST_SIZE + 1], wanted[2 * DIGEST_SIZE + 1];
    if (!fold_read_event(entry, out, digest) || strlen(entry->account) >= ID_SIZE)
        return false;
    *run = (struct run){.first = out->first,
                        .first_ms = out->first_ms,
                        .last = entry->sequence,
                        .last_ms = entry->time_ms,
                        .spent_units = entry->spent_units,
                        .spent_delta = entry->spent_delta};
    strcpy(run->account, entry->account);
    memcpy(run->previous_hash, out->previous_hash, LEDGER_HASH_SIZE);
    memcpy(run->hash, entry->hash, LEDGER_HASH_SIZE);
    digest_run(db, run, wanted);
    return strcmp(digest, wanted) == 0;
}

bool ledger_fold_holds(const struct db *db, const struct ledger_entry *entry,
                       struct ledger_fold *out)
{
    struct run run;
    return read_run(db, entry, out, &run);
}

/* ---- finding runs */

struct fold_work {
    struct ledger_sweep *sweep;
    struct db *db;
    int64_t last; /* row of the chunk */
    unsigned rows, count;
    struct run runs[FOLDED_AT_ONCE];
    char left[ID_SIZE]; /* the account of which nothing more is folded */
    char where[64];     /* the first damaged entry, and what is wrong with it */
    const char *damage; /* NULL: none */
    enum db_status status;
};

/* Remembers that ENTRY is damaged: nothing more of its account is folded. */
static void leave_account(struct fold_work *work, const struct ledger_entry *entry,
                          const char *damage)
{
    snprintf(work->left, sizeof work->left, "%s", entry->account);
    if (work->damage)
        return;
    work->damage = damage;
    snprintf(work->where, sizeof work->where, "%.31s, entry %lld", entry->account,
             (long long)entry->sequence);
}

/* Begins a run before ENTRY: with the fold before it, or with nothing. False: it cannot. */
static bool fold_begin(struct fold_work *work, const struct ledger_entry *entry)
{
    struct run *run = &work->runs[work->count];
    struct ledger_entry before = {.account = NULL};
    struct ledger_fold fold;
    enum db_status status =
        table_find(work->db, &ledger_entries_table, "WHERE account = $1 AND sequence = $2",
                   DB_VALUES(db_text(entry->account), db_integer(entry->sequence - 1)), &before);
    if (status == DB_NONE)
        leave_account(work, entry, "the entry before it is missing");
    else
        work->status = status;
    if (status != DB_OK)
        return false;
    bool good = true;
    if (before.kind == LEDGER_ENTRY_FOLDED) {
        good = read_run(work->db, &before, &fold, run);
        if (!good)
            leave_account(work, &before, "it has changed");
    } else {
        *run = (struct run){
            .first = entry->sequence, .first_ms = entry->time_ms, .last = entry->sequence - 1};
        snprintf(run->account, sizeof run->account, "%s", entry->account);
        memcpy(run->previous_hash, before.hash, LEDGER_HASH_SIZE);
        memcpy(run->hash, before.hash, LEDGER_HASH_SIZE);
    }
    table_done(&ledger_entries_table, &before);
    work->count += good;
    return good;
}

/* ENTRY is the last one that will ever be seen of it, so its hash is checked. */
static void add_to_run(struct fold_work *work, struct ledger_entry *entry)
{
    struct run *run = &work->runs[work->count - 1];
    unsigned char hash[LEDGER_HASH_SIZE];
    memcpy(entry->previous_hash, run->hash, LEDGER_HASH_SIZE);
    ledger_entry_hash(entry, hash);
    if (memcmp(hash, entry->hash, LEDGER_HASH_SIZE) != 0 ||
        __builtin_add_overflow(run->spent_units, entry->spent_units, &run->spent_units) ||
        __builtin_add_overflow(run->spent_delta, entry->spent_delta, &run->spent_delta)) {
        work->count--;
        leave_account(work, entry, "its hash is not that of what it says");
        return;
    }
    run->last = entry->sequence;
    run->last_ms = entry->time_ms;
    memcpy(run->hash, entry->hash, LEDGER_HASH_SIZE);
}

static bool fold_see_debit(void *context, const void *row)
{
    struct fold_work *work = context;
    struct ledger_entry entry = *(const struct ledger_entry *)row;
    const struct run *run = work->count > 0 ? &work->runs[work->count - 1] : NULL;
    if (entry.kind != LEDGER_ENTRY_DEBIT || entry.time_ms >= work->sweep->from_ms ||
        strcmp(entry.account, work->left) == 0)
        return true;
    bool follows =
        run && entry.sequence == run->last + 1 && strcmp(entry.account, run->account) == 0;
    if (follows || fold_begin(work, &entry))
        add_to_run(work, &entry);
    return work->status == DB_OK;
}

/* A row of any time that is over, or of a clock that was ahead, belongs to the chunk. */
static enum db_status see_place(void *context, const struct db_row *row)
{
    struct fold_work *work = context;
    int64_t time_ms = db_row_integer(row, 1);
    if (time_ms >= work->sweep->from_ms && time_ms <= work->sweep->now_ms)
        return DB_NONE;
    work->last = db_row_integer(row, 0);
    work->rows++;
    return DB_OK;
}

static enum db_status find_runs(struct db *db, void *context)
{
    struct fold_work *work = context;
    enum db_status status = db_optional(db_run(
        db, "SELECT rowid, time_ms FROM ledger_entries WHERE rowid > $1 ORDER BY rowid LIMIT $2",
        DB_VALUES(db_integer(work->sweep->seen), db_integer(FOLDED_AT_ONCE)), see_place, work));
    if (status == DB_OK && work->rows > 0)
        status = table_list(db, &ledger_entries_table,
                            "WHERE rowid > $1 AND rowid <= $2 AND account NOT IN "
                            "(SELECT id FROM ledger_accounts WHERE kind IN ('dataset', 'share')) "
                            "ORDER BY account, sequence",
                            DB_VALUES(db_integer(work->sweep->seen), db_integer(work->last)),
                            fold_see_debit, work);
    return status == DB_OK ? work->status : status;
}

/* ---- folding */

/* The leaves that name the run's entries have their hashes: nothing else tells, once they are gone.
 */
static enum db_status check_run(struct db *db, const struct run *run)
{
    int64_t others = 0;
    enum db_status status = db_owed(db_one(
        db,
        "SELECT count(*) FROM ledger_leaves AS l JOIN ledger_entries AS e ON e.account = "
        "l.account AND e.sequence = l.sequence WHERE l.account = $1 AND l.sequence >= $2 AND "
        "l.sequence <= $3 AND l.head <> e.hash",
        DB_VALUES(db_text(run->account), db_integer(run->first), db_integer(run->last)),
        listing_integer, &others));
    if (status == DB_OK && others > 0)
        status = db_fail(db, run->account, "the log has another entry");
    return status;
}

static enum db_status fold_run(struct db *db, const struct run *run)
{
    struct ledger_fold fold = {.first = run->first, .first_ms = run->first_ms};
    char digest[2 * DIGEST_SIZE + 1], event[EVENT_SIZE];
    memcpy(fold.previous_hash, run->previous_hash, LEDGER_HASH_SIZE);
    digest_run(db, run, digest);
    fold_write_event(&fold, run->last, digest, event);
    enum db_status status = check_run(db, run);
    if (status != DB_OK)
        return status;
    status = db_owed(db_change(
        db,
        "UPDATE ledger_entries SET kind = 'folded', spent_units = $3, spent_delta = $4, "
        "client = '', resource = '', event = $5 WHERE account = $1 AND sequence = $2",
        DB_VALUES(db_text(run->account), db_integer(run->last), db_integer(run->spent_units),
                  db_integer(run->spent_delta), db_text(event))));
    if (status != DB_OK || run->first == run->last)
        return status;
    status = db_owed(db_change(
        db, "DELETE FROM ledger_entries WHERE account = $1 AND sequence >= $2 AND sequence < $3",
        DB_VALUES(db_text(run->account), db_integer(run->first), db_integer(run->last))));
    return status == DB_OK ? ledger_log_forget(db, run->account, run->first, run->last) : status;
}

static enum db_status fold_runs(struct db *db, void *context)
{
    const struct fold_work *work = context;
    enum db_status status = ledger_batch_write(db); /* an account's row is never behind its folds */
    if (status == DB_OK)
        status = ledger_log_check_end(db);
    if (status == DB_NONE)
        status = db_fail(db, "ledger_leaves", "the log once had other leaves");
    for (unsigned i = 0; i < work->count && status == DB_OK; i++)
        status = fold_run(db, &work->runs[i]);
    return status == DB_OK ? ledger_log_note_root(db) : status;
}

enum db_status ledger_fold(struct db *db, struct ledger_sweep *sweep)
{
    struct fold_work *work = memory_new(1, sizeof *work);
    work->sweep = sweep;
    work->db = db;
    sweep->more = false;
    enum db_status status = db_view(db, find_runs, work);
    if (status == DB_OK && work->count > 0)
        status = db_transact(db, fold_runs, work);
    if (status == DB_OK && work->rows > 0) {
        sweep->more = work->rows == FOLDED_AT_ONCE;
        sweep->seen = work->last;
    }
    if (status == DB_OK && work->damage)
        status = db_fail(db, work->where, work->damage);
    free(work);
    return status;
}
