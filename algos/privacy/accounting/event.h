/* What a program did to the data, as a tree in the shape of dp_accounting's DpEvent (Google's
 * differential-privacy library): the ledger keeps it, the accountants read its flat form. */
#ifndef TACET_ALGOS_PRIVACY_ACCOUNTING_EVENT_H
#define TACET_ALGOS_PRIVACY_ACCOUNTING_EVENT_H

#include "algos/privacy/laws/mechanism.h"

enum event_kind {
    EVENT_NO_OP,           /* touches no data */
    EVENT_MECHANISM,       /* a leaf; a Gaussian leaf has sampling_rate 1 */
    EVENT_POISSON_SAMPLED, /* one child, seen through a Poisson sample */
    EVENT_SELF_COMPOSED,   /* one child, count times */
    EVENT_COMPOSED,        /* any number of children, in order */
    EVENT_NON_PRIVATE,     /* a release without any guarantee */
};

struct event {
    enum event_kind kind;
    struct mechanism mechanism; /* of a leaf */
    double sampling_rate;       /* of EVENT_POISSON_SAMPLED, in (0, 1] */
    uint64_t times;             /* of EVENT_SELF_COMPOSED, >= 1 */
    struct event *child;        /* child_count of them, owned */
    size_t child_count;
};

#define EVENT_MAX_DEPTH 32

/* Frees what EVENT owns; it is then empty. */
void event_clear(struct event *event);

enum event_status {
    EVENT_OK,
    EVENT_EMPTY,       /* a tree without leaves: nothing private happened */
    EVENT_BAD,         /* a parameter out of range; *out_problem says which */
    EVENT_UNSUPPORTED, /* a Poisson sample of a child that is not Gaussian; or a non-private leaf */
    EVENT_TOO_DEEP,
    EVENT_TOO_LONG,
};

/* The flat form: every leaf with the number of times it ran. Sampling a Gaussian gives a subsampled
 * Gaussian; sampling a composition of Gaussians is refused, as one sample drawn for several
 * mechanisms is not several samples. *OUT is cleared on failure; *out_problem (may be NULL) gets a
 * sentence. */
enum event_status event_flatten(const struct event *event, struct composition *out,
                                const char **out_problem);

#endif
