/* The receipt of an erasure is the service's word that it erased. Its digest is the subject of the
 * erasure's row of the audit trail, and so is in the log. A repeated call gives the same receipt.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/proof/verify_state.h"

#define SUBJECT  ",\"subject\":\""
#define SLACK_MS 10000 /* a clock may be put right between the two */

/* Notes the digest that the erasure's row TEXT has; rows of older versions have none. */
static void note_erasure(struct verify *verify, const char *text)
{
    unsigned char hash[LEDGER_HASH_SIZE];
    const char *at = strstr(text, SUBJECT);
    size_t size = 0;
    if (!at ||
        sodium_hex2bin(hash, sizeof hash, at + sizeof SUBJECT - 1, 2 * sizeof hash, NULL, &size,
                       NULL) != 0 ||
        size != sizeof hash)
        return;
    struct known_hash *known = verify_list_add(&verify->erasures, sizeof *known);
    memcpy(known->hash, hash, sizeof hash);
}

/* Copies the first member that begins with NAME, as "client":", of the row TEXT. */
static void receipt_word(const char *text, const char *name, char *out, size_t size)
{
    const char *at = strstr(text, name);
    at = at ? at + strlen(name) : "";
    snprintf(out, size, "%.*s", (int)strcspn(at, "\""), at);
}

/* The receipt that is asked for is in the row NUMBER, TEXT. An erasure's row is as old as its
 * receipt, and a repeat's is younger. */
static void meet_receipt(struct verify *verify, int64_t number, const char *text)
{
    struct verify_report *report = verify->report;
    int64_t row_ms, receipt_ms;
    char what[160];
    if (report->receipts++ > 0)
        return;
    report->receipt = number;
    receipt_word(text, "\"time\":\"", report->receipt_time, sizeof report->receipt_time);
    receipt_word(text, "\"client\":\"", report->receipt_by, sizeof report->receipt_by);
    if (proof_time_read(report->receipt_time, &row_ms) &&
        proof_time_read(verify->receipt.erased_at, &receipt_ms) && row_ms >= receipt_ms - SLACK_MS)
        return;
    snprintf(what, sizeof what, "row %lld of the audit trail is of %s, before the receipt's %s",
             (long long)number, report->receipt_time, verify->receipt.erased_at);
    verify_fault(verify, verify->receipt.figures.dataset, 0, what);
}

void verify_receipt_row(struct verify *verify, int64_t number, const char *text)
{
    const struct certificate_facts *receipt = &verify->receipt;
    char about[160];
    if (!strstr(text, "\"action\":\"DELETE /v1/datasets/{id}") ||
        !strstr(text, ",\"outcome\":\"ok\","))
        return;
    verify->report->erased++;
    note_erasure(verify, text);
    if (receipt->digest[0] == '\0')
        return;
    snprintf(about, sizeof about, ",\"resource\":\"%s\"" SUBJECT "%s\",", receipt->figures.dataset,
             receipt->digest);
    if (strstr(text, about))
        meet_receipt(verify, number, text);
    snprintf(about, sizeof about, ",\"resource\":\"%s\"" SUBJECT "\",", receipt->figures.dataset);
    verify->old_erasure = verify->old_erasure || strstr(text, about);
}

static int compare_erasures(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct known_hash));
}

static void count_repeats(struct verify *verify)
{
    const struct known_hash *known = verify->erasures.items;
    if (verify->erasures.count > 0)
        qsort(verify->erasures.items, verify->erasures.count, sizeof *known, compare_erasures);
    for (size_t i = 1; i < verify->erasures.count; i++)
        verify->report->repeated += compare_erasures(&known[i - 1], &known[i]) == 0;
}

/* Whether the export was made before the erasure of the receipt. */
static bool is_too_early(const struct verify *verify)
{
    time_t seconds = (time_t)(verify->report->time_ms / 1000);
    struct tm utc;
    char made[32] = "";
    if (gmtime_r(&seconds, &utc))
        strftime(made, sizeof made, "%Y-%m-%dT%H:%M:%S", &utc);
    return strncmp(verify->receipt.erased_at, made, strlen(made)) > 0;
}

void verify_receipt_end(struct verify *verify)
{
    const char *why = "no row of the audit trail has the receipt";
    count_repeats(verify);
    if (verify->receipt.digest[0] == '\0' || verify->report->receipt > 0)
        return;
    if (is_too_early(verify))
        why = "no row of the audit trail has the receipt: the export is older than the receipt";
    else if (verify->old_erasure)
        why = "no row of the audit trail has the receipt; one of an erasure of its dataset names "
              "none, as rows of older versions do";
    verify_fault(verify, verify->receipt.figures.dataset, 0, why);
}
