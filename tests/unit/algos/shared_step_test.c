/* A step that several threads share has the bits of one that a thread does alone. */
#include <criterion/criterion.h>
#include <pthread.h>

#include "algos/privacy/noise/noise_source.h"
#include "tests/unit/algos/offline_kit.h"

enum { EXPERTS = 400, MOST = 256 };

struct item {
    void (*work)(void *what, uint32_t i);
    void *what;
    uint32_t i;
};

static void *do_item(void *context)
{
    const struct item *item = context;
    item->work(item->what, item->i);
    return NULL;
}

/* A thread for each item, the last one first. */
static void on_many_threads(void *context, void (*work)(void *what, uint32_t i), void *what,
                            uint32_t count)
{
    struct item items[MOST];
    pthread_t threads[MOST];
    unsigned *shared = context;
    cr_assert_leq(count, MOST);
    for (uint32_t i = 0; i < count; i++) {
        items[i] = (struct item){work, what, count - 1 - i};
        cr_assert_eq(pthread_create(&threads[i], NULL, do_item, &items[i]), 0);
    }
    for (uint32_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    *shared += count > 1;
}

static struct policy *train(const struct kit *kit, const struct dataset *data, unsigned *shared)
{
    const uint8_t key[32] = {11};
    struct noise_source *noise = noise_source_new_injected(key);
    struct algorithm_run run = {
        .request = &kit->request, .plan = &kit->plan, .data = data, .noise = noise};
    struct policy *policy = NULL;
    const char *message = NULL;
    run.hooks.context = shared;
    run.hooks.parallel = shared ? on_many_threads : NULL;
    cr_assert_eq(kit->algorithm->train(&run, &policy, &message), ALGORITHM_OK, "%s", message);
    noise_source_free(noise);
    return policy;
}

/* Batches of less than a chunk, of some chunks, and of groups. */
static void expect_same(const char *algorithm, enum algorithm_mechanism mechanism, double exact)
{
    static const double batches[][2] = {{128, 1}, {300, 1}, {60, 6}, {32, 1}, {4, 64}};
    struct dataset *data = kit_data(EXPERTS, 4);
    for (size_t b = 0; b < sizeof batches / sizeof batches[0]; b++) {
        struct kit kit;
        unsigned shared = 0;
        kit_init(&kit, algorithm, mechanism, EXPERTS);
        int hidden =
            parameters_index(kit.algorithm->parameters, kit.algorithm->parameter_count, "hidden");
        cr_assert_geq(hidden, 0);
        kit.request.parameters.value[hidden] = (struct parameter_value){{256, 256}, 2};
        kit_set(&kit, "steps", 3);
        kit_set(&kit, "batch_size", batches[b][0]);
        if (mechanism == MECHANISM_DPSGD) {
            kit_set(&kit, "arithmetic", exact);
            kit_set(&kit, "transitions_per_expert", batches[b][1]);
        }
        kit_plan(&kit);
        struct policy *alone = train(&kit, data, NULL), *many = train(&kit, data, &shared);
        cr_expect_arr_eq(alone->parameters, many->parameters,
                         kit.plan.parameter_count * sizeof *alone->parameters, "%s, batch %g of %g",
                         algorithm, batches[b][0], batches[b][1]);
        /* Four rows of one transition are too few to share. */
        bool few = mechanism == MECHANISM_NONE && batches[b][0] < 16;
        cr_expect(few ? shared == 0 : shared >= 3, "every step was shared");
        policy_free(alone);
        policy_free(many);
    }
    dataset_free(data);
}

Test(shared_step, has_the_bits_of_one_thread_in_exact_arithmetic)
{
    expect_same("cql", MECHANISM_DPSGD, 1);
    expect_same("bcq", MECHANISM_DPSGD, 1);
    expect_same("behaviour_cloning", MECHANISM_DPSGD, 1);
}

Test(shared_step, has_the_bits_of_one_thread_in_float)
{
    expect_same("cql", MECHANISM_DPSGD, 0);
    expect_same("bcq", MECHANISM_DPSGD, 0);
}

Test(shared_step, has_the_bits_of_one_thread_without_a_mechanism)
{
    expect_same("cql", MECHANISM_NONE, 0);
    expect_same("behaviour_cloning", MECHANISM_NONE, 0);
}
