/* Computes again what entries cost, from their events. */
#ifndef TACET_API_PROOF_VERIFY_PRICES_H
#define TACET_API_PROOF_VERIFY_PRICES_H

#include <stdint.h>

struct verify_prices;

/* Remembers prices, of which millions of entries have few. The caller frees it with free(). */
struct verify_prices *verify_prices_new(void);

enum price_verdict {
    PRICE_FITS,    /* it was paid, as far as the accountants can tell */
    PRICE_LOW,     /* it costs more than was paid */
    PRICE_NEVER,   /* no epsilon is enough for it at the delta that was paid */
    PRICE_UNKNOWN, /* the accountants reach no figure, or only 0, in about a second */
    PRICE_NONE,    /* it is no event that has a price */
};

/* Whether an account of ORDER that paid UNITS and DELTA_UNITS paid for EVENT. A Renyi account
 * (ORDER above 1) has to have paid the divergence of the event and the deltas of its parts. One
 * that adds epsilons has to have paid at least the certified lower bound of the event's epsilon at
 * the delta that it paid: what is below is too little whichever accountant is asked. */
enum price_verdict verify_price(struct verify_prices *prices, double order, const char *event,
                                int64_t units, int64_t delta_units);

#endif
