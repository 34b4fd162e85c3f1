/* Products on several threads at once: the single-threaded OpenBLAS shares its buffers among them
 * unless somebody locks. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

#include "algos/nn/matrix.h"
#include "envs/rng.h"
#include "tests/unit/nn/naive.h"

/* SIDE: of products that go to BLAS on every machine. */
enum { SIDE = 24, THREADS = 4, PRODUCTS = 100000 };

struct task {
    uint64_t stream;
    unsigned wrong;
};

static void *multiply(void *argument)
{
    struct task *task = argument;
    struct rng rng;
    rng_seed(&rng, 1, task->stream);
    float a[SIDE * SIDE], b[SIDE * SIDE], first[SIDE * SIDE], again[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++) {
        a[i] = (float)rng_normal(&rng);
        b[i] = (float)rng_normal(&rng);
    }
    memset(first, 0, sizeof first);
    matrix_transposed_times_add_naive(SIDE, SIDE, SIDE, a, b, first);
    for (int n = 0; n < PRODUCTS; n++) {
        matrix_transposed_times(SIDE, SIDE, SIDE, a, b, again, false);
        float worst = 0.0F;
        for (int i = 0; i < SIDE * SIDE; i++) {
            float d = again[i] - first[i];
            worst = d > worst ? d : -d > worst ? -d : worst;
        }
        task->wrong += worst > 1e-4F;
    }
    return NULL;
}

Test(blas_threads, products_at_once_do_not_disturb_each_other)
{
    pthread_t threads[THREADS];
    struct task tasks[THREADS];
    for (int i = 0; i < THREADS; i++) {
        tasks[i] = (struct task){.stream = (uint64_t)i};
        cr_assert_eq(pthread_create(&threads[i], NULL, multiply, &tasks[i]), 0);
    }
    unsigned wrong = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        wrong += tasks[i].wrong;
    }
    cr_assert_eq(wrong, 0, "%u of %d products were wrong", wrong, THREADS * PRODUCTS);
}
