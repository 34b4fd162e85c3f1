/* kill -9 at random moments under 64 clients who ask one released Q-function: every value that was
 * ever answered, to whomever, is answered again, to the byte. The moments follow from a fixed seed;
 * CRASH_ROUNDS (10) may be set. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/crash/askers.h"
#include "tests/http/q_scene.h"

#define ROUNDS 10
#define POINTS 499
#define CROWD  64

static struct scene scene;
static struct q_scene q;
static struct server_process server;
static atomic_bool stop;
static atomic_uint answered, different, odd;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *values[POINTS]; /* the first answer to each */

static void compare(unsigned point, const char *body)
{
    pthread_mutex_lock(&lock);
    if (values[point] == NULL)
        values[point] = strdup(body);
    else if (strcmp(values[point], body) != 0)
        atomic_fetch_add(&different, 1);
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&answered, 1);
}

static void *ask_on(void *context)
{
    unsigned number = (unsigned)(size_t)context;
    uint64_t random = 88172645463325252u + number;
    struct http_client *client = http_client_new(&server);
    while (!atomic_load(&stop)) {
        unsigned point = (unsigned)(next_random(&random) % POINTS);
        struct http_answer answer =
            q_scene_ask(&q, client, scene.students[number].token, point / (POINTS - 1.0));
        bool gone = answer.status == 0;
        if (answer.status == 200)
            compare(point, answer.body);
        else if (!gone && answer.status != 503)
            atomic_fetch_add(&odd, 1);
        http_answer_clear(&answer);
        if (gone)
            break;
    }
    http_client_free(client);
    return NULL;
}

static void one_round(uint64_t *random)
{
    pthread_t threads[CROWD];
    atomic_store(&stop, false);
    for (size_t i = 0; i < CROWD; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, ask_on, (void *)i), 0);
    uint64_t us = 5000 + next_random(random) % 300000;
    nanosleep(&(struct timespec){.tv_nsec = (long)us * 1000}, NULL);
    int code = server_end(&server, SIGKILL);
    cr_assert_eq(code, 1000 + SIGKILL, "it ended by itself: %d", code);
    atomic_store(&stop, true);
    for (size_t i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
    server_start(&server);
    http_client_move(scene.client, &server);
}

/* Every value that was seen, once more, by one client. */
static void expect_all_again(void)
{
    for (unsigned p = 0; p < POINTS; p++) {
        if (values[p] == NULL)
            continue;
        struct http_answer answer =
            q_scene_ask(&q, scene.client, scene.students[p % CROWD].token, p / (POINTS - 1.0));
        cr_expect_eq(answer.status, 200);
        cr_expect_str_eq(answer.body, values[p]);
        http_answer_clear(&answer);
    }
}

Test(crash, a_released_function_is_the_same_through_every_kill)
{
    uint64_t random = 20261122;
    const char *wanted = getenv("CRASH_ROUNDS");
    unsigned rounds = wanted != NULL ? (unsigned)strtoul(wanted, NULL, 10) : ROUNDS;
    server_open(&server, NULL);
    scene_make(&scene, &server, 1000, 1.5);
    scene_more_students(&scene, CROWD);
    q_scene_make(&q, scene.client, scene.steward);
    for (unsigned round = 0; round < rounds; round++) {
        one_round(&random);
        expect_all_again();
        cr_assert_eq(atomic_load(&different), 0u);
    }
    cr_expect_eq(atomic_load(&odd), 0u);
    cr_expect_gt(atomic_load(&answered), 10 * rounds, "too few answers to say anything");
    fprintf(stderr, "[----] %u kills, %u answers\n", rounds, atomic_load(&answered));
    for (int i = 0; i < POINTS; i++)
        free(values[i]);
    scene_clear(&scene);
    server_close(&server);
}
