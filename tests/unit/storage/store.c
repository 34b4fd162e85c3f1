/* The store of the test that runs. */
#include "tests/unit/storage/store.h"

#include "tests/unit/storage/failing_driver.h"

struct fixture f;

void store_open(void)
{
    fixture_open(&f, &db_driver_sqlite);
}

void store_open_failing(void)
{
    failing_arm(0, DB_OK, false);
    fixture_open(&f, &failing_driver);
}

void store_close(void)
{
    fixture_close(&f);
}

void check_after(void)
{
    fixture_audit(f.db);
}
