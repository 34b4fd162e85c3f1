/* What certificates state, beside the ledger: a job's figures are those of its settlement, a
 * teacher's those of its account's opening, a student's those of a limit of its payer.
 *
 * An account that adds epsilons pays the very epsilon and delta of a plan, rounded up to whole
 * units. A Renyi account pays a divergence, and the deltas of the event's parts: there the stated
 * epsilon must not be below the certified lower bound of the event at the stated delta. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/proof/verify_state.h"

#define STATED_SLACK 1e-9 /* relative, and one unit: a figure is rounded up once */

/* ---- the certificate by itself */

static bool is_below(double a, double b)
{
    return a < b * (1 - STATED_SLACK);
}

static bool is_figure(double a, double b)
{
    return !is_below(a, b) && !is_below(b, a);
}

/* Whether A is B, or is not stated. */
static bool is_amount(const struct stated_amount *a, const struct stated_amount *b)
{
    return (isnan(a->epsilon) || is_figure(a->epsilon, b->epsilon)) &&
           (isnan(a->delta) || is_figure(a->delta, b->delta));
}

/* Whether A states less than B. */
static bool is_less(const struct stated_amount *a, const struct stated_amount *b)
{
    return is_below(a->epsilon, b->epsilon) || is_below(a->delta, b->delta);
}

void verify_stated(struct verify *verify, const struct certificate_facts *facts)
{
    const struct certificate_figures *figures = &facts->figures;
    struct stated *stated = verify_list_add(&verify->stated, sizeof *stated);
    const char *key = facts->account[0] != '\0' ? facts->account : figures->teacher;
    stated->figures = *figures;
    stated->entries = facts->entries > 0 ? facts->entries : 1; /* an older one does not say */
    stated->leaves = facts->proven ? facts->log.size : 0;
    stated->signer = facts->signer;
    stated->named = facts->account[0] != '\0';
    memcpy(stated->subject, facts->subject, ID_SIZE);
    memcpy(stated->id, facts->id, ID_SIZE);
    memcpy(stated->key, key, ID_SIZE);
    if (!(figures->privacy.epsilon >= 0 && figures->privacy.delta >= 0 &&
          figures->privacy.delta < 1))
        verify_fault(verify, facts->id, 0, "its figures are none of differential privacy");
    if (is_below(figures->privacy.epsilon, figures->epsilon_lower))
        verify_fault(verify, facts->id, 0, "its epsilon is below its own lower bound");
}

/* ---- those of an account */

static int compare_stated(const void *a, const void *b)
{
    const struct stated *x = a, *y = b;
    int order = strcmp(x->key, y->key);
    if (order != 0)
        return order;
    return strcmp(x->figures.job, y->figures.job);
}

/* The place of the first one that is not before KEY and JOB. */
static size_t stated_place(const struct verify *verify, const char *key, const char *job)
{
    const struct stated *stated = verify->stated.items;
    size_t low = 0, high = verify->stated.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(stated[middle].key, key);
        if (order == 0)
            order = strcmp(stated[middle].figures.job, job);
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The I-th one behind PLACE, or NULL when that one is not of KEY, and of JOB unless JOB is NULL. */
static struct stated *stated_at(const struct verify *verify, size_t place, const char *key,
                                const char *job)
{
    if (place >= verify->stated.count)
        return NULL;
    struct stated *stated = (struct stated *)verify->stated.items + place;
    bool same = strcmp(stated->key, key) == 0 && (!job || strcmp(stated->figures.job, job) == 0);
    return same ? stated : NULL;
}

/* Whether STATED is of the account in hand, of which a client pays for answers. */
static bool is_payers(const struct verify *verify, const struct stated *stated)
{
    return verify->claimed.kind != LEDGER_CLIENT ||
           strcmp(stated->figures.payer, verify->claimed.client) == 0;
}

void verify_stated_account(struct verify *verify)
{
    const struct ledger_account *row = &verify->claimed;
    const char *key = row->kind == LEDGER_CLIENT ? row->resource : row->id;
    if (verify->report->accounts == 1 && verify->stated.count > 0)
        qsort(verify->stated.items, verify->stated.count, sizeof(struct stated), compare_stated);
    if (row->kind == LEDGER_DATASET || row->kind == LEDGER_TEACHER) {
        struct known_id *payer = verify_list_add(&verify->payers, sizeof *payer);
        memcpy(payer->id, row->id, ID_SIZE);
        memcpy(payer->of, row->resource, ID_SIZE);
    }
    if (row->kind == LEDGER_DATASET)
        memcpy(((struct known_id *)verify_list_add(&verify->paying, sizeof(struct known_id)))->id,
               row->resource, ID_SIZE);
    size_t place = stated_place(verify, key, "");
    verify->stated_count = 0;
    verify->stated_of = stated_at(verify, place, key, NULL);
    while (stated_at(verify, place + verify->stated_count, key, NULL))
        verify->stated_count++;
}

/* ---- a limit */

/* A certificate's figures are read one after the other, so the greatest limit may be one that came
 * behind its entry. A student's guarantee is the greatest limit that its payer had had by then;
 * each is taken. */
static void meet_limit(struct stated *stated, const struct ledger_entry *entry, bool student)
{
    const struct certificate_figures *figures = &stated->figures;
    bool then = entry->sequence <= stated->entries;
    if (then)
        stated->limit = (struct stated_amount){entry->epsilon, entry->delta};
    stated->most.epsilon = fmax(stated->most.epsilon, entry->epsilon);
    stated->most.delta = fmax(stated->most.delta, entry->delta);
    stated->bounded = (!then && stated->bounded) || is_amount(&figures->greatest, &stated->most);
    if (student && is_amount(&figures->privacy, &stated->most))
        stated->settled = true;
}

/* ---- a settlement */

/* Whether UNITS are VALUE in UNIT, rounded up. */
static bool is_rounded(double value, double unit, int64_t units)
{
    double exact = value * unit;
    return fabs((double)units - exact) <= 1 + exact * STATED_SLACK;
}

/* Whether ENTRY, a job's settlement, paid for what FIGURES state. */
static bool settles_stated(struct verify *verify, const struct ledger_entry *entry,
                           const struct certificate_figures *figures)
{
    const struct stated_amount *privacy = &figures->privacy;
    int64_t units = 0, delta_units = 0;
    if (verify->claimed.renyi_order == 0)
        return is_rounded(privacy->epsilon, 1e9, entry->spent_units) &&
               is_rounded(privacy->delta, 1e18, entry->spent_delta);
    if (!ledger_units_up(privacy->epsilon, &units) ||
        !ledger_delta_up(privacy->delta, &delta_units) || delta_units < entry->spent_delta)
        return false;
    enum price_verdict verdict = verify_price(verify->prices, 0, entry->event, units, delta_units);
    return verdict != PRICE_LOW && verdict != PRICE_NEVER;
}

/* STATED has other figures than ENTRY, its job's settlement. */
static void blame_figures(struct verify *verify, const struct ledger_entry *entry,
                          const struct stated *stated)
{
    const struct stated_amount *privacy = &stated->figures.privacy;
    char what[160], paid[64] = "";
    if (verify->claimed.renyi_order == 0) /* or else it paid a divergence */
        snprintf(paid, sizeof paid, ", not %.9g and %.9g", (double)entry->spent_units / 1e9,
                 (double)entry->spent_delta / 1e18);
    snprintf(what, sizeof what,
             "it states other figures than its job has paid: epsilon %.9g and delta %.9g%s",
             privacy->epsilon, privacy->delta, paid);
    verify_fault(verify, stated->id, entry->sequence, what);
}

static void meet_settlement(struct verify *verify, const struct ledger_entry *entry)
{
    const char *key = verify->claimed.id, *job = entry->resource;
    struct stated *stated;
    unsigned policies = 0;
    for (size_t i = stated_place(verify, key, job); (stated = stated_at(verify, i, key, job));
         i++) {
        stated->settled = true;
        if (!settles_stated(verify, entry, &stated->figures))
            blame_figures(verify, entry, stated);
        if (strncmp(stated->subject, "pol_", 4) == 0 && ++policies > 1)
            verify_fault(verify, stated->id, entry->sequence, "another policy is of its job");
    }
}

/* A certificate is issued when its job holds its price. So a proof of an entry before that is none
 * that it had. */
static void meet_hold(struct verify *verify, const struct ledger_entry *entry)
{
    const char *key = verify->claimed.id, *job = entry->resource;
    struct stated *stated;
    for (size_t i = stated_place(verify, key, job); (stated = stated_at(verify, i, key, job)); i++)
        if (stated->entries < entry->sequence) {
            stated->entries = entry->sequence;
            stated->leaves = 0;
        }
}

void verify_stated_entry(struct verify *verify, const struct ledger_entry *entry)
{
    if (entry->kind == LEDGER_ENTRY_SETTLE)
        meet_settlement(verify, entry);
    if (entry->kind == LEDGER_ENTRY_HOLD)
        meet_hold(verify, entry);
    verify->report->raised +=
        entry->kind == LEDGER_ENTRY_LIMIT && (entry->limit_units > 0 || entry->limit_delta > 0);
    if (entry->kind != LEDGER_ENTRY_OPEN && entry->kind != LEDGER_ENTRY_LIMIT)
        return;
    for (size_t i = 0; i < verify->stated_count; i++)
        if (is_payers(verify, &verify->stated_of[i]))
            meet_limit(&verify->stated_of[i], entry, verify->claimed.kind == LEDGER_CLIENT);
}

/* ---- the account's end */

static const char OTHER_ACCOUNT[] = "the account that it names is for something else";

static bool is_of_teacher(const struct stated *stated)
{
    return strncmp(stated->subject, "tch_", 4) == 0;
}

/* Of a teacher: its certificate was issued when its account had its first entry. */
static const char *teacher_fault(const struct ledger_account *row, const struct stated *stated)
{
    const struct certificate_figures *figures = &stated->figures;
    if (!is_amount(&figures->privacy, &stated->limit))
        return "it states another epsilon or delta than its account was opened with";
    if (strcmp(figures->unit, row->unit) != 0)
        return "it states another unit of privacy than its account has";
    double order = isnan(figures->order) ? 0 : figures->order;
    return order == row->renyi_order ? NULL : "it states another order than its account has";
}

/* Of a job that the dataset's account paid for. */
static const char *job_fault(const struct ledger_account *row, const struct stated *stated)
{
    const struct certificate_figures *figures = &stated->figures;
    if (!stated->settled)
        return "its account has no settlement of its job";
    bool good = is_amount(&figures->limit, &stated->limit) && stated->bounded;
    /* An account that went on from another one counts the other's limits, too. */
    if (strncmp(row->resource, "acc_", 4) == 0)
        good = !is_less(&figures->limit, &stated->limit) &&
               !is_less(&figures->greatest, &stated->limit);
    return good ? NULL : "it states other limits than its account had";
}

/* A certificate without a proof is as old as the account's first leaf, which says how large the log
 * was at least. */
static const char *proof_fault(const struct verify *verify, struct stated *stated)
{
    const struct ledger_leaf *first = &verify->first_leaf;
    if (stated->leaves > 0 || first->sequence == 0)
        return NULL;
    if (stated->entries == first->sequence && !stated->figures.uncovered)
        stated->leaves = first->number + 1;
    return stated->entries > first->sequence ? "it has no proof that the log has its entry" : NULL;
}

void verify_stated_end(struct verify *verify)
{
    const struct ledger_account *row = &verify->claimed;
    bool dataset = row->kind == LEDGER_DATASET;
    if (!dataset && row->kind != LEDGER_TEACHER)
        return;
    for (size_t i = 0; i < verify->stated_count; i++) {
        struct stated *stated = &verify->stated_of[i];
        const char *why = (dataset ? job_fault : teacher_fault)(row, stated);
        if (is_of_teacher(stated) == dataset)
            why = OTHER_ACCOUNT;
        const char *unproven = proof_fault(verify, stated);
        if (why)
            verify_fault(verify, stated->id, 0, why);
        if (unproven)
            verify_fault(verify, stated->id, 0, unproven);
    }
}

/* ---- after the last account */

/* Whether the account that STATED names is that of its teacher or dataset. An account that
 * continues another one is of the same teacher or dataset. */
static const char *named_fault(const struct verify *verify, const struct stated *stated)
{
    const struct known_id *payer = verify_known(&verify->payers, stated->key), *before;
    if (!payer)
        return "the account that it names is no dataset's and no teacher's";
    for (size_t i = 0; i < verify->payers.count; i++, payer = before)
        if (!(before = verify_known(&verify->payers, payer->of)))
            break;
    bool same =
        strcmp(payer->of, is_of_teacher(stated) ? stated->subject : stated->figures.dataset) == 0;
    return same ? NULL : OTHER_ACCOUNT;
}

/* Why STATED, which names no account, cannot be without one. A student has its payer's. */
static const char *unnamed_fault(const struct verify *verify, const struct stated *stated)
{
    const struct certificate_figures *figures = &stated->figures;
    if (figures->job[0] == '\0' || is_of_teacher(stated))
        return "it names no account";
    if (verify_known(&verify->paid, figures->job))
        return "it names no account, and one has paid for its job";
    if (figures->teacher[0] == '\0' && verify_known(&verify->paying, figures->dataset))
        return "it names no account, and its dataset has one";
    bool silent = figures->privacy.epsilon == 0 && figures->privacy.delta == 0;
    return figures->teacher[0] == '\0' || silent || stated->settled
               ? NULL
               : "it states another guarantee than a limit of whom it was trained for";
}

void verify_stated_payers(struct verify *verify)
{
    const struct stated *stated = verify->stated.items;
    verify_known_sort(&verify->payers);
    verify_known_sort(&verify->paid);
    verify_known_sort(&verify->paying);
    for (size_t i = 0; i < verify->stated.count; i++) {
        const char *why = (stated[i].named ? named_fault : unnamed_fault)(verify, &stated[i]);
        if (why)
            verify_fault(verify, stated[i].id, 0, why);
    }
}
