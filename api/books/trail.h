/* The audit trail (storage/ledger/trail.h), for auditors and admins. */
#ifndef TACET_API_BOOKS_TRAIL_H
#define TACET_API_BOOKS_TRAIL_H

#include "api/call/call.h"

/* GET /v1/audit?resource=&client=&since=&until=&after=NUMBER, in pages; with Accept:
 * application/x-ndjson the rows alone, each as the text whose hash the ledger's log has. */
enum problem api_trail_list(struct call *call);

#endif
