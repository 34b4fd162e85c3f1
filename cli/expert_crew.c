/* The crew. Threads get settings in order and finish them in any order. A ring with two slots per
 * thread holds finished settings until they are taken, so a slow reader slows the crew and memory
 * stays bounded. */
#include "cli/expert_crew.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/wire/deflate.h"
#include "cli/expert_lines.h"
#include "memory/memory.h"

struct slot {
    bool full;
    const char *failure; /* static sentence */
    struct expert_text text;
};

struct expert_crew {
    struct expert_request request;
    uint64_t settings;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    uint64_t next;  /* setting to hand out */
    uint64_t taken; /* settings taken by the reader */
    bool stopping;
    unsigned slot_count;
    struct slot *slots; /* setting s is in slot s % slot_count */
    unsigned thread_count;
    pthread_t threads[EXPERT_CREW_MAX_THREADS];
};

void expert_text_clear(struct expert_text *text)
{
    free(text->trajectories);
    free(text->policies);
    *text = (struct expert_text){0};
}

static const char not_written[] = "the text of the experts does not fit into memory";

uint64_t expert_request_settings(const struct expert_request *request)
{
    return (request->experts + EXPERTS_PER_SETTING - 1) / EXPERTS_PER_SETTING;
}

static double return_of(const struct trajectory *trajectory)
{
    double sum = 0;
    for (uint32_t t = 0; t < trajectory->length; t++)
        sum += (double)trajectory->rewards[t];
    return sum;
}

/* Writes one expert's lines to LINES, and its policy's line to POLICIES if that is open. */
static const char *write_expert(const struct expert_request *request, uint64_t expert,
                                const struct policy *policy, struct expert_episode *episode,
                                FILE *lines, FILE *policies, double *out_return)
{
    struct rng rng;
    char name[32];
    double sum = 0;
    snprintf(name, sizeof name, "e%06" PRIu64, expert);
    expert_rng(&rng, request->seed, expert);
    for (uint32_t i = 0; i < request->trajectories; i++) {
        if (!expert_play(episode, policy, request->min_action_probability, &rng))
            return "a trained policy is not finite";
        expert_lines_trajectory(lines, name, &episode->trajectory, request->env->state_dim);
        if (ferror(lines))
            return not_written;
        sum += return_of(&episode->trajectory);
    }
    *out_return = sum / request->trajectories;
    if (policies)
        expert_lines_policy(policies, expert, policy);
    return NULL;
}

/* Closes a memory stream (NULL is fine); false when memory ran out. */
static bool close_stream(FILE *stream)
{
    if (!stream)
        return true;
    bool whole = !ferror(stream);
    return fclose(stream) == 0 && whole;
}

static const char *write_experts(const struct expert_request *request, uint64_t setting,
                                 struct policy *const policy[EXPERTS_PER_SETTING],
                                 struct expert_text *text)
{
    const char *failure = NULL;
    uint64_t first = setting * EXPERTS_PER_SETTING;
    struct expert_episode episode = {0};
    FILE *policies = NULL;
    FILE *lines = memory_must(open_memstream(&text->trajectories, &text->trajectories_size));
    if (request->policies)
        policies = memory_must(open_memstream(&text->policies, &text->policies_size));
    expert_episode_init(&episode, request->env, request->max_steps);
    for (uint64_t k = 0; k < text->experts && !failure; k++)
        failure = write_expert(request, first + k, policy[k], &episode, lines, policies,
                               &text->returns[k]);
    expert_episode_clear(&episode);
    bool whole = close_stream(lines);
    whole = close_stream(policies) && whole;
    return whole || failure ? failure : not_written;
}

static const char *compress_text(const struct expert_request *request, struct expert_text *text)
{
    char *smaller = NULL;
    if (request->encoding == INFLATE_IDENTITY)
        return NULL;
    if (!deflate_bytes(request->encoding, text->trajectories, text->trajectories_size, &smaller,
                       &text->trajectories_size))
        return not_written;
    free(text->trajectories);
    text->trajectories = smaller;
    return NULL;
}

static const char *make_setting(const struct expert_request *request, uint64_t setting,
                                struct expert_text *text)
{
    struct policy *policy[EXPERTS_PER_SETTING];
    uint64_t left = request->experts - setting * EXPERTS_PER_SETTING;
    text->experts = left < EXPERTS_PER_SETTING ? left : EXPERTS_PER_SETTING;
    if (!experts_train(request->population, request->select, request->seed, setting, NULL, policy))
        return "a training run diverged at once, or its networks do not fit into memory";
    const char *failure = write_experts(request, setting, policy, text);
    for (int k = 0; k < EXPERTS_PER_SETTING; k++)
        policy_free(policy[k]);
    return failure ? failure : compress_text(request, text);
}

/* Takes the next setting to work on; false: none is left. */
static bool next_setting(struct expert_crew *crew, uint64_t *out_setting)
{
    pthread_mutex_lock(&crew->lock);
    while (!crew->stopping && crew->next < crew->settings &&
           crew->next >= crew->taken + crew->slot_count)
        pthread_cond_wait(&crew->changed, &crew->lock);
    bool more = !crew->stopping && crew->next < crew->settings;
    if (more)
        *out_setting = crew->next++;
    pthread_mutex_unlock(&crew->lock);
    return more;
}

static void *crew_run(void *argument)
{
    struct expert_crew *crew = argument;
    uint64_t setting;
    while (next_setting(crew, &setting)) {
        struct slot made = {.full = true};
        made.failure = make_setting(&crew->request, setting, &made.text);
        pthread_mutex_lock(&crew->lock);
        crew->slots[setting % crew->slot_count] = made;
        pthread_cond_broadcast(&crew->changed);
        pthread_mutex_unlock(&crew->lock);
    }
    return NULL;
}

struct expert_crew *expert_crew_start(const struct expert_request *request, unsigned threads)
{
    struct expert_crew *crew = memory_new(1, sizeof *crew);
    crew->request = *request;
    crew->settings = expert_request_settings(request);
    crew->next = crew->taken = request->first_setting;
    crew->slot_count = 2 * threads;
    crew->slots = memory_new(crew->slot_count, sizeof *crew->slots);
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->changed, NULL);
    while (crew->thread_count < threads &&
           request->first_setting + crew->thread_count < crew->settings &&
           pthread_create(&crew->threads[crew->thread_count], NULL, crew_run, crew) == 0)
        crew->thread_count++;
    if (crew->thread_count == 0 && request->first_setting < crew->settings) {
        expert_crew_stop(crew);
        return NULL;
    }
    return crew;
}

bool expert_crew_take(struct expert_crew *crew, struct expert_text *out, const char **out_failure)
{
    *out_failure = NULL;
    pthread_mutex_lock(&crew->lock);
    if (crew->taken == crew->settings) {
        pthread_mutex_unlock(&crew->lock);
        return false;
    }
    struct slot *slot = &crew->slots[crew->taken % crew->slot_count];
    while (!slot->full)
        pthread_cond_wait(&crew->changed, &crew->lock);
    struct slot made = *slot;
    *slot = (struct slot){0};
    crew->taken++;
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
    if (made.failure) {
        expert_text_clear(&made.text);
        *out_failure = made.failure;
        return false;
    }
    *out = made.text;
    return true;
}

void expert_crew_stop(struct expert_crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    crew->stopping = true;
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
    for (unsigned i = 0; i < crew->thread_count; i++)
        pthread_join(crew->threads[i], NULL);
    for (unsigned i = 0; i < crew->slot_count; i++)
        expert_text_clear(&crew->slots[i].text);
    pthread_cond_destroy(&crew->changed);
    pthread_mutex_destroy(&crew->lock);
    free(crew->slots);
    free(crew);
}
