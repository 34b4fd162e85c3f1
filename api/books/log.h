/* The ledger's log (storage/ledger/ledger_log.h) as C2SP's tlog-tiles serves one, for auditors: its
 * size says how often accounts change, and its entries name accounts. A steward gets the proof of
 * an account of its own. All answers are text or bytes. */
#ifndef TACET_API_BOOKS_LOG_H
#define TACET_API_BOOKS_LOG_H

#include "api/call/call.h"

/* GET /v1/ledger/checkpoint */
enum problem api_log_checkpoint(struct call *call);

/* GET /v1/ledger/tile/{level}/{tile}; the level "entries" has the leaves themselves */
enum problem api_log_tile(struct call *call);

/* GET /v1/ledger/proofs/consistency?old=SIZE: what a witness takes that knows the tree of SIZE */
enum problem api_log_consistency(struct call *call);

/* GET /v1/ledger/accounts/{id}/proof */
enum problem api_log_proof(struct call *call);

#endif
