/* The receipt of an erasure is the service's word that it erased. Its digest is the subject of the
 * erasure's row of the audit trail, and so is in the log. A repeated call gives the same receipt.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/json/text.h"
#include "api/proof/verify_state.h"

#define SLACK_MS 10000 /* a clock may be put right between the two */

/* Notes the digest that the erasure's ROW has; rows of older versions have none. */
static void note_erasure(struct verify *verify, const struct trail_row *row)
{
    unsigned char hash[LEDGER_HASH_SIZE];
    size_t size = 0;
    if (sodium_hex2bin(hash, sizeof hash, row->subject, strlen(row->subject), NULL, &size, NULL) !=
            0 ||
        size != sizeof hash)
        return;
    struct known_hash *known = verify_list_add(&verify->erasures, sizeof *known);
    memcpy(known->hash, hash, sizeof hash);
}

/* The receipt that is asked for is in ROW. An erasure's row is as old as its receipt, and a
 * repeat's is younger. */
static void meet_receipt(struct verify *verify, const struct trail_row *row)
{
    struct verify_report *report = verify->report;
    int64_t receipt_ms;
    char what[160];
    if (report->receipts++ > 0)
        return;
    report->receipt = row->number;
    trail_time(row->time_ms, report->receipt_time, sizeof report->receipt_time);
    snprintf(report->receipt_by, sizeof report->receipt_by, "%s", row->client);
    text_clean(report->receipt_by, '?');
    if (proof_time_read(verify->receipt.erased_at, &receipt_ms) &&
        row->time_ms >= receipt_ms - SLACK_MS)
        return;
    snprintf(what, sizeof what, "row %lld of the audit trail is of %s, before the receipt's %s",
             (long long)row->number, report->receipt_time, verify->receipt.erased_at);
    verify_fault(verify, verify->receipt.figures.dataset, 0, what);
}

void verify_receipt_row(struct verify *verify, const struct trail_row *row)
{
    static const char erasure[] = "DELETE /v1/datasets/{id}"; /* of a dataset or of an expert */
    const struct certificate_facts *receipt = &verify->receipt;
    if (strncmp(row->action, erasure, sizeof erasure - 1) != 0 || strcmp(row->outcome, "ok") != 0)
        return;
    verify->report->erased++;
    note_erasure(verify, row);
    if (receipt->digest[0] == '\0' || strcmp(row->resource, receipt->figures.dataset) != 0)
        return;
    if (strcmp(row->subject, receipt->digest) == 0)
        meet_receipt(verify, row);
    verify->old_erasure = verify->old_erasure || row->subject[0] == '\0';
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
