/* What a list of events costs, for whoever asks: stateless. */
#ifndef TACET_API_BOOKS_ACCOUNTING_H
#define TACET_API_BOOKS_ACCOUNTING_H

#include "api/call/call.h"

/* Different mechanisms of one request. Plans that somebody would run then take tens of
 * milliseconds; the longest of some thousand random ones, with noise that protects nothing, took 3
 * s of processor time. */
#define ACCOUNTING_MAX_MECHANISMS 16

/* POST /v1/accounting:compose */
enum problem api_accounting_compose(struct call *call);

#endif
