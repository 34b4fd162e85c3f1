/* One key, one answer: a repeat of a call gets the stored bytes and is not charged again.
 *
 * The fingerprint of a call is the keyed hash (commitment.h) of its method, path, query and body.
 * The answer is stored in the transaction that does the work, so that neither exists without the
 * other; only good answers are stored. */
#ifndef TACET_API_CALL_IDEMPOTENCY_H
#define TACET_API_CALL_IDEMPOTENCY_H

#include <stdbool.h>

#include "api/call/call.h"

/* Looks at the Idempotency-Key header, or with ROUTE_KEY_OR_ID at the parsed body: PROBLEM_NONE, or
 * the key is missing where the route needs one or malformed. *out_key is the key, NULL when there
 * is none or the route changes nothing. */
enum problem idempotency_key(struct call *call, const char **out_key);

/* Tells DB's open batch which key REQUEST has, so that the keys of all its requests are looked for
 * at once (answers_expect). */
void idempotency_expect(struct db *db, const struct api_request *request);

/* Begins the running hash of a streamed body; call_read adds to it. *OUT_STORED: an answer is
 * stored for KEY (NULL: none), and the body was read to its end, so that idempotency_replay may
 * follow. */
enum problem idempotency_begin_body(struct call *call, const char *key, bool *out_stored);

/* Answers from the store when KEY was used before: *out_replayed. PROBLEM_IDEMPOTENCY_KEY_REUSED
 * when it stood for another call. Refuses a key whose time is over (retention.h). */
enum problem idempotency_replay(struct call *call, const char *key, bool *out_replayed);

/* Stores the good answer that the call holds, within the caller's transaction. */
enum problem idempotency_store(struct call *call, const char *key);

#endif
