/* A fixture whose database can be made to fail at a call that is counted down to. */
#ifndef TACET_TESTS_UNIT_API_FAILING_DATABASE_H
#define TACET_TESTS_UNIT_API_FAILING_DATABASE_H

#include "tests/unit/api/fixture.h"

extern int database_calls_left;         /* to the one that fails; -1: none does */
extern unsigned database_calls_after;   /* that one */
extern bool database_breaks;            /* the connection is broken then, too */
extern bool database_stays;             /* every call fails from then on, while calls_left is 0 */
extern unsigned database_failures;      /* so many calls were made to fail */
extern enum db_status database_failure; /* what it gives */

/* Nothing fails yet. One at a time. */
struct fixture *fixture_open_failing(void);

#endif
