/* Shared helpers; see the header. */
#include "tests/unit/privacy/plans.h"

#include <criterion/criterion.h>
#include <math.h>

struct mechanism plan_gaussian(double rate, double noise)
{
    return (struct mechanism){.kind = MECHANISM_SUBSAMPLED_GAUSSIAN, .gaussian = {rate, noise}};
}

struct mechanism plan_pair(double epsilon, double delta)
{
    return (struct mechanism){.kind = MECHANISM_EPSILON_DELTA, .pair = {epsilon, delta}};
}

struct mechanism plan_laplace(double noise)
{
    return (struct mechanism){.kind = MECHANISM_LAPLACE, .laplace = {noise}};
}

struct mechanism plan_response(double noise, uint32_t buckets)
{
    return (struct mechanism){.kind = MECHANISM_RANDOMIZED_RESPONSE, .response = {noise, buckets}};
}

void plan_add(struct composition *composition, struct mechanism mechanism, uint64_t times)
{
    cr_assert_eq(composition_add(composition, &mechanism, times), COMPOSITION_OK);
}

struct privacy_interval plan_price(const struct accountant *accountant, struct mechanism mechanism,
                                   uint64_t times, double delta)
{
    struct composition composition = {0};
    struct privacy_interval out = {NAN, NAN};
    plan_add(&composition, mechanism, times);
    enum accountant_status status = accountant_epsilon(accountant, &composition, delta, &out);
    composition_clear(&composition);
    if (status == ACCOUNTANT_OUT_OF_REACH)
        return (struct privacy_interval){0.0, INFINITY};
    cr_assert_eq(status, ACCOUNTANT_OK, "%s", accountant->name);
    return out;
}
