/* Lines in a second, and what is said of those left out. The clock is an argument. */
#include <criterion/criterion.h>

#include "server/request_log.h"

#define SECOND 1000000

static unsigned admitted(struct log_meter *meter, unsigned asked, int64_t now_us)
{
    unsigned count = 0;
    for (unsigned i = 0; i < asked; i++)
        count += log_meter_admit(meter, now_us);
    return count;
}

Test(log_meter, a_second_has_its_lines_and_the_next_has_them_again)
{
    struct log_meter meter = {0};
    int64_t now = 12345;
    cr_expect_eq(log_meter_turn(&meter, now), 0);
    cr_expect_eq(admitted(&meter, LOG_METER_LINES, now), LOG_METER_LINES);
    cr_expect_eq(admitted(&meter, 7, now + SECOND - 1), 0);
    cr_expect_eq(log_meter_turn(&meter, now + SECOND - 1), 0);
    cr_expect_eq(log_meter_turn(&meter, now + SECOND), 7);
    cr_expect_eq(log_meter_turn(&meter, now + SECOND), 0, "it is said once");
    cr_expect_eq(admitted(&meter, 1000, now + SECOND), LOG_METER_LINES);
    cr_expect_eq(log_meter_end(&meter), 1000 - LOG_METER_LINES);
    cr_expect_eq(log_meter_end(&meter), 0);
}

Test(log_meter, a_few_lines_a_second_are_never_left_out)
{
    struct log_meter meter = {0};
    for (int64_t now = 0; now < 100 * SECOND; now += SECOND / 20) {
        cr_expect_eq(log_meter_turn(&meter, now), 0);
        cr_expect(log_meter_admit(&meter, now));
    }
}
