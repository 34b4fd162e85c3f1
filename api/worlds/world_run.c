/* DESIGN. An env of a run is a copy of the program's with functions that find the run: `open` by
 * the env it is given, the others by the state, which holds the run and an instance's number. A
 * player therefore uses a program like any other world, and nothing is global. All instances of a
 * run live in one child. The first fault is kept and ends the run: a program that broke once is not
 * asked again. */
#include "api/worlds/world_run.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "api/worlds/world_program.h"
#include "memory/memory.h"

#define INSTANCES_MAX 4096

struct world_run {
    struct env env; /* first: found by it */
    const struct env *world;
    const struct world_program *program; /* NULL: built in */
    struct world_use use;
    bool (*go_on)(void *context);
    void *context;
    struct child *child;
    int64_t deadline_ms; /* of the whole; monotonic */
    uint32_t open_count, next;
    enum world_fault fault;
    char question[WORLD_QUESTION_MAX];
};

struct instance {
    struct world_run *run;
    uint32_t number;
};

static int64_t monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool run_fail(struct world_run *run, enum world_fault fault)
{
    assert(fault != WORLD_OK);
    if (run->fault == WORLD_OK)
        run->fault = fault;
    return false;
}

/* Called about once a second: whether the child may go on. */
static bool run_go_on(void *context)
{
    struct world_run *run = context;
    if (monotonic_ms() >= run->deadline_ms)
        return run_fail(run, WORLD_SLOW);
    return !run->go_on || run->go_on(run->context);
}

static bool run_ask(struct world_run *run, size_t size, const char **answer, size_t *answer_size)
{
    if (run->fault != WORLD_OK)
        return false;
    enum child_status status = child_ask(run->child, run->question, size, answer, answer_size);
    return status == CHILD_OK || run_fail(run, world_fault_of_child(status));
}

/* ---- the functions of its env */

static bool run_start(struct world_run *run)
{
    struct world_facts *facts = memory_new(1, sizeof *facts);
    char detail[160];
    enum world_fault fault = world_program_start(&run->use, &run->child, facts, detail);
    if (fault == WORLD_OK && !world_facts_equal(facts, &run->program->facts))
        fault = WORLD_CHANGED;
    free(facts);
    return fault == WORLD_OK || run_fail(run, fault);
}

static bool open_instance(const struct env *env, void *state)
{
    struct world_run *run = (struct world_run *)env;
    struct instance *instance = state;
    if (run->fault != WORLD_OK || (!run->child && !run_start(run)))
        return false;
    if (run->open_count == 0)
        run->next = 0;
    if (run->next == INSTANCES_MAX)
        return run_fail(run, WORLD_TOO_MANY);
    run->open_count++;
    *instance = (struct instance){.run = run, .number = run->next++};
    return true;
}

static void close_instance(void *state)
{
    struct instance *instance = state;
    assert(instance->run->open_count > 0);
    instance->run->open_count--;
}

static bool instance_reset(void *state, const double *parameters, struct rng *rng,
                           double *observation)
{
    const struct instance *instance = state;
    struct world_run *run = instance->run;
    const struct world_facts *facts = &run->program->facts;
    const char *answer = NULL;
    uint64_t seed = rng_next(rng) >> 11; /* JSON's integers are exact to 2^53 */
    size_t size = world_json_ask_reset(facts, instance->number, seed, parameters, run->question);
    if (!run_ask(run, size, &answer, &size))
        return false;
    enum world_fault fault = world_json_observation(answer, size, facts->state_dim, observation);
    return fault == WORLD_OK || run_fail(run, fault);
}

static struct env_outcome instance_step(void *state, const double *parameters, unsigned action,
                                        struct rng *rng, double *observation)
{
    (void)parameters; /* the program has them since the reset, and its seed */
    (void)rng;
    const struct instance *instance = state;
    struct world_run *run = instance->run;
    struct env_outcome outcome = {0};
    const char *answer = NULL;
    size_t size = world_json_ask_step(instance->number, action, run->question);
    if (run_ask(run, size, &answer, &size)) {
        enum world_fault fault =
            world_json_step(answer, size, run->program->facts.state_dim, observation, &outcome);
        if (fault == WORLD_OK)
            return outcome;
        run_fail(run, fault);
    }
    return (struct env_outcome){.failed = true};
}

/* ---- its life */

struct world_run *world_run_open(const struct env *world, bool (*user_go_on)(void *context),
                                 void *context)
{
    struct world_run *run = memory_new(1, sizeof *run);
    run->world = world;
    run->program = worlds_program(world);
    if (!run->program)
        return run;
    const struct worlds_settings *settings = &run->program->settings;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (cores < 1)
        cores = 1;
    run->go_on = user_go_on;
    run->context = context;
    run->deadline_ms = monotonic_ms() + (int64_t)settings->run_s * 1000;
    /* The limit of processor time ends a runaway program even if the server was killed. */
    run->use = (struct world_use){.program = run->program,
                                  .go_on = run_go_on,
                                  .context = run,
                                  .cpu_s = (uint64_t)settings->run_s * (uint64_t)cores};
    run->env = *world;
    run->env.state_size = sizeof(struct instance);
    run->env.open = open_instance;
    run->env.close = close_instance;
    run->env.reset = instance_reset;
    run->env.step = instance_step;
    return run;
}

void world_run_close(struct world_run *run)
{
    if (!run)
        return;
    assert(run->open_count == 0);
    child_end(run->child);
    free(run);
}

const struct env *world_run_env(const struct world_run *run)
{
    if (!run->program)
        return run->world;
    return &run->env;
}

enum world_fault world_run_fault(const struct world_run *run)
{
    return run->fault;
}

bool world_run_is_program(const struct world_run *run)
{
    return run->program != NULL;
}
