/* Reads an export line by line: its head, certificates, accounts each followed by its entries, and
 * its end. */
#include "api/proof/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/text.h"
#include "api/proof/export.h"
#include "api/proof/line_reader.h"
#include "api/proof/row_text.h"
#include "api/proof/verify_state.h"
#include "memory/memory.h"
#include "storage/ledger/ledger_chain.h"

#define NO_EXPORT "this is no export of tacet"

void *verify_list_add(struct verify_list *list, size_t size)
{
    if (list->count == list->room) {
        list->room = list->room < 16 ? 16 : 2 * list->room;
        list->items = memory_resize(list->items, list->room, size);
    }
    void *item = (char *)list->items + list->count++ * size;
    memset(item, 0, size);
    return item;
}

void verify_fault(struct verify *verify, const char *where, long long sequence, const char *what)
{
    struct verify_report *report = verify->report;
    report->fault_count++;
    if (report->described == VERIFY_FAULTS_MAX)
        return;
    struct verify_fault *fault = &report->faults[report->described++];
    fault->line = report->lines;
    fault->sequence = sequence;
    snprintf(fault->where, sizeof fault->where, "%s", where);
    snprintf(fault->what, sizeof fault->what, "%s", what);
    text_clean(fault->where, '?');
    text_clean(fault->what, '?');
}

/* ---- the head and the end */

static bool read_export_head(struct verify *verify, char *at)
{
    struct verify_report *report = verify->report;
    int64_t version = 0;
    const char *kid = NULL, *x = NULL;
    bool numbered =
        row_text_skip(&at, "{\"export\":{\"version\":") && row_text_integer(&at, &version);
    bool known = version == EXPORT_ONE_KEY || version == EXPORT_VERSION;
    bool good = numbered && known && row_text_skip(&at, ",\"time_ms\":") &&
                row_text_integer(&at, &report->time_ms) &&
                row_text_skip(&at, ",\"software_version\":") && row_text_string(&at) &&
                row_text_skip(&at, ",\"kid\":") && (kid = row_text_string(&at)) &&
                row_text_skip(&at, ",\"x\":") && (x = row_text_string(&at)) &&
                proof_bytes_read(x, verify->signer, sizeof verify->signer) &&
                row_text_skip(&at, "}}") && *at == '\0';
    verify->reads_keys = version == EXPORT_VERSION;
    if (numbered && !known)
        verify_fault(verify, "", 0, "this program knows exports of versions 3 and 4 alone");
    else if (!good)
        verify_fault(verify, "", 0, NO_EXPORT);
    if (!good)
        return false;
    report->begun = true;
    verify->key.count = !verify->reads_keys;
    memcpy(verify->key.key[0], verify->signer, sizeof verify->signer);
    signing_key_id(verify->signer, report->key_id);
    if (strcmp(kid, report->key_id) != 0)
        verify_fault(verify, "", 0, "the key's id is not that of the key");
    return true;
}

/* The last line. The digest is that of the lines before it. */
static bool read_export_end(struct verify *verify, char *at)
{
    unsigned char digest[32], signature[crypto_sign_BYTES];
    char hex[65], text[EXPORT_SIGNED_SIZE];
    int64_t lines = 0;
    const char *said = NULL, *value = NULL;
    bool good = row_text_skip(&at, "{\"end\":{\"lines\":") && row_text_integer(&at, &lines) &&
                row_text_skip(&at, ",\"digest\":") && (said = row_text_string(&at)) &&
                row_text_skip(&at, ",\"signature\":") && (value = row_text_string(&at)) &&
                proof_bytes_read(value, signature, sizeof signature) && row_text_skip(&at, "}}") &&
                *at == '\0';
    if (!good) {
        verify_fault(verify, "", 0, "the last line cannot be read");
        return false;
    }
    crypto_generichash_final(&verify->digest, digest, sizeof digest);
    memcpy(verify->report->digest, digest, sizeof digest);
    sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
    int size = snprintf(text, sizeof text, EXPORT_SIGNED, (long long)lines, hex);
    if (strcmp(said, hex) != 0 || lines != verify->report->lines - 1)
        verify_fault(verify, "", 0, "the lines before it are not those that it counts");
    if (crypto_sign_verify_detached(signature, (const unsigned char *)text, (size_t)size,
                                    verify->signer) != 0)
        verify_fault(verify, "", 0, "its signature does not hold for the lines before it");
    return true;
}

/* ---- the lines between */

/* AT is a checkpoint and what is behind it. Nothing but the end follows. */
static bool read_checkpoint_line(struct verify *verify, char *at)
{
    const char *note = row_text_string(&at);
    if (!note || !row_text_skip(&at, "}") || *at != '\0')
        return false;
    const struct proof_keys *keys = &verify->key;
    const char *why = NULL; /* the newest key has signed it, and the one before */
    for (unsigned i = keys->count > 2 ? keys->count - 2 : 0; i < keys->count && !why; i++)
        why = tlog_checkpoint_read(note, strlen(note), keys->key[i], &verify->log);
    verify->has_checkpoint = true;
    if (why)
        verify_fault(verify, "", 0, why);
    return true;
}

/* Reads one line between the head and the end. False: it is none. */
static bool read_export_line(struct verify *verify, char *line, size_t size)
{
    char *at = line;
    if (verify->has_checkpoint)
        return false;
    if (verify->reads_keys && strncmp(line, "{\"key\":", 7) == 0)
        return verify_key_line(verify, line);
    if (verify->reads_keys)
        verify_keys_read(verify);
    if (!verify->in_tree && row_text_skip(&at, "{\"entry\":")) {
        struct ledger_entry entry;
        if (!verify->in_account || !row_text_read(&ledger_entries_table, &at, &entry))
            return false;
        verify_next_entry(verify, &entry);
        return row_text_skip(&at, "}") && *at == '\0';
    }
    if (!verify->in_tree && row_text_skip(&at, "{\"audit\":")) {
        verify_account_end(verify);
        verify->in_account = false;
        return line[size - 1] == '}' && verify_trail(verify, at, size - 1 - (size_t)(at - line));
    }
    if (!verify->in_tree && row_text_skip(&at, "{\"leaf\":")) {
        struct ledger_leaf leaf = {.number = -1};
        if (!(verify->in_account || verify->trail.number > 0) ||
            !row_text_read(&ledger_leaves_table, &at, &leaf))
            return false;
        verify_leaf(verify, &leaf);
        return row_text_skip(&at, "}") && *at == '\0';
    }
    if (row_text_skip(&at, "{\"checkpoint\":"))
        return read_checkpoint_line(verify, at);
    if (row_text_skip(&at, "{\"tile\":{\"number\":"))
        return verify_tile(verify, at);
    if (row_text_skip(&at, "{\"subtree\":{\"level\":"))
        return verify_subtree(verify, at);
    if (verify->trail.number > 0 || verify->in_tree)
        return false;
    if (row_text_skip(&at, "{\"account\":")) {
        struct ledger_account account = {.id = ""};
        if (!row_text_read(&ledger_accounts_table, &at, &account))
            return false;
        verify_account_end(verify);
        verify_account(verify, &account);
        return row_text_skip(&at, "}") && *at == '\0';
    }
    if (verify->in_account || !row_text_skip(&at, "{\"certificate\":"))
        return false;
    verify_certificate(verify, at, size - (size_t)(at - line));
    return true;
}

/* ---- the stream */

static const char *const line_faults[] = {
    [LINE_READ] = "",
    [LINE_END] = "the export ends before its last line: it was cut off",
    [LINE_CUT] = "the export ends within a line: it was cut off",
    [LINE_TOO_LONG] = "the line is longer than a line of an export",
    [LINE_FAILED] = "the file cannot be read",
};

/* Whether the first line, of which a part was read, is that of an export. */
static bool begins_as_export(const struct line_reader *lines)
{
    static const char begin[] = "{\"export\":";
    size_t size = lines->bytes.size < sizeof begin - 1 ? lines->bytes.size : sizeof begin - 1;
    return size > 0 && memcmp(lines->bytes.bytes, begin, size) == 0;
}

/* Reads the next line into *OUT without its newline. False: there is none, and a fault says why. */
static bool next_export_line(struct verify *verify, struct line_reader *lines, char **out,
                             size_t *out_size)
{
    enum line_status status = line_read(lines, out, out_size);
    if (status != LINE_READ) {
        bool none = verify->report->lines == 0 && !begins_as_export(lines);
        verify_fault(verify, "", 0, none ? NO_EXPORT : line_faults[status]);
        return false;
    }
    verify->report->lines++;
    if (strncmp(*out, "{\"end\":", 7) != 0)
        crypto_generichash_update(&verify->digest, (unsigned char *)*out, *out_size);
    (*out)[--*out_size] = '\0';
    const char *why = NULL;
    if (strlen(*out) != *out_size)
        why = "the line has a zero byte";
    else if (strncmp(*out, "\xef\xbb\xbf", 3) == 0)
        why = "it begins with a byte order mark: something has changed the file";
    else if (*out_size > 0 && (*out)[*out_size - 1] == '\r')
        why = "its lines end with CRLF, not as they were written: something has changed the file";
    if (why)
        verify_fault(verify, "", 0, why);
    return !why;
}

static void read_export(struct verify *verify, struct line_reader *lines)
{
    char *line = NULL;
    size_t size = 0;
    if (!next_export_line(verify, lines, &line, &size) || !read_export_head(verify, line))
        return;
    for (;;) {
        if (!next_export_line(verify, lines, &line, &size))
            return;
        if (strncmp(line, "{\"end\":", 7) == 0)
            break;
        if (!read_export_line(verify, line, size)) {
            verify_fault(verify, verify->claimed.id, 0,
                         "the line cannot be read; nothing behind it was checked");
            return;
        }
    }
    verify_account_end(verify);
    verify_accounts_end(verify);
    verify_certificates_end(verify);
    verify_stated_payers(verify);
    verify_shares_end(verify);
    verify_covered_end(verify);
    verify_rotations_end(verify);
    verify_receipt_end(verify);
    verify_log_end(verify);
    if (!read_export_end(verify, line))
        return;
    enum line_status status = line_read(lines, &line, &size);
    if (status != LINE_END)
        verify_fault(verify, "", 0, "there are lines behind the last one");
}

struct verify *export_verify_new(void)
{
    struct verify *verify = memory_new_aligned(_Alignof(struct verify), sizeof *verify);
    verify->prices = verify_prices_new();
    return verify;
}

static void free_lists(struct verify *verify)
{
    free(verify->anchors.items);
    free(verify->holds.items);
    free(verify->purposes.items);
    free(verify->hold_names.items);
    free(verify->shares.items);
    free(verify->aside.items);
    free(verify->certified.items);
    free(verify->paid.items);
    free(verify->payers.items);
    free(verify->paying.items);
    free(verify->rotations.items);
    free(verify->stated.items);
    free(verify->marks.items);
    free(verify->erasures.items);
    free(verify->demanded.items);
    free(verify->restored_before.items);
    free(verify->leaves.items);
    free(verify->claims.items);
}

/* What one export leaves to the next: its certificates, the heads of its accounts, and its log. */
static void begin_export(struct verify *verify, struct verify_report *report)
{
    struct verify clean = {.prices = verify->prices,
                           .anchors = verify->heads,
                           .demanded = verify->certificates,
                           .restored_before = verify->restored,
                           .earlier = verify->log,
                           .trail_before = {.number = verify->trail.number},
                           .kept = verify->kept,
                           .receipt = verify->receipt};
    memcpy(clean.signer_before, verify->signer, sizeof clean.signer_before);
    memcpy(clean.trail_before.hash, verify->trail.hash, sizeof clean.trail_before.hash);
    free_lists(verify);
    *verify = clean;
    *report = (struct verify_report){.lines = 0};
    verify->report = report;
    crypto_generichash_init(&verify->digest, NULL, 0, 32);
}

void export_verify_free(struct verify *verify)
{
    if (!verify)
        return;
    free_lists(verify);
    free(verify->heads.items);
    free(verify->certificates.items);
    free(verify->restored.items);
    free(verify->prices);
    free(verify);
}

void export_verify_expect(struct verify *verify, const struct tlog_checkpoint *kept)
{
    verify->kept = *kept;
}

void export_verify_receipt(struct verify *verify, const struct certificate_facts *receipt)
{
    verify->receipt = *receipt;
}

void export_verify(struct verify *verify, struct byte_reader reader, const struct proof_keys *keys,
                   struct verify_report *out)
{
    struct line_reader lines = {.reader = reader};
    begin_export(verify, out);
    read_export(verify, &lines);
    out->asked = keys;
    if (keys && out->begun)
        verify_keys_trusted(verify, keys);
    bool goes_on = sodium_is_zero(verify->signer_before, sizeof verify->signer_before) ||
                   proof_keys_have(&verify->key, verify->signer_before);
    if (out->begun && ((keys && !out->trusted) || !goes_on))
        verify_fault(verify, "", 0, "it is signed with the key of another service");
    buffer_clear(&lines.bytes);
}
