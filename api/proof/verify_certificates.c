/* Certificates: each is genuine; those of an earlier export are all there, byte for byte; and what
 * the audit trail says was released has one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/proof/verify_state.h"

/* ---- an earlier export */

/* The earlier export's certificate ID, or NULL. Those that it has before ID are missing here; with
 * ID NULL all that are left. */
static const struct known_certificate *next_demanded(struct verify *verify, const char *id)
{
    const struct known_certificate *demanded = verify->demanded.items;
    while (verify->next_demanded < verify->demanded.count) {
        const struct known_certificate *next = &demanded[verify->next_demanded];
        int order = id ? strcmp(next->id, id) : -1;
        if (order > 0)
            return NULL;
        verify->next_demanded++;
        if (order == 0)
            return next;
        verify_fault(verify, next->id, 0, "the earlier export has this certificate; it is missing");
    }
    return NULL;
}

/* Notes the certificate ID, and compares it with the earlier one. */
static void meet_demanded(struct verify *verify, const char *id, const char *text, size_t size)
{
    struct known_certificate *known = verify_list_add(&verify->certificates, sizeof *known);
    memcpy(known->id, id, ID_SIZE);
    crypto_generichash(known->hash, sizeof known->hash, (const unsigned char *)text, size, NULL, 0);
    const struct known_certificate *before = next_demanded(verify, id);
    if (before && memcmp(before->hash, known->hash, sizeof known->hash) != 0)
        verify_fault(verify, id, 0, "the earlier export has another certificate of this id");
}

/* ---- a certificate */

void verify_certificate(struct verify *verify, char *text, size_t size)
{
    struct certificate_facts facts;
    if (size == 0 || text[size - 1] != '}') {
        verify_fault(verify, "", 0, "the line cannot be read");
        return;
    }
    const char *why = proof_certificate(text, size - 1, &verify->key, &facts);
    verify->report->certificates++;
    if (why)
        verify_fault(verify, facts.id, 0, why);
    else if (!facts.canonical)
        verify_fault(verify, facts.id, 0, "the certificate is not laid out as it was signed");
    if (strcmp(facts.id, verify->last_certificate) <= 0)
        verify_fault(verify, facts.id, 0, "the certificates are not in the order of their ids");
    memcpy(verify->last_certificate, facts.id, ID_SIZE);
    meet_demanded(verify, facts.id, text, size - 1);
    struct known_id *about = verify_list_add(&verify->certified, sizeof *about);
    memcpy(about->id, facts.subject, ID_SIZE);
    memcpy(about->of, facts.figures.job, ID_SIZE);
    verify_stated(verify, &facts);
    if (facts.proven)
        verify_claim(verify, facts.id, &facts.log);
    if (facts.entries < 1 || facts.account[0] == '\0')
        return;
    struct anchor *anchor = verify_list_add(&verify->anchors, sizeof *anchor);
    memcpy(anchor->account, facts.account, ID_SIZE);
    memcpy(anchor->from, facts.id, ID_SIZE);
    memcpy(anchor->hash, facts.head, LEDGER_HASH_SIZE);
    anchor->sequence = facts.entries;
}

/* ---- what was released
 *
 * A teacher and a released function always have a certificate. A policy has one unless it was
 * trained without a mechanism; then its job has held nothing, and settles nothing. What a job gave
 * has the certificate of that job, and no second one. */

void verify_job_paid(struct verify *verify, const struct ledger_entry *entry)
{
    size_t size = strlen(entry->resource);
    if (entry->kind != LEDGER_ENTRY_SETTLE || size >= ID_SIZE ||
        (entry->spent_units == 0 && entry->spent_delta == 0))
        return;
    struct known_id *paid = verify_list_add(&verify->paid, sizeof *paid);
    memcpy(paid->id, entry->resource, size);
}

static int compare_ids(const void *a, const void *b)
{
    return strcmp(((const struct known_id *)a)->id, ((const struct known_id *)b)->id);
}

void verify_known_sort(struct verify_list *list)
{
    if (list->count > 0)
        qsort(list->items, list->count, sizeof(struct known_id), compare_ids);
}

static int compare_with_id(const void *id, const void *item)
{
    return strcmp(id, ((const struct known_id *)item)->id);
}

const struct known_id *verify_known(const struct verify_list *list, const char *id)
{
    if (list->count == 0)
        return NULL;
    return bsearch(id, list->items, list->count, sizeof(struct known_id), compare_with_id);
}

void verify_released(struct verify *verify, const struct trail_row *row)
{
    if (verify->trail.number == 0) {
        verify_known_sort(&verify->certified);
        verify_known_sort(&verify->paid);
    }
    bool teacher = strcmp(row->action, "POST /v1/teachers") == 0;
    if ((!teacher && strcmp(row->action, "release") != 0) || strcmp(row->outcome, "ok") != 0)
        return;
    const char *released = teacher ? row->resource : row->subject;
    const char *job = teacher ? "" : row->resource;
    const struct known_id *about = verify_known(&verify->certified, released);
    if (about && strcmp(about->of, job) != 0)
        verify_fault(verify, released, 0, "its certificate names another job than the audit trail");
    if (!about && (verify_known(&verify->paid, job) || strncmp(released, "pol_", 4) != 0))
        verify_fault(verify, released, 0,
                     "it was released, as the audit trail says, and has no certificate");
}

void verify_certificates_end(struct verify *verify)
{
    const struct known_id *about = verify->certified.items;
    (void)next_demanded(verify, NULL);
    verify_known_sort(&verify->certified);
    for (size_t i = 1; i < verify->certified.count; i++)
        if (about[i].id[0] != '\0' && strcmp(about[i - 1].id, about[i].id) == 0)
            verify_fault(verify, about[i].id, 0, "two certificates are about it");
}
