/* PPO under a job's hooks.
 *
 * A checkpoint is the agent's bytes (ppo_bytes.c); with a companion they are followed by what it
 * knows and, last of all, by their own length as a u64. */
#include "algos/online/ppo_run.h"

#include <stdlib.h>
#include <string.h>

#include "algos/data/checksum.h"
#include "algos/offline/hooks.h"
#include "algos/online/ppo_algorithm.h"
#include "memory/memory.h"

struct course {
    const struct algorithm_run *run;
    unsigned parameter_count;
    struct ppo_companion *companion; /* NULL: none */
    struct ppo *ppo;
};

/* ---- checkpoints */

/* A number that identifies the run: a checkpoint of another run is refused. */
static uint64_t ppo_fingerprint(const struct algorithm_request *request, unsigned parameter_count)
{
    uint64_t hash = checksum_words(CHECKSUM_START, &request->seed, sizeof request->seed);
    for (unsigned i = 0; i < parameter_count; i++) {
        const struct parameter_value *value = &request->parameters.value[i];
        hash = checksum_words(hash, value->number, value->count * sizeof *value->number);
    }
    for (const char *c = request->world->name; *c != '\0'; c++) {
        uint32_t letter = (unsigned char)*c;
        hash = checksum_words(hash, &letter, sizeof letter);
    }
    return checksum_words(hash, request->world_parameters,
                          request->world->parameter_count * sizeof *request->world_parameters);
}

unsigned char *ppo_run_bytes(const struct algorithm_run *run, unsigned parameter_count,
                             const struct ppo_companion *companion, const struct ppo *ppo,
                             size_t *out_size)
{
    size_t size = 0, own_size = 0;
    unsigned char *agent = ppo_to_bytes(ppo, ppo_fingerprint(run->request, parameter_count), &size);
    *out_size = size;
    if (!companion)
        return agent;
    unsigned char *own = companion->write(companion->context, &own_size);
    uint64_t length = size;
    *out_size = size + own_size + sizeof length;
    unsigned char *all = memory_resize(agent, 1, *out_size);
    memcpy(all + size, own, own_size);
    memcpy(all + size + own_size, &length, sizeof length);
    free(own);
    return all;
}

static bool course_resume(struct course *c)
{
    const unsigned char *bytes = c->run->checkpoint;
    size_t size = c->run->checkpoint_size;
    uint64_t length = size, hash = ppo_fingerprint(c->run->request, c->parameter_count);
    if (!c->companion)
        return ppo_from_bytes(c->ppo, hash, bytes, size);
    if (size < sizeof length)
        return false;
    size -= sizeof length;
    memcpy(&length, bytes + size, sizeof length);
    return length <= size && ppo_from_bytes(c->ppo, hash, bytes, length) &&
           c->companion->read(c->companion->context, bytes + length, size - length);
}

static bool course_save(void *context)
{
    const struct course *c = context;
    const struct algorithm_hooks *hooks = &c->run->hooks;
    size_t size = 0;
    unsigned char *bytes = ppo_run_bytes(c->run, c->parameter_count, c->companion, c->ppo, &size);
    bool saved = hooks->save(hooks->context, ppo_updates(c->ppo), bytes, size);
    free(bytes);
    return saved;
}

/* ---- learning */

/* Asks the caller what to do after an update. ALGORITHM_OK: go on. */
static enum algorithm_status course_pulse(struct course *c)
{
    const struct algorithm_hooks *hooks = &c->run->hooks;
    struct ppo_report report = ppo_report_of(c->ppo);
    if (hooks->show_return && report.episodes > 0)
        hooks->show_return(hooks->context, report.mean_return);
    return hooks_pulse(hooks, ppo_updates(c->ppo), course_save, c);
}

static enum algorithm_status course_why_broken(const struct course *c, const char **message)
{
    enum algorithm_status status =
        c->companion ? c->companion->broke(c->companion->context, message) : ALGORITHM_OK;
    if (status != ALGORITHM_OK)
        return status;
    *message = "the world broke";
    return ALGORITHM_BAD_INPUT;
}

static enum algorithm_status course_learn(struct course *c, const char **message)
{
    uint64_t total = c->run->plan->total_steps, step = ppo_updates(c->ppo);
    while (step < total) {
        struct ppo_report report;
        if (!ppo_update(c->ppo, ppo_learning_rate(c->run->request, step, total), &report))
            return course_why_broken(c, message);
        enum algorithm_status status = ++step < total ? course_pulse(c) : ALGORITHM_OK;
        if (status != ALGORITHM_OK)
            return status;
    }
    return ALGORITHM_OK;
}

static enum algorithm_status give_policy(const struct ppo *ppo, struct policy **out,
                                         const char **message)
{
    struct policy *policy = memory_must(policy_new(ppo_policy_shape(ppo), POLICY_SOFTMAX));
    if (!ppo_write_policy(ppo, policy->parameters)) {
        policy_free(policy);
        *message = "the weights grew without bound; a smaller learning rate helps";
        return ALGORITHM_BAD_INPUT;
    }
    *out = policy;
    return ALGORITHM_OK;
}

enum algorithm_status ppo_run(const struct algorithm_run *run, unsigned parameter_count,
                              struct ppo_companion *companion, struct policy **out_policy,
                              const char **message)
{
    const struct algorithm_request *request = run->request;
    struct ppo_settings settings = ppo_settings_of(request);
    struct rng rng;
    struct course c = {run, parameter_count, companion, NULL};
    *message = "";
    rng_seed(&rng, request->seed, 0);
    if (memory_fits(ppo_bytes(&settings, request->world)))
        c.ppo = ppo_new(&settings, request->world, request->world_parameters, &rng);
    if (!c.ppo)
        return ALGORITHM_NO_MEMORY;
    if (companion) {
        ppo_set_guide(c.ppo, &companion->guide);
        companion->ppo = c.ppo;
    }
    enum algorithm_status status = ALGORITHM_OK;
    if (run->checkpoint && !course_resume(&c)) {
        *message = "the checkpoint is damaged or of another run";
        status = ALGORITHM_BAD_CHECKPOINT;
    }
    if (status == ALGORITHM_OK)
        status = course_learn(&c, message);
    if (status == ALGORITHM_OK)
        status = give_policy(c.ppo, out_policy, message);
    ppo_free(c.ppo);
    return status;
}
