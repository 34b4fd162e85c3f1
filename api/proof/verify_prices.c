#include "api/proof/verify_prices.h"

#include <math.h>
#include <sodium.h>
#include <string.h>

#include "algos/privacy/accounting/accountant_renyi.h"
#include "algos/privacy/accounting/privacy_report.h"
#include "api/call/budget_price.h"
#include "memory/memory.h"

#define PLACES (1U << 16) /* of the table; a price that meets another takes its place */
#define KEY    16

/* A price is rounded up to whole units for each use, and a noise multiplier is written with its
 * last bit rounded down: differences of that size are no fault. */
#define SLACK 1e-9

struct known_price {
    unsigned char key[KEY];
    enum price_verdict verdict; /* PRICE_FITS: the two amounts are the least */
    int64_t units, delta_units;
};

struct verify_prices {
    struct known_price known[PLACES];
};

struct verify_prices *verify_prices_new(void)
{
    return memory_new(1, sizeof(struct verify_prices));
}

/* ---- what an event costs */

static void price_by_renyi(double order, const struct composition *composition,
                           struct known_price *out)
{
    struct renyi_price price;
    if (!accountant_renyi_price(composition, order, &price) ||
        !ledger_units_down(price.divergence * (1 - SLACK), &out->units) ||
        !ledger_delta_down(price.delta * (1 - SLACK), &out->delta_units))
        out->verdict = PRICE_UNKNOWN;
}

/* The delta below which no epsilon is enough. */
static int64_t least_delta(const struct composition *composition)
{
    double none = 0; /* logarithm of the probability that no part shows everything */
    int64_t units = 0;
    bool noise = false;
    for (size_t i = 0; i < composition->count; i++) {
        const struct mechanism *mechanism = &composition->part[i].mechanism;
        if (mechanism->kind == MECHANISM_EPSILON_DELTA)
            none += (double)composition->part[i].times * log1p(-mechanism->pair.delta);
        noise = noise || mechanism->kind == MECHANISM_SUBSAMPLED_GAUSSIAN ||
                mechanism->kind == MECHANISM_DIRICHLET;
    }
    (void)ledger_delta_down(-expm1(none) * (1 - SLACK), &units);
    return units > 0 || !noise ? units : 1;
}

static void price_by_epsilon(int64_t delta_units, const struct composition *composition,
                             struct known_price *out)
{
    struct privacy_report report;
    int64_t most = 0;
    double delta = ledger_delta_value(delta_units > 0 ? delta_units : 1);
    const struct privacy_question question = {.for_delta = false, .at = delta};
    if (delta_units < least_delta(composition))
        out->verdict = PRICE_NEVER;
    else if (!(delta < 1) ||
             privacy_report_make(composition, &question, PRIVACY_QUICK, &report) != ACCOUNTANT_OK ||
             !ledger_units_down(fmax(report.figure.lower, 0) * (1 - SLACK), &out->units) ||
             !ledger_units_down(report.figure.upper, &most) || (out->units == 0 && most > 0))
        out->verdict = PRICE_UNKNOWN; /* a least price of nothing says nothing */
}

static void compute_price(double order, const char *event, int64_t delta_units,
                          struct known_price *out)
{
    struct composition composition = {0};
    out->verdict = PRICE_FITS;
    out->units = out->delta_units = 0;
    if (!budget_event_read(event, &composition))
        out->verdict = PRICE_NONE;
    else if (composition.count > 0 && order > 1)
        price_by_renyi(order, &composition, out);
    else if (composition.count > 0)
        price_by_epsilon(delta_units, &composition, out);
    composition_clear(&composition);
}

/* ---- the table */

static struct known_price *find_price(struct verify_prices *prices, double order, const char *event,
                                      int64_t delta_units)
{
    unsigned char key[KEY];
    uint32_t place;
    struct {
        double order;
        int64_t delta_units;
    } at = {order, order > 1 ? 0 : delta_units};
    crypto_generichash(key, KEY, (const unsigned char *)event, strlen(event),
                       (const unsigned char *)&at, sizeof at);
    memcpy(&place, key, sizeof place);
    struct known_price *known = &prices->known[place % PLACES];
    if (memcmp(known->key, key, KEY) != 0) {
        memcpy(known->key, key, KEY);
        compute_price(order, event, at.delta_units, known);
    }
    return known;
}

enum price_verdict verify_price(struct verify_prices *prices, double order, const char *event,
                                int64_t units, int64_t delta_units)
{
    const struct known_price *price = find_price(prices, order, event, delta_units);
    if (price->verdict == PRICE_FITS && (units < price->units || delta_units < price->delta_units))
        return PRICE_LOW;
    return price->verdict;
}
