/* The store of the test that runs: Test(x, y, .init = store_open, .fini = store_close). A file that
 * opens one in a way of its own keeps it in f, too. */
#ifndef TACET_TESTS_UNIT_STORAGE_STORE_H
#define TACET_TESTS_UNIT_STORAGE_STORE_H

#include "tests/unit/storage/fixture.h"

extern struct fixture f;

/* Over SQLite; over a driver that can be told to fail (failing_driver.h) and does not yet. */
void store_open(void);
void store_open_failing(void);
void store_close(void);

/* Of tests/checked_test.h: the auditor finds nothing. */
void check_after(void);

#endif
