/* Entries as lines: what goes in comes out, nothing else is believed, and the rows of an older
 * schema become lines. */
#include "storage/ledger/ledger_block.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/db/migrate.h"
#include "storage/db/schema_sqlite.h"
#include "storage/ledger/ledger_post.h"
#include "storage/ledger/ledger_verify.h"
#include "tests/unit/storage/fixture.h"

static struct fixture f;

static void open_store(void)
{
    fixture_open(&f, &db_driver_sqlite);
}

static void close_store(void)
{
    fixture_close(&f);
}

static struct ledger_entry sample(int64_t sequence)
{
    return (struct ledger_entry){.account = "acc_x",
                                 .sequence = sequence,
                                 .time_ms = 1795000000000 + sequence,
                                 .kind = LEDGER_ENTRY_SETTLE,
                                 .limit_units = INT64_MAX,
                                 .spent_units = INT64_MIN,
                                 .held_units = -1,
                                 .spent_delta = 1234567890123456789,
                                 .epsilon = 0.1 + 0.2,
                                 .delta = 4.9e-324,
                                 .client = "",
                                 .resource = "qry_häß",
                                 .event = "{\"type\":\"x\"}"};
}

static struct db_row row_of(const struct ledger_block *block, struct db_value values[4])
{
    values[0] = db_integer(block->first);
    values[1] = db_integer(block->count);
    values[2] = db_bytes(block->previous_hash, LEDGER_HASH_SIZE);
    values[3] = db_text(block->lines);
    return (struct db_row){.values = values, .count = 4};
}

Test(ledger_block, what_goes_in_comes_out)
{
    static struct ledger_block block;
    static struct ledger_block_reader reader;
    struct ledger_entry in[20];
    unsigned char head[LEDGER_HASH_SIZE] = {9};
    for (int i = 0; i < 20; i++) {
        in[i] = sample(7 + i);
        in[i].kind = (enum ledger_entry_kind)(i % 5);
        memcpy(in[i].previous_hash, head, sizeof head);
        ledger_entry_hash(&in[i], head);
        memcpy(in[i].hash, head, sizeof head);
        cr_assert(ledger_block_add(&block, &in[i]));
    }
    struct db_value values[4];
    struct db_row row = row_of(&block, values);
    cr_assert(ledger_block_open(&reader, &row, "acc_x"));
    for (int i = 0; i < 20; i++) {
        const struct ledger_entry *out = &reader.entry;
        cr_assert_eq(ledger_block_next(&reader), LEDGER_BLOCK_ENTRY);
        cr_assert_eq(out->sequence, in[i].sequence);
        cr_assert_eq(out->kind, in[i].kind);
        cr_assert_eq(out->limit_units, in[i].limit_units);
        cr_assert_eq(out->spent_units, in[i].spent_units);
        cr_assert_eq(out->epsilon, in[i].epsilon);
        cr_assert_eq(out->delta, in[i].delta);
        cr_assert_str_eq(out->client, in[i].client);
        cr_assert_str_eq(out->resource, in[i].resource);
        cr_assert_str_eq(out->event, in[i].event);
        cr_assert_arr_eq(out->previous_hash, in[i].previous_hash, LEDGER_HASH_SIZE);
        cr_assert_arr_eq(out->hash, in[i].hash, LEDGER_HASH_SIZE);
    }
    cr_assert_eq(ledger_block_next(&reader), LEDGER_BLOCK_END);
}

/* Lines say once what the one above says too. */
Test(ledger_block, equal_fields_are_written_once)
{
    static struct ledger_block block;
    static struct ledger_block_reader reader;
    const char *const clients[] = {"cli_a", "cli_a", "cli_b", "cli_a", "", ""};
    const char *const events[] = {"{\"e\":1}", "{\"e\":1}", "{\"e\":1}", "{\"e\":12}", "", "x"};
    struct ledger_entry in[6];
    for (int i = 0; i < 6; i++) {
        in[i] = sample(1 + i);
        in[i].time_ms = 1795000000000 + i / 2;
        in[i].client = clients[i];
        in[i].event = events[i];
        in[i].delta = i < 3 ? 1e-5 : 0;
        in[i].spent_units = i % 3 == 2 ? -5 : 5;
        size_t before = block.size;
        cr_assert(ledger_block_add(&block, &in[i]));
        cr_assert(i != 1 || block.size - before == 2 * 13);
    }
    struct db_value values[4];
    struct db_row row = row_of(&block, values);
    cr_assert(ledger_block_open(&reader, &row, "acc_x"));
    for (int i = 0; i < 6; i++) {
        cr_assert_eq(ledger_block_next(&reader), LEDGER_BLOCK_ENTRY);
        cr_assert_eq(reader.entry.time_ms, in[i].time_ms);
        cr_assert_eq(reader.entry.spent_units, in[i].spent_units);
        cr_assert_eq(reader.entry.delta, in[i].delta);
        cr_assert_str_eq(reader.entry.client, in[i].client);
        cr_assert_str_eq(reader.entry.resource, in[i].resource);
        cr_assert_str_eq(reader.entry.event, in[i].event);
    }
    cr_assert_eq(ledger_block_next(&reader), LEDGER_BLOCK_END);
    /* There is nothing above the first line. */
    values[3] = db_text("\x10\t\x10\t\x10\t\x10\t\x10\t\x10\t\x10\t\x10\t\x10\t\x10\tc\tr\te\n");
    values[1] = db_integer(1);
    cr_assert(ledger_block_open(&reader, &row, "acc_x"));
    cr_assert_eq(ledger_block_next(&reader), LEDGER_BLOCK_BROKEN);
}

Test(ledger_block, is_full_before_it_overflows)
{
    static struct ledger_block block;
    static char event[LEDGER_EVENT_BYTES + 1];
    memset(event, 'e', LEDGER_EVENT_BYTES);
    int count = 0;
    struct ledger_entry entry = sample(1);
    entry.event = event;
    while (ledger_block_add(&block, &entry)) {
        entry.sequence = 1 + ++count;
        cr_assert_lt(block.size, sizeof block.lines);
    }
    cr_assert_geq(count, 1);
    cr_assert_eq(block.count, count);
    cr_assert_eq(strlen(block.lines), block.size);
}

Test(ledger_block, control_characters_cannot_stand_in_a_line)
{
    struct ledger_entry entry = sample(1);
    cr_assert(ledger_block_can_hold(&entry));
    entry.event = "{\"a\":\t1}";
    cr_assert_not(ledger_block_can_hold(&entry));
    entry.event = "{}\n";
    cr_assert_not(ledger_block_can_hold(&entry));
}

static enum db_status see_length(void *context, const struct db_row *row)
{
    *(int64_t *)context = db_row_integer(row, 0);
    return DB_OK;
}

/* Whatever one byte of a line becomes, the auditor says so. */
Test(ledger_block, the_auditor_sees_every_changed_byte, .init = open_store, .fini = close_store)
{
    struct ledger_account account = fixture_account(f.db, LEDGER_DATASET, "ds_a", NULL, 1000, 1000);
    cr_assert_eq(fixture_debit(f.db, account.id, 5, 3, NULL), DB_OK);
    cr_assert_eq(fixture_debit(f.db, account.id, 7, 0, NULL), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER ledger_blocks_fixed"), DB_OK);
    int64_t length = 0;
    cr_assert_eq(db_one(f.db, "SELECT length(lines) FROM ledger_blocks WHERE first = 2", NULL, 0,
                        see_length, &length),
                 DB_OK);
    cr_assert_gt(length, 40);
    for (int place = 1; place <= (int)length; place++) {
        struct ledger_report report;
        char sql[200];
        snprintf(sql, sizeof sql,
                 "UPDATE ledger_blocks SET lines = substr(lines, 1, %d) || "
                 "char(1 + unicode(substr(lines, %d, 1))) || substr(lines, %d) "
                 "WHERE first = 2",
                 place - 1, place, place + 1);
        cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
        cr_assert_eq(fixture_sql(f.db, sql), DB_OK, "%s", db_last_error(f.db));
        cr_assert_eq(ledger_verify(f.db, &report), DB_OK);
        cr_expect_gt(report.fault_count, 0, "byte %d", place);
        db_rollback_batch(f.db);
    }
    fixture_audit(f.db);
}

/* ---- from the schema before */

struct copying {
    struct db *to;
    int64_t count;
};

static enum db_status insert_old(struct db *db, void *context)
{
    const struct ledger_entry *e = context;
    struct db_value values[] = {db_text(e->account),
                                db_integer(e->sequence),
                                db_integer(e->time_ms),
                                db_text(ledger_entry_kind_name(e->kind)),
                                db_integer(e->limit_units),
                                db_integer(e->spent_units),
                                db_integer(e->held_units),
                                db_integer(e->limit_delta),
                                db_integer(e->spent_delta),
                                db_integer(e->held_delta),
                                db_real(e->epsilon),
                                db_real(e->delta),
                                db_text(e->client),
                                db_text(e->resource),
                                db_text(e->event),
                                db_bytes(e->previous_hash, LEDGER_HASH_SIZE),
                                db_bytes(e->hash, LEDGER_HASH_SIZE)};
    return db_run(db,
                  "INSERT INTO ledger_entries VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, "
                  "$11, $12, $13, $14, $15, $16, $17)",
                  values, 17, NULL, NULL);
}

static bool copy_entry(void *context, const struct ledger_entry *entry)
{
    struct copying *copying = context;
    struct ledger_entry copy = *entry;
    cr_assert_eq(db_transact(copying->to, insert_old, &copy), DB_OK, "%s",
                 db_last_error(copying->to));
    copying->count++;
    return true;
}

static enum db_status insert_account(struct db *db, void *context)
{
    const struct ledger_account *a = context;
    struct db_value values[] = {db_text(a->id),
                                db_text(ledger_kind_name(a->kind)),
                                db_text(a->resource),
                                db_text(a->client),
                                db_text(a->owner),
                                db_text(a->unit),
                                db_real(a->renyi_order),
                                db_real(a->epsilon),
                                db_real(a->delta),
                                db_integer(a->limit_units),
                                db_integer(a->spent_units),
                                db_integer(a->held_units),
                                db_integer(a->limit_delta),
                                db_integer(a->spent_delta),
                                db_integer(a->held_delta),
                                db_integer(a->entries),
                                db_bytes(a->head, LEDGER_HASH_SIZE),
                                db_integer(a->created_ms)};
    return db_run(db,
                  "INSERT INTO ledger_accounts VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, "
                  "$11, $12, $13, $14, $15, $16, $17, $18)",
                  values, 18, NULL, NULL);
}

static bool copy_account(void *context, const struct ledger_account *account)
{
    struct copying *copying = context;
    struct ledger_account copy = *account;
    cr_assert_eq(db_transact(copying->to, insert_account, &copy), DB_OK, "%s",
                 db_last_error(copying->to));
    return ledger_entries(f.db, account->id, 0, 100, copy_entry, copying) == DB_OK;
}

Test(ledger_block, entries_of_the_first_schema_become_lines, .init = open_store,
     .fini = close_store)
{
    const char *const *only_first[] = {schema_sqlite[0], NULL};
    struct db_driver old_driver = db_driver_sqlite;
    old_driver.migrations = only_first;
    struct fixture old;
    fixture_open(&old, &old_driver);
    struct ledger_account a = fixture_account(f.db, LEDGER_DATASET, "ds_a", NULL, 1000, 1000);
    struct ledger_account b = fixture_account(f.db, LEDGER_CLIENT, "tch_a", "cli_a", 50, 0);
    cr_assert_eq(fixture_debit(f.db, b.id, 5, 0, NULL), DB_OK);
    cr_assert_eq(fixture_debit(f.db, a.id, 7, 1, NULL), DB_OK);
    cr_assert_eq(fixture_hold(f.db, "job_a", a.id, 9, NULL), DB_OK);
    cr_assert_eq(fixture_settle(f.db, "job_a", a.id, 4, NULL), DB_OK);
    struct copying copying = {.to = old.db};
    cr_assert_eq(ledger_list(f.db, NULL, NULL, NULL, 10, copy_account, &copying), DB_OK);
    cr_assert_eq(copying.count, 6);

    old_driver.migrations = schema_sqlite;
    char error[DB_ERROR_SIZE];
    cr_assert_eq(migrate(old.db, error), DB_OK, "%s", error);
    struct ledger_report report, original;
    cr_assert_eq(ledger_verify(old.db, &report), DB_OK);
    cr_assert_eq(ledger_verify(f.db, &original), DB_OK);
    cr_assert_eq(report.fault_count, 0, "%s: %s", report.faults[0].account, report.faults[0].what);
    cr_assert_eq(report.entries, 6);
    cr_assert_arr_eq(report.head, original.head, LEDGER_HASH_SIZE);
    cr_assert_eq(fixture_debit(old.db, a.id, 1, 0, NULL), DB_OK);
    fixture_audit(old.db);
    fixture_close(&old);
}
