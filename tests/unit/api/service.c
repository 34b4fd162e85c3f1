/* The service of the test that runs. */
#include "tests/unit/api/service.h"

struct fixture *f;

void service_open(void)
{
    f = fixture_open();
}

void service_close(void)
{
    fixture_close(f);
}

void check_after(void)
{
    domain_expect_whole_ledger(f);
}
