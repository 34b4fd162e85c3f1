/* Requests a second, by a clock of the test's own. */
#include "server/rates.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "memory/memory.h"

#define SECOND_US ((int64_t)1000000)

static struct rates *new_rates(unsigned most)
{
    struct rates *rates = memory_new(1, sizeof *rates);
    rates_init(rates, "client", most);
    return rates;
}

/* How many of COUNT requests of OWNER, all at NOW_US, are within its rate. */
static unsigned ask_at(struct rates *rates, uint64_t owner, int64_t now_us, unsigned count)
{
    unsigned within = 0, left;
    for (unsigned i = 0; i < count; i++)
        within += rates_take(rates, owner, now_us, &left);
    return within;
}

Test(rates, one_greedy_client_of_64_takes_nothing_from_the_other_63)
{
    enum { CLIENTS = 64, MOST = 100, STEPS = 100, SECONDS = 20, GREEDY = 17 };
    struct rates *rates = new_rates(MOST);
    unsigned within[CLIENTS] = {0};
    for (int step = 0; step < STEPS * SECONDS; step++)
        for (unsigned i = 0; i < CLIENTS; i++)
            within[i] += ask_at(rates, 1000 + i, 5 + step * (SECOND_US / STEPS),
                                i == GREEDY ? 50 : MOST / STEPS);
    for (unsigned i = 0; i < CLIENTS; i++)
        if (i == GREEDY)
            cr_expect_eq(within[i], MOST + MOST * SECONDS - 1, "%u", within[i]);
        else
            cr_expect_eq(within[i], MOST * SECONDS, "%u", within[i]);
    free(rates);
}

Test(rates, a_bucket_holds_one_second)
{
    struct rates *rates = new_rates(3);
    unsigned left;
    cr_expect(rates_take(rates, 7, 100, &left));
    cr_expect_eq(left, 2);
    cr_expect_eq(ask_at(rates, 7, 100, 10), 2);
    cr_expect_not(rates_take(rates, 7, 100, &left));
    cr_expect_eq(left, 0);
    cr_expect_eq(ask_at(rates, 8, 100, 10), 3, "another's is another");
    cr_expect_eq(ask_at(rates, 7, 100 + SECOND_US / 2, 10), 1);
    cr_expect_eq(ask_at(rates, 7, 100 + 60 * SECOND_US, 10), 3, "and never more");
    free(rates);
}

Test(rates, without_a_limit_and_without_an_owner_everything_is_within)
{
    struct rates *rates = new_rates(0);
    cr_expect_eq(ask_at(rates, 7, 100, 1000), 1000);
    rates_init(rates, "client", 2);
    cr_expect_eq(ask_at(rates, 0, 100, 1000), 1000);
    rates_init(rates, "client", 1000000);
    cr_expect_eq(ask_at(rates, 7, 100, 1000), 1000);
    free(rates);
}

/* An owner whose bucket is nearly empty does not get a full one by the coming of others. */
Test(rates, a_full_table_forgets_those_who_asked_little)
{
    struct rates *rates = new_rates(10);
    cr_expect_eq(ask_at(rates, 1, 100, 20), 10);
    for (uint64_t owner = 2; owner < 100 * RATES_SETS * RATES_WAYS; owner++)
        ask_at(rates, owner, 100, 1);
    cr_expect_eq(ask_at(rates, 1, 100, 20), 0);
    free(rates);
}

Test(rates, headers_are_items_with_parameters)
{
    struct rates *rates = new_rates(1000000);
    char text[RATES_HEADER_BYTES];
    rates_header(rates, 17, text);
    cr_expect_str_eq(text, "\"client\";r=17;t=1");
    rates_policy_header(rates, text);
    cr_expect_str_eq(text, "\"client\";q=1000000;w=1");
    free(rates);
}
