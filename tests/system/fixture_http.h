/* The fixture of the api's tests (tests/unit/api/fixture.h) on a real server, whose system calls
 * can be made to fail. Time passes by itself, too; fixture_set_clock does nothing. */
#ifndef TACET_TESTS_SYSTEM_FIXTURE_HTTP_H
#define TACET_TESTS_SYSTEM_FIXTURE_HTTP_H

#include "tests/failing_system.h"
#include "tests/unit/api/fixture.h"

enum { LEASE_OVER_MS = 1000000 };

/* Starts a server. One at a time. */
struct fixture *fixture_open_http(void);

/* The N-th of the CALLs from now on fails with ERROR, and all later ones if it STAYS so. IN_JOBS:
 * those of the threads that run jobs alone. */
void fixture_fail(enum failing_call call, int error, bool stays, bool in_jobs, unsigned n);

/* True: a call has failed, and later ones may. */
bool fixture_has_failed(void);

/* Nothing fails from now on: how many calls have. */
unsigned fixture_failed(void);

/* True, if the server has ended since; then it runs again. It has WAIT_MS for its end. *OUT_CODE:
 * its exit code, or 1000 plus a signal. */
bool fixture_revive(struct fixture *fixture, unsigned wait_ms, int *out_code);

/* Ends the connection. The next request makes another one. */
void fixture_reconnect(struct fixture *fixture);

/* A socket of its own, connected to the server. */
int fixture_connect(const struct fixture *fixture);

#endif
