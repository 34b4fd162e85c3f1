/* Whoever edits the database of a service that runs, past all triggers, is found by the auditor. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/db/listing.h"
#include "storage/ledger/ledger_reduce.h"
#include "storage/ledger/trail.h"
#include "tests/unit/storage/fold_scene.h"

#define TRIES 150 /* TACET_EDITS sets another number */

static void open_sqlite(void)
{
    fold_open(&db_driver_sqlite);
}

TestSuite(ledger_edits, .init = open_sqlite, .fini = fold_close);

/* Tables, and their columns that the auditor knows. The digest of a tile protects its own bytes. */
static const struct {
    const char *table, *columns[20];
} tables[] = {
    {"ledger_accounts",
     {"id", "kind", "resource", "client", "unit", "renyi_order", "epsilon", "delta", "limit_units",
      "spent_units", "held_units", "limit_delta", "spent_delta", "held_delta", "entries", "head",
      "created_ms"}},
    {"ledger_entries",
     {"account", "sequence", "time_ms", "kind", "limit_units", "spent_units", "held_units",
      "limit_delta", "spent_delta", "held_delta", "epsilon", "delta", "client", "resource", "event",
      "hash"}},
    {"ledger_holds", {"hold", "account", "units", "delta_units", "client"}},
    {"ledger_leaves", {"number", "account", "sequence", "head"}},
    {"ledger_nodes", {"level", "number", "hash"}},
    {"ledger_tiles", {"number", "hashes", "digest"}},
    {"ledger_subtrees", {"level", "number", "hash", "digest"}},
    {"audit_trail",
     {"number", "time_ms", "actor", "client", "role", "token", "action", "resource", "subject",
      "status", "outcome", "count", "address", "request"}},
};
#define TABLES (sizeof tables / sizeof *tables)

enum kind { CHANGE, REMOVE, REPEAT, KINDS };

static const char *const kind_names[] = {"a value changed", "a row removed", "a row repeated"};

static uint64_t random_state = 1;

static uint64_t random_below(uint64_t most)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (random_state >> 33) % most;
}

struct edit {
    enum kind kind;
    size_t table;
    char sql[700];
    bool made, found;
};

/* Writes a statement for one row of a table: another value of the same type, or no row, or two. */
static void draw_edit(struct edit *edit)
{
    size_t columns = 0;
    edit->kind = (enum kind)random_below(KINDS + 3);
    if (edit->kind >= KINDS)
        edit->kind = CHANGE;
    edit->table = random_below(TABLES);
    const char *table = tables[edit->table].table;
    while (columns < 20 && tables[edit->table].columns[columns])
        columns++;
    const char *column = tables[edit->table].columns[random_below(columns)];
    char row[120], count[80];
    snprintf(count, sizeof count, "SELECT count(*) FROM %s", table);
    snprintf(row, sizeof row, "ORDER BY 1, 2 LIMIT 1 OFFSET %d",
             (int)random_below((uint64_t)fold_number(count)));
    if (edit->kind == CHANGE)
        snprintf(edit->sql, sizeof edit->sql,
                 "UPDATE %s SET %s = CASE typeof(%s) WHEN 'text' THEN %s || 'x' WHEN 'blob' THEN "
                 "CAST(substr(%s, 2) || x'00' AS BLOB) ELSE %s + 1 END WHERE (%s, %s) IN "
                 "(SELECT %s, %s FROM %s %s)",
                 table, column, column, column, column, column, tables[edit->table].columns[0],
                 tables[edit->table].columns[1], tables[edit->table].columns[0],
                 tables[edit->table].columns[1], table, row);
    else if (edit->kind == REMOVE)
        snprintf(edit->sql, sizeof edit->sql,
                 "DELETE FROM %s WHERE (%s, %s) IN (SELECT %s, %s FROM %s %s)", table,
                 tables[edit->table].columns[0], tables[edit->table].columns[1],
                 tables[edit->table].columns[0], tables[edit->table].columns[1], table, row);
    else
        snprintf(edit->sql, sizeof edit->sql, "INSERT INTO %s SELECT * FROM (SELECT * FROM %s %s)",
                 table, table, row);
}

/* Edits, asks the auditor, and takes it back. */
static enum db_status try_edit(struct db *db, void *context)
{
    struct edit *edit = context;
    struct ledger_report report;
    edit->made = fixture_sql(db, edit->sql) == DB_OK;
    if (edit->made)
        edit->found = ledger_verify(db, &report) != DB_OK || report.fault_count > 0;
    return DB_NONE;
}

static enum db_status append_row(struct db *db, void *context)
{
    struct trail_row row = {.time_ms = 5, .actor = "client", .action = "POST /v1/jobs", .count = 1};
    (void)context;
    return trail_append(db, &row);
}

static void open_books(void)
{
    static const char *const triggers[] = {
        "accounts_stay",  "accounts_follow", "entries_stay",  "entries_fixed", "holds_stay",
        "holds_end_once", "leaves_stay",     "leaves_fixed",  "nodes_stay",    "nodes_fixed",
        "tiles_stay",     "tiles_fixed",     "subtrees_join", "subtrees_fixed"};
    struct ledger_reduction reduction = {.next = 0};
    char sql[80];
    fold_spend(fold_teacher.id, 100, 600);
    for (int i = 0; i < 150; i++) {
        fold_spend(fold_teacher.id, 1000 + i, 1);
        fold_spend(fold_student.id, 1000 + i, 1);
    }
    cr_assert_eq(fixture_hold(fold_fixture.db, "job_a", fold_teacher.id, 50, NULL), DB_OK);
    cr_assert_eq(fixture_settle(fold_fixture.db, "job_a", fold_teacher.id, 20, NULL), DB_OK);
    cr_assert_eq(fixture_hold(fold_fixture.db, "job_b", fold_teacher.id, 50, NULL), DB_OK);
    fold_before(1100);
    cr_assert_eq(ledger_reduce(fold_fixture.db, &reduction), DB_OK);
    cr_assert_gt(fold_number("SELECT count(*) FROM ledger_subtrees"), 0);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(db_transact(fold_fixture.db, append_row, NULL), DB_OK);
    for (size_t i = 0; i < sizeof triggers / sizeof *triggers; i++) {
        snprintf(sql, sizeof sql, "DROP TRIGGER ledger_%s", triggers[i]);
        cr_assert_eq(fixture_sql(fold_fixture.db, sql), DB_OK, "%s", sql);
    }
    cr_assert_eq(fixture_sql(fold_fixture.db, "DROP TRIGGER audit_trail_stays"), DB_OK);
    cr_assert_eq(fixture_sql(fold_fixture.db, "DROP TRIGGER audit_trail_fixed"), DB_OK);
    cr_assert_eq(fold_verify().fault_count, 0);
}

Test(ledger_edits, are_found_by_the_auditor, .timeout = 36000)
{
    unsigned made[KINDS] = {0}, found[KINDS] = {0};
    const char *wish = getenv("TACET_EDITS");
    open_books();
    for (unsigned i = 0; i < (wish ? (unsigned)strtoul(wish, NULL, 10) : TRIES); i++) {
        struct edit edit = {.made = false};
        draw_edit(&edit);
        (void)db_transact(fold_fixture.db, try_edit, &edit);
        made[edit.kind] += edit.made;
        found[edit.kind] += edit.made && edit.found;
        cr_expect(!edit.made || edit.found, "%s", edit.sql);
    }
    for (unsigned kind = 0; kind < KINDS; kind++)
        fprintf(stderr, "%s: %u of %u found\n", kind_names[kind], found[kind], made[kind]);
    cr_expect_eq(fold_verify().fault_count, 0);
}
