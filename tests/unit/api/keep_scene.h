/* A service that keeps answers for a time, under a clock that the test moves. */
#ifndef TACET_TESTS_UNIT_API_KEEP_SCENE_H
#define TACET_TESTS_UNIT_API_KEEP_SCENE_H

#include <stdatomic.h>
#include <stdint.h>

#include "tests/unit/api/service.h"

#define KEEP_DAYS      30
#define KEEP_HOUR_MS   INT64_C(3600000)
#define KEEP_DAY_MS    (24 * KEEP_HOUR_MS)
#define KEEP_BEGIN_MS  INT64_C(1800000000000) /* 2027-01-15 08:00 */
#define KEEP_STATE     "{\"state\":[0.01,-0.02,0.03,0.04]}"
#define KEEP_KEY_BYTES 48

#define KEEP_ANSWERS   "SELECT count(*) FROM answers"
#define KEEP_ENTRIES   "SELECT count(*) FROM ledger_entries"
#define KEEP_SPENT     "SELECT sum(spent_units) FROM ledger_accounts"

extern _Atomic int64_t keep_clock_ms;

/* Settings: answers are kept for KEEP_DAYS, or for ever, under the test's clock. */
void keep_days(struct api_settings *settings);
void keep_for_ever(struct api_settings *settings);

/* Opens a service with keep_days at KEEP_BEGIN_MS. */
void keep_open(void);

/* Writes the UUID of version 7 number N of the time MS. */
void keep_uuid(int64_t ms, unsigned n, char out[KEEP_KEY_BYTES]);

/* The path of a new teacher's questions, whose students have this much. */
const char *keep_teacher(double client_epsilon, const char *more);

/* The student asks PATH. */
struct response *keep_ask(const char *path, const char *key, const char *body);

/* The number that SQL gives. */
int64_t keep_number(const char *sql);

/* Removes answers and entries whose time is over. */
void keep_prune(void);

/* AGAIN is BODY, replayed. */
void keep_expect_replayed(const struct response *again, const char *body);

#endif
