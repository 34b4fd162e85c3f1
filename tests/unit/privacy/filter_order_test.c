/* What a teacher's common account gains by counting at an order of its own. */
#include <criterion/criterion.h>
#include <math.h>

#include "algos/privacy/answers/filter.h"
#include "algos/privacy/laws/renyi.h"

/* So many clients have epsilon 4 each, and the account of all of them has epsilon 40. */
#define CLIENTS 25
#define CLIENT  4.0
#define COMMON  40.0
#define DELTA   1e-5

/* How many answers of RELEASE the common account pays for at ORDER. */
static int64_t common_answers(const struct filter_release *release, double order)
{
    struct filter account;
    struct filter_price price;
    cr_assert(filter_open(&account, order, COMMON, DELTA));
    cr_assert(filter_price(order, 0, release, 1, &price));
    return account.limit_units / price.units;
}

static double answers_formula(const struct filter_release *release, double order)
{
    return renyi_budget(order, COMMON, DELTA) / release->renyi(release->mechanism, order);
}

/* docs/teachers.md tells the numbers. */
Test(filter_order, a_common_account_pays_for_more_answers_at_its_own_order)
{
    struct dirichlet dirichlet = {2, 20.0, 0.1, 0.01};
    struct gaussian_simplex gaussian = {2, 0.1, 0.01};
    const struct filter_release releases[] = {filter_dirichlet(&dirichlet),
                                              filter_gaussian_simplex(&gaussian)};
    for (int i = 0; i < 2; i++) {
        const struct filter_release *release = &releases[i];
        int64_t most, each;
        double client = filter_best_order(release, CLIENT, DELTA, &each),
               own = filter_best_order(release, COMMON, DELTA, &most);
        cr_assert(own > 1.0 && own < client);
        int64_t before = common_answers(release, client), now = common_answers(release, own);
        cr_expect_eq(now, most);
        double ratio = (double)now / (double)before;
        cr_expect_gt(ratio, 1.0);
        cr_expect_float_eq(ratio, answers_formula(release, own) / answers_formula(release, client),
                           1e-3 * ratio);
        cr_expect(before < CLIENTS * each && CLIENTS * each < now,
                  "only at its own order every client gets its whole budget");
    }
}
