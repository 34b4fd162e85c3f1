/* The privacy cost of a list of events. Every client may ask; nothing is stored. */
#ifndef TACET_API_BOOKS_ACCOUNTING_H
#define TACET_API_BOOKS_ACCOUNTING_H

#include "api/call/call.h"

/* Most different mechanisms of one request. Realistic plans then take tens of milliseconds. The
 * slowest of some thousand random plans, with noise too small to protect, took 3 s of processor
 * time. */
#define ACCOUNTING_MAX_MECHANISMS 16

/* POST /v1/accounting:compose */
enum problem api_accounting_compose(struct call *call);

#endif
