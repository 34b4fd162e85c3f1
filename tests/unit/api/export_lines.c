#include "tests/unit/api/export_lines.h"

#include <criterion/criterion.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/call/certificate.h"
#include "api/proof/export.h"
#include "api/proof/row_text.h"
#include "memory/memory.h"
#include "storage/ledger/ledger_chain.h"
#include "tests/unit/api/export_scene.h"

#define TEXT_MOST ((size_t)1 << 24)

struct export_lines export_lines_cut(const char *text)
{
    struct export_lines lines = {.count = 0};
    for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
        cr_assert_lt(lines.count, EXPORT_LINES_MOST);
        lines.line[lines.count++] = memory_format("%.*s", (int)(end - text), text);
    }
    return lines;
}

void export_lines_clear(struct export_lines *lines)
{
    for (unsigned i = 0; i < lines->count; i++)
        free(lines->line[i]);
}

char *export_lines_sign(struct fixture *fixture, const struct export_lines *lines, size_t *out_size)
{
    struct buffer text = {.lid = TEXT_MOST};
    for (unsigned i = 0; i + 1 < lines->count; i++)
        (void)buffer_add_format(&text, "%s\n", lines->line[i]);
    return export_scene_sign(fixture, &text, lines->count - 1, out_size);
}

unsigned export_lines_find(const struct export_lines *lines, const char *text)
{
    for (unsigned i = 0; i < lines->count; i++)
        if (strncmp(lines->line[i], text, strlen(text)) == 0)
            return i;
    cr_assert_fail("no line begins with %s", text);
    return 0;
}

/* ---- rows */

/* Reads LINE, which has a row of TABLE under NAME, from a copy to which OUT may point. */
static bool read_line_row(const char *line, const char *name, const struct table *table, void *out,
                          char **out_copy)
{
    char *at = *out_copy = memory_copy_text(line);
    return row_text_skip(&at, name) && row_text_read(table, &at, out);
}

static char *write_line_row(const char *name, const struct table *table, const void *row)
{
    struct buffer line = {.lid = TEXT_MOST};
    size_t size;
    (void)buffer_add_text(&line, name);
    row_text_write(&line, table, row);
    (void)buffer_add_text(&line, "}");
    return buffer_take(&line, &size);
}

#define ACCOUNT "{\"account\":"
#define ENTRY   "{\"entry\":"

bool export_lines_account(const struct export_lines *lines, const char *named, unsigned n,
                          struct ledger_account *out)
{
    for (unsigned i = 0; i < lines->count; i++) {
        char *copy;
        bool found = read_line_row(lines->line[i], ACCOUNT, &ledger_accounts_table, out, &copy) &&
                     (!named || strcmp(ledger_kind_name(out->kind), named) == 0);
        free(copy);
        if (found && n-- == 0)
            return true;
    }
    return false;
}

/* ---- folds */

static void take_away(struct ledger_account *account, const struct ledger_entry *entry)
{
    account->limit_units -= entry->limit_units;
    account->spent_units -= entry->spent_units;
    account->held_units -= entry->held_units;
    account->limit_delta -= entry->limit_delta;
    account->spent_delta -= entry->spent_delta;
    account->held_delta -= entry->held_delta;
}

static char *fold_line(const struct ledger_entry *last, const struct ledger_entry *fold,
                       int64_t first, int64_t first_ms, const unsigned char previous[32])
{
    char hex[65], event[400];
    struct ledger_entry entry = *fold;
    sodium_bin2hex(hex, sizeof hex, previous, 32);
    snprintf(event, sizeof event,
             "{\"type\":\"FoldedEntries\",\"first_sequence\":%lld,\"count\":%lld,\"first_time_ms\":"
             "%lld,\"previous_hash\":\"%s\",\"digest\":\"%.32s\"}",
             (long long)first, (long long)(last->sequence - first + 1), (long long)first_ms, hex,
             hex);
    entry.kind = LEDGER_ENTRY_FOLDED;
    entry.account = last->account;
    entry.sequence = last->sequence;
    entry.time_ms = last->time_ms;
    entry.client = entry.resource = "";
    entry.event = event;
    memcpy(entry.hash, last->hash, sizeof entry.hash);
    return write_line_row(ENTRY, &ledger_entries_table, &entry);
}

void export_lines_fold(struct export_lines *lines, const char *account, int64_t first, int64_t last,
                       int64_t more_units, int64_t more_delta)
{
    struct ledger_entry fold = {.spent_units = more_units, .spent_delta = more_delta};
    struct ledger_account found, row = {.id = ""};
    unsigned char previous[32] = {0};
    unsigned head = 0, at = 0, kept = 0;
    int64_t first_ms = 0;
    char *folded = NULL;
    for (unsigned i = 0; i < lines->count; i++) {
        char *copy, *again;
        struct ledger_entry entry;
        bool gone = false;
        if (read_line_row(lines->line[i], ACCOUNT, &ledger_accounts_table, &found, &copy)) {
            row = strcmp(found.id, account) == 0 ? found : row;
            head = strcmp(found.id, account) == 0 ? kept : head;
        }
        if (read_line_row(lines->line[i], ENTRY, &ledger_entries_table, &entry, &again) &&
            strcmp(entry.account, account) == 0) {
            if (entry.sequence == first - 1)
                memcpy(previous, entry.hash, sizeof previous);
            if (entry.sequence == first) {
                first_ms = entry.time_ms;
                at = kept;
            }
            gone = entry.sequence > first && entry.sequence <= last;
            if (gone || entry.sequence == first) {
                take_away(&row, &entry);
                fold.spent_units += entry.spent_units;
                fold.spent_delta += entry.spent_delta;
            }
            if (entry.sequence == last)
                folded = fold_line(&entry, &fold, first, first_ms, previous);
        }
        free(copy);
        free(again);
        if (gone)
            free(lines->line[i]);
        else
            lines->line[kept++] = lines->line[i];
    }
    cr_assert_not_null(folded);
    lines->count = kept;
    row.spent_units += fold.spent_units;
    row.spent_delta += fold.spent_delta;
    free(lines->line[at]);
    free(lines->line[head]);
    lines->line[at] = folded;
    lines->line[head] = write_line_row(ACCOUNT, &ledger_accounts_table, &row);
}

/* ---- certificates */

void export_lines_certify(struct fixture *fixture, struct export_lines *lines, unsigned number,
                          void (*change)(json_t *certificate))
{
    json_t *line = json_loads(lines->line[number], 0, NULL);
    json_t *certificate = json_object_get(line, "certificate");
    cr_assert(json_is_object(certificate));
    json_object_del(certificate, "signature");
    change(certificate);
    char *text = fixture_sign(fixture, certificate);
    free(lines->line[number]);
    lines->line[number] = memory_format("{\"certificate\":%s}", text);
    free(text);
    json_decref(line);
}

/* ---- scripts/verify.py */

static void save_text(const char *folder, unsigned number, const char *end, const char *text)
{
    char path[100];
    snprintf(path, sizeof path, "%s/%u%s", folder, number, end);
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0, "%s", path);
}

void export_lines_save(const char *folder, unsigned number, const char *text, const char *earlier)
{
    save_text(folder, number, "", text);
    if (earlier)
        save_text(folder, number, ".before", earlier);
}

void export_lines_ask_python(const char *folder, unsigned count, bool faulty[])
{
    static const char script[] =
        "python3 -c '\n"
        "import os, sys; sys.path.insert(0, \"scripts\"); import verify\n"
        "for i in range(%u):\n"
        "    name = f\"%s/{i}.before\"\n"
        "    before = verify.verify(name, None) if os.path.exists(name) else None\n"
        "    assert not before or before.fault_count == 0\n"
        "    print(\"verdict\", int(verify.verify(name[:-7], None, before).fault_count > 0))\n"
        "'; rm -r %s";
    char command[800], line[400];
    unsigned said = 0;
    snprintf(command, sizeof command, script, count, folder, folder);
    FILE *python = popen(command, "r");
    cr_assert_not_null(python);
    while (fgets(line, sizeof line, python))
        if (strncmp(line, "verdict ", 8) == 0 && said < count)
            faulty[said++] = line[8] == '1';
    cr_assert_eq(pclose(python), 0);
    cr_assert_eq(said, count);
}
