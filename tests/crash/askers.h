/* 64 students who ask one teacher at the same time, each with an account, a connection and a thread
 * of its own, and remember what they were answered; and what must be true of that after the server
 * came back. */
#ifndef TACET_TESTS_CRASH_ASKERS_H
#define TACET_TESTS_CRASH_ASKERS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "tests/crash/books.h"

#define ASKERS SCENE_STUDENTS_MAX

/* One answer of 200. */
struct acknowledged {
    unsigned student;
    char key[48];
    char *body;
    size_t size;
};

struct asker {
    pthread_t thread;
    unsigned number, round;
    struct http_client *client;
    struct crowd *crowd;
    struct acknowledged *list; /* of this round */
    size_t count, capacity;
    atomic_uint refused; /* of all rounds: 403 and 503 storage-full */
    char unknown[48];    /* the key whose answer never came; "" for none */
    char full[48];       /* the last key that was refused for want of room; "" for none */
};

struct crowd {
    const struct scene *scene;
    struct asker askers[ASKERS];
    atomic_bool stop;
    /* Of all rounds, kept by the askers as they go: 200, 403, 503 storage-full. */
    atomic_uint answered, refused, full;
    /* Of all rounds that were collected. */
    struct acknowledged *list;
    size_t count, capacity;
    size_t per_student[ASKERS];
    unsigned unknown, unknown_stored;
    /* What one question of each student costs its own account and the teacher's, in units. */
    int64_t own[ASKERS], common[ASKERS];
};

/* Makes the students, gives the last few a budget of epsilon SHORT_EPSILON and all others one that
 * lasts, and learns the prices. crowd_make: 0.9. */
void crowd_make_of(struct crowd *crowd, struct scene *scene, const struct server_process *server,
                   double short_epsilon);
void crowd_make(struct crowd *crowd, struct scene *scene, const struct server_process *server);
void crowd_clear(struct crowd *crowd);

/* They ask, each under ever new keys, until crowd_stop or until the server is gone. Any status but
 * 200, 403 and 503 `storage-full` ends the test. */
void crowd_start(struct crowd *crowd, const struct server_process *server, unsigned round);

/* Waits until each of them has been refused once more: what it was answered before is counted then,
 * which it need not be when all of them together have been refused as often. */
void crowd_wait_refused(struct crowd *crowd);

/* Stops them, or waits for those who found the server gone, and collects what they were told; gives
 * the number of new answers. */
size_t crowd_stop(struct crowd *crowd);

/* After a restart. Every account has spent at least what was acknowledged; of the last FRESH
 * answers (up to 400) and of some that RANDOM chooses of all, each has its bytes and costs nothing
 * more; the audit is clean. */
void crowd_expect_kept(const struct crowd *crowd, size_t fresh, uint64_t *random);

/* Asks again under the keys whose answers never came: each is answered, and charged once at most:
 * asked a third time it gives the same bytes. */
void crowd_settle_unknown(struct crowd *crowd);

/* A question of STUDENT under KEY. */
struct http_answer crowd_ask(struct http_client *client, const struct scene *scene,
                             unsigned student, const char *key);

/* xorshift64. */
uint64_t next_random(uint64_t *state);

#endif
