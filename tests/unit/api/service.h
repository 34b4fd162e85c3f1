/* One service for each test of a suite: TestSuite(x, .init = service_open, .fini = service_close).
 * A file that opens one in a way of its own keeps it in f, too. */
#ifndef TACET_TESTS_UNIT_API_SERVICE_H
#define TACET_TESTS_UNIT_API_SERVICE_H

#include "tests/unit/api/domain.h"

extern struct fixture *f;

/* f = fixture_open(), and fixture_close(f). */
void service_open(void);
void service_close(void);

/* Of tests/checked_test.h: the ledger is whole. */
void check_after(void);

#endif
