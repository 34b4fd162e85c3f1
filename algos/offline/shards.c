/* Training on shards.
 *
 * DESIGN. A few shards are trained side by side, each in slices of some pulses: the trainer of a
 * shard is paused, its checkpoint kept in memory, and between two slices the caller's own pulse is
 * asked on the caller's thread. So a long training renews its lease and hears of a stop, and hooks
 * are never called from two threads. A shard's data are a dataset of its own that borrows the
 * states. */
#include "algos/offline/shards.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "algos/data/checksum.h"
#include "algos/offline/hooks.h"
#include "memory/memory.h"
#include "memory/wipe.h"

#define AT_A_TIME        8
#define PULSES_OF_SLICE  16 /* of some 50 ms each */
#define CHECKPOINT_MAGIC UINT32_C(0x48535354)

/* splitmix64's finaliser (Steele, Lea and Flood 2014). Keys are hashes already; the finaliser mixes
 * in the seed. */
static uint64_t mix_bits(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint32_t shards_place(uint64_t key, uint64_t seed, uint32_t count)
{
    assert(count > 0);
    uint64_t high = mix_bits(key ^ mix_bits(seed)) >> 32;
    return (uint32_t)(high * count >> 32);
}

/* ---- one shard's data */

struct part {
    struct dataset data; /* states are borrowed unless STAND_IN is there */
    float *stand_in;     /* states of a stand-in, for a shard without data */
};

static void part_clear(struct part *part)
{
    free(part->data.state_row);
    wipe_free(part->data.actions);
    wipe_free(part->data.rewards);
    free(part->data.terminated);
    free(part->data.expert_transitions);
    free(part->stand_in);
    *part = (struct part){.stand_in = NULL};
}

static void part_room(struct part *part, uint64_t transitions, uint32_t experts)
{
    struct dataset *d = &part->data;
    d->state_row = memory_new(transitions, sizeof *d->state_row);
    d->actions = memory_new(transitions, sizeof *d->actions);
    d->rewards = memory_new(transitions, sizeof *d->rewards);
    d->terminated = memory_new(transitions, sizeof *d->terminated);
    d->expert_transitions = memory_new((size_t)experts + 1, sizeof *d->expert_transitions);
    d->transition_count = transitions;
    d->expert_count = experts;
}

/* Makes a step from zero to zero, so that an empty shard takes as long as another. */
static void part_stand_in(struct part *part)
{
    part->stand_in = memory_new((size_t)2 * part->data.state_dim, sizeof *part->stand_in);
    part_room(part, 1, 1);
    part->data.states = part->stand_in;
    part->data.terminated[0] = 1;
    part->data.expert_transitions[1] = 1;
    part->data.trajectory_count = 1;
}

static void append_expert(struct dataset *d, const struct dataset *from, uint32_t expert,
                          uint32_t place, uint64_t at)
{
    uint64_t first = from->expert_transitions[expert];
    uint64_t count = from->expert_transitions[expert + 1] - first;
    memcpy(d->state_row + at, from->state_row + first, count * sizeof *d->state_row);
    memcpy(d->actions + at, from->actions + first, count * sizeof *d->actions);
    memcpy(d->rewards + at, from->rewards + first, count * sizeof *d->rewards);
    memcpy(d->terminated + at, from->terminated + first, count * sizeof *d->terminated);
    d->expert_transitions[place + 1] = at + count;
    for (uint64_t t = 0; t < count; t++)
        d->trajectory_count += dataset_starts_trajectory(from, first + t);
}

/* Collects the data of one shard. Free with part_clear. */
static void part_fill(struct part *part, const struct shards *shards, const struct dataset *all,
                      uint32_t shard)
{
    uint64_t transitions = 0, seed = shards->request.seed;
    uint32_t experts = 0;
    *part = (struct part){.data = {.state_dim = all->state_dim, .action_count = all->action_count}};
    for (uint32_t e = 0; e < all->expert_count; e++) {
        if (shards_place(all->expert_keys[e], seed, shards->count) != shard)
            continue;
        experts++;
        transitions += all->expert_transitions[e + 1] - all->expert_transitions[e];
    }
    if (transitions == 0) {
        part_stand_in(part);
        return;
    }
    part_room(part, transitions, experts);
    part->data.states = all->states;
    uint32_t place = 0;
    for (uint32_t e = 0; e < all->expert_count; e++) {
        if (shards_place(all->expert_keys[e], seed, shards->count) != shard)
            continue;
        append_expert(&part->data, all, e, place, part->data.expert_transitions[place]);
        place++;
    }
}

/* ---- one shard's training, in slices */

struct fit {
    const struct algorithm *algorithm;
    struct algorithm_request request;
    const struct algorithm_plan *plan;
    struct part part;
    unsigned pulses; /* of this slice */
    uint64_t steps;
    unsigned char *checkpoint;
    size_t checkpoint_size;
    bool saved; /* in this slice */
    bool over;
    bool starved;          /* the network does not fit into memory */
    struct policy *policy; /* the shard's; NULL although its training is over: none was learned */
};

static enum algorithm_pulse fit_pulse(void *context, uint64_t steps_done)
{
    struct fit *fit = context;
    fit->steps = steps_done;
    return ++fit->pulses >= PULSES_OF_SLICE ? PULSE_SAVE_AND_PAUSE : PULSE_CONTINUE;
}

static bool fit_save(void *context, uint64_t steps_done, const unsigned char *bytes, size_t size)
{
    struct fit *fit = context;
    free(fit->checkpoint);
    fit->checkpoint = memory_copy(bytes, size);
    fit->checkpoint_size = size;
    fit->steps = steps_done;
    fit->saved = true;
    return true;
}

static void fit_slice(void *what, uint32_t i)
{
    struct fit *fit = (struct fit *)what + i;
    if (fit->over || fit->starved)
        return;
    const struct algorithm_run run = {
        .request = &fit->request,
        .plan = fit->plan,
        .data = &fit->part.data,
        .checkpoint = fit->saved ? fit->checkpoint : NULL,
        .checkpoint_size = fit->saved ? fit->checkpoint_size : 0,
        .hooks = {.context = fit, .pulse = fit_pulse, .save = fit_save}};
    const char *message = NULL;
    fit->pulses = 0;
    enum algorithm_status status = fit->algorithm->train(&run, &fit->policy, &message);
    fit->starved = status == ALGORITHM_NO_MEMORY;
    fit->over = status != ALGORITHM_PAUSED;
}

static void shard_fit_clear(struct fit *fit)
{
    part_clear(&fit->part);
    policy_free(fit->policy);
    free(fit->checkpoint);
    *fit = (struct fit){.policy = NULL};
}

/* ---- all of them */

struct training {
    const struct shards *shards;
    const struct algorithm_run *run;
    struct algorithm_plan plan; /* of one shard */
    uint32_t done;              /* shards */
    struct fit fit[AT_A_TIME];
    uint32_t count; /* of fits */
};

/* The request for one shard: without privacy, and therefore without a choice by play. */
static struct algorithm_request shard_request(const struct shards *shards)
{
    struct algorithm_request request = shards->request;
    request.mechanism = MECHANISM_NONE;
    request.epsilon = request.delta = request.plain_share = 0.0;
    request.stage = (struct stage_request){.kind = STAGE_NONE};
    request.choice.candidates = 0;
    return request;
}

static enum algorithm_status shard_plan(const struct shards *shards, struct algorithm_plan *out,
                                        const char **message)
{
    const struct algorithm_request request = shard_request(shards);
    assert(shards->algorithm->kind == ALGORITHM_LEARNS_FROM_DATA &&
           shards->algorithm->mechanisms[MECHANISM_NONE]);
    assert(shards->count >= 1 && shards->count <= SHARDS_MAX);
    return shards->algorithm->plan(&request, out, message);
}

enum algorithm_status shards_plan(const struct shards *shards, uint64_t *out_steps,
                                  struct mlp_shape *out_shape, const char **message)
{
    struct algorithm_plan plan;
    enum algorithm_status status = shard_plan(shards, &plan, message);
    if (status == ALGORITHM_OK) {
        *out_steps = plan.total_steps * shards->count;
        *out_shape = plan.shape;
    }
    return status;
}

/* The checkpoint: eight words, KEPT padded to words, and a checksum. */
struct head {
    uint32_t magic, count, done, unused;
    uint64_t seed, kept_size;
};

static uint64_t steps_of(const struct training *t)
{
    return t->done * t->plan.total_steps;
}

static bool shards_save(void *context)
{
    const struct training *t = context;
    const struct shards *shards = t->shards;
    const struct algorithm_hooks *hooks = &t->run->hooks;
    const struct head head = {.magic = CHECKPOINT_MAGIC,
                              .count = shards->count,
                              .done = t->done,
                              .seed = shards->request.seed,
                              .kept_size = shards->kept_size};
    size_t body = sizeof head + checksum_padded(shards->kept_size), size;
    if (!hooks->save)
        return false;
    unsigned char *bytes = checksum_room(body, &size);
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, shards->kept, shards->kept_size);
    checksum_seal(bytes, body);
    bool saved = hooks->save(hooks->context, steps_of(t), bytes, size);
    sodium_memzero(bytes, body);
    free(bytes);
    return saved;
}

static bool shards_restore(struct training *t)
{
    const struct shards *shards = t->shards;
    const struct algorithm_run *run = t->run;
    struct head head;
    size_t body = sizeof head + checksum_padded(shards->kept_size);
    if (run->checkpoint_size != body + sizeof(uint64_t))
        return false;
    memcpy(&head, run->checkpoint, sizeof head);
    if (head.magic != CHECKPOINT_MAGIC || head.count != shards->count ||
        head.done > shards->count || head.seed != shards->request.seed ||
        head.kept_size != shards->kept_size || !checksum_holds(run->checkpoint, body))
        return false;
    t->done = head.done;
    memcpy(shards->kept, run->checkpoint + sizeof head, shards->kept_size);
    return true;
}

static void begin_fits(struct training *t)
{
    const struct shards *shards = t->shards;
    uint32_t left = shards->count - t->done;
    t->count = left < AT_A_TIME ? left : AT_A_TIME;
    for (uint32_t i = 0; i < t->count; i++) {
        struct fit *fit = &t->fit[i];
        *fit = (struct fit){.algorithm = shards->algorithm, .plan = &t->plan};
        fit->request = shard_request(shards);
        fit->request.seed += t->done + i;
        part_fill(&fit->part, shards, t->run->data, t->done + i);
    }
}

/* Trains the current fits to their ends. */
static enum algorithm_status train_some(struct training *t)
{
    const struct algorithm_hooks *hooks = &t->run->hooks;
    uint32_t over = 0;
    while (over < t->count) {
        uint64_t in_flight = 0;
        for (uint32_t i = 0; i < t->count; i++)
            in_flight += t->fit[i].steps;
        enum algorithm_status status = hooks_pulse(hooks, steps_of(t) + in_flight, shards_save, t);
        if (status != ALGORITHM_OK)
            return status;
        hooks_parallel(hooks, fit_slice, t->fit, t->count);
        over = 0;
        for (uint32_t i = 0; i < t->count; i++) {
            if (t->fit[i].starved)
                return ALGORITHM_NO_MEMORY;
            over += t->fit[i].over;
        }
    }
    return ALGORITHM_OK;
}

static void hand_over_fits(struct training *t)
{
    const struct shards *shards = t->shards;
    for (uint32_t i = 0; i < t->count; i++) {
        struct fit *fit = &t->fit[i];
        const struct policy *policy = fit->part.stand_in ? NULL : fit->policy;
        shards->take(shards->context, t->done + i, policy, policy ? &fit->part.data : NULL);
    }
    t->done += t->count;
}

static enum algorithm_status train_shards(struct training *t)
{
    enum algorithm_status status = ALGORITHM_OK;
    while (status == ALGORITHM_OK && t->done < t->shards->count) {
        begin_fits(t);
        status = train_some(t);
        if (status == ALGORITHM_OK)
            hand_over_fits(t);
        for (uint32_t i = 0; i < t->count; i++)
            shard_fit_clear(&t->fit[i]);
    }
    return status;
}

enum algorithm_status shards_train(const struct shards *shards, const struct algorithm_run *run,
                                   const char **message)
{
    assert(run->data && run->data->expert_keys);
    *message = "";
    struct training *t = memory_new(1, sizeof *t);
    *t = (struct training){.shards = shards, .run = run};
    enum algorithm_status status = shard_plan(shards, &t->plan, message);
    if (status == ALGORITHM_OK && run->checkpoint && !shards_restore(t)) {
        *message = "the checkpoint is damaged or of another run";
        status = ALGORITHM_BAD_CHECKPOINT;
    }
    if (status == ALGORITHM_OK)
        status = train_shards(t);
    free(t);
    return status;
}
