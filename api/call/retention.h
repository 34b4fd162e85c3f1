/* How long answers are kept. A key that names a time (storage/answers/key_date.h) is refused once
 * that time is over, whether or not its answer is still there: the refusal depends on the key and
 * the clock alone. */
#ifndef TACET_API_CALL_RETENTION_H
#define TACET_API_CALL_RETENTION_H

#include "api/call/call.h"

struct app;

/* The time from which answers are kept when the clock shows NOW_MS: what the settings say, or what
 * was removed before. 0: for ever. */
int64_t retention_at(const struct app *app, int64_t now_ms);

/* The same as CALL sees it: a key that names an earlier time is refused. Within a writing
 * transaction no answer of this time or later was removed, and none will be before its end. */
int64_t retention_from(const struct call *call);

/* Refuses KEY when the time that it names is over. */
enum problem retention_check(struct call *call, const char *key);

/* Refuses KEY, which has no stored answer: where answers are not kept for ever, or the service has
 * marks, when it names a time that lies ahead of the clock by more than ANSWERS_EARLY_MS; where the
 * route asks for a time, when it names none; after a restore, when it may have been answered in the
 * life that was lost. What was stored before the clock went back is so given again. */
enum problem retention_check_new(struct call *call, const char *key);

#endif
