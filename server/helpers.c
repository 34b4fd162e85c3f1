/* A list of open tasks. The threads take one item after another from the first task that has any
 * left. */
#include "server/helpers.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "memory/memory.h"

#define NICE_MOST 19

/* A task on the stack of helpers_run, which returns when no thread works on the task any more. */
struct helpers_task {
    void (*work)(void *what, uint32_t i);
    void *what;
    uint32_t count, taken; /* items */
    atomic_uint ended;     /* changes under the lock */
    struct helpers_task *next;
};

struct helpers {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* signalled when a task comes, an item ends, or helpers must stop */
    struct helpers_task *tasks; /* tasks with items that no helper has taken */
    atomic_uint posted;         /* tasks so far; changes under the lock */
    unsigned busy;              /* workers in a turn, and helpers at an item */
    bool stopping;
    unsigned count;
    pthread_t threads[];
};

/* Waits for a moment while *WORD is VALUE: to sleep and be woken takes longer than much of what is
 * shared out. */
static void spin_while(const atomic_uint *word, unsigned value)
{
    struct timespec begun, now;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    int64_t spent_ns = 0;
    while (spent_ns < HELPER_SPIN_NS && atomic_load(word) == value) {
        for (int i = 0; i < 32; i++)
            __asm__ volatile("" ::: "memory");
        clock_gettime(CLOCK_MONOTONIC, &now);
        spent_ns = (now.tv_sec - begun.tv_sec) * INT64_C(1000000000) + now.tv_nsec - begun.tv_nsec;
    }
}

/* Takes the next item of TASK and does it. The lock is held before and after, not during. */
static void helpers_do_item(struct helpers *helpers, struct helpers_task *task)
{
    uint32_t item = task->taken++;
    if (task->taken == task->count) {
        struct helpers_task **link = &helpers->tasks;
        while (*link != task)
            link = &(*link)->next;
        *link = task->next;
    }
    pthread_mutex_unlock(&helpers->lock);
    task->work(task->what, item);
    pthread_mutex_lock(&helpers->lock);
    task->ended++;
    if (task->ended == task->count)
        pthread_cond_broadcast(&helpers->changed);
}

/* sched_attr(2); its header cannot stand beside <sched.h>. */
struct helpers_attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t slice_ns, deadline, period; /* 0: the usual slice */
};

static bool read_attributes(struct helpers_attributes *out)
{
    *out = (struct helpers_attributes){.size = sizeof *out};
    return syscall(SYS_sched_getattr, 0, out, sizeof *out, 0) == 0;
}

void helpers_lower_priority(int steps, bool batch)
{
    struct helpers_attributes attributes;
    if (!read_attributes(&attributes))
        return;
    attributes.policy = batch ? SCHED_BATCH : SCHED_OTHER;
    attributes.nice = attributes.nice + steps < NICE_MOST ? attributes.nice + steps : NICE_MOST;
    attributes.slice_ns = HELPER_COMPUTE_SLICE_NS;
    syscall(SYS_sched_setattr, 0, &attributes, 0);
}

/* Who asks for a short slice is let in before the slice of the one that runs is over: see the
 * manual of sched(7), EEVDF. */
void helpers_answer_soon(uint64_t slice_ns)
{
    struct helpers_attributes attributes;
    if (!read_attributes(&attributes) || attributes.policy != SCHED_OTHER)
        return;
    attributes.slice_ns = slice_ns;
    syscall(SYS_sched_setattr, 0, &attributes, 0);
}

/* Waits for a task. The lock is held before and after. */
static void await_task(struct helpers *helpers, bool soon)
{
    unsigned posted = atomic_load(&helpers->posted);
    if (!soon) {
        pthread_cond_wait(&helpers->changed, &helpers->lock);
        return;
    }
    pthread_mutex_unlock(&helpers->lock);
    spin_while(&helpers->posted, posted);
    pthread_mutex_lock(&helpers->lock);
}

/* Who has just done an item of a training expects the next one soon. */
static void *helper_run(void *context)
{
    struct helpers *helpers = context;
    bool worked = false;
    helpers_lower_priority(HELPER_NICENESS, true);
    pthread_mutex_lock(&helpers->lock);
    while (!helpers->stopping) {
        bool works = helpers->tasks && helpers->busy <= helpers->count;
        if (works) {
            helpers->busy++;
            helpers_do_item(helpers, helpers->tasks);
            helpers->busy--;
        } else {
            await_task(helpers, worked);
        }
        worked = works;
    }
    pthread_mutex_unlock(&helpers->lock);
    return NULL;
}

void helpers_worker(struct helpers *helpers, bool begins)
{
    pthread_mutex_lock(&helpers->lock);
    helpers->busy += begins ? 1U : -1U;
    pthread_cond_broadcast(&helpers->changed);
    pthread_mutex_unlock(&helpers->lock);
}

unsigned helpers_cores(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (cores < 1)
        return 1;
    return cores > HELPERS_CORES_MAX ? HELPERS_CORES_MAX : (unsigned)cores;
}

struct helpers *helpers_start(unsigned count)
{
    struct helpers *helpers = memory_new(1, sizeof *helpers + count * sizeof helpers->threads[0]);
    pthread_mutex_init(&helpers->lock, NULL);
    pthread_cond_init(&helpers->changed, NULL);
    while (helpers->count < count &&
           pthread_create(&helpers->threads[helpers->count], NULL, helper_run, helpers) == 0)
        helpers->count++;
    return helpers;
}

/* Waits until the last items have ended. The lock is held before and after. */
static void await_end(struct helpers *helpers, const struct helpers_task *task)
{
    unsigned ended = atomic_load(&task->ended);
    if (ended == task->count)
        return;
    pthread_mutex_unlock(&helpers->lock);
    spin_while(&task->ended, ended);
    pthread_mutex_lock(&helpers->lock);
    while (atomic_load(&task->ended) < task->count)
        pthread_cond_wait(&helpers->changed, &helpers->lock);
}

void helpers_run(struct helpers *helpers, void (*work)(void *what, uint32_t i), void *what,
                 uint32_t count)
{
    if (count == 0)
        return;
    struct helpers_task task = {.work = work, .what = what, .count = count};
    pthread_mutex_lock(&helpers->lock);
    assert(!helpers->stopping);
    struct helpers_task **link = &helpers->tasks;
    while (*link)
        link = &(*link)->next;
    *link = &task;
    atomic_fetch_add(&helpers->posted, 1);
    pthread_cond_broadcast(&helpers->changed);
    while (task.taken < task.count)
        helpers_do_item(helpers, &task);
    await_end(helpers, &task);
    pthread_mutex_unlock(&helpers->lock);
}

void helpers_stop(struct helpers *helpers)
{
    if (!helpers)
        return;
    pthread_mutex_lock(&helpers->lock);
    assert(!helpers->tasks);
    helpers->stopping = true;
    pthread_cond_broadcast(&helpers->changed);
    pthread_mutex_unlock(&helpers->lock);
    for (unsigned i = 0; i < helpers->count; i++)
        pthread_join(helpers->threads[i], NULL);
    pthread_cond_destroy(&helpers->changed);
    pthread_mutex_destroy(&helpers->lock);
    free(helpers);
}
