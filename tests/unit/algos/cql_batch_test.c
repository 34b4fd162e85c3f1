/* The nominal batch that is not given: from public numbers, never more than there are experts. */
#include <criterion/criterion.h>

#include "algos/offline/cql.h"

static enum algorithm_status plan(uint32_t nominal_experts, double batch_size,
                                  struct algorithm_plan *out)
{
    struct algorithm_request request = {.mechanism = MECHANISM_DPSGD,
                                        .epsilon = 10,
                                        .delta = 1e-5,
                                        .discount = 0.99,
                                        .state_dim = 4,
                                        .action_count = 2,
                                        .nominal_experts = nominal_experts};
    parameters_defaults(cql_algorithm.parameters, cql_algorithm.parameter_count,
                        &request.parameters);
    int index =
        parameters_index(cql_algorithm.parameters, cql_algorithm.parameter_count, "batch_size");
    if (batch_size >= 0)
        request.parameters.value[index].number[0] = batch_size;
    const char *message = NULL;
    return cql_algorithm.plan(&request, out, &message);
}

Test(cql_batch, is_128_where_there_are_as_many_experts)
{
    struct algorithm_plan out;
    cr_assert_eq(plan(300, -1, &out), ALGORITHM_OK);
    cr_expect_eq(out.privacy.batch_size, 128);
    cr_expect_float_eq(out.privacy.sampling_rate, 128.0 / 300.0, 1e-15);
}

Test(cql_batch, is_everybody_where_there_are_fewer)
{
    struct algorithm_plan out;
    cr_assert_eq(plan(20, -1, &out), ALGORITHM_OK);
    cr_expect_eq(out.privacy.batch_size, 20);
    cr_expect_eq(out.privacy.sampling_rate, 1.0);
    cr_expect_leq(out.privacy.epsilon, 10.0);
}

Test(cql_batch, is_refused_above_the_number_of_experts)
{
    struct algorithm_plan out;
    cr_expect_eq(plan(20, 21, &out), ALGORITHM_BAD_INPUT);
    cr_expect_eq(plan(0, -1, &out), ALGORITHM_BAD_INPUT);
    cr_expect_eq(plan(20, 20, &out), ALGORITHM_OK);
}
