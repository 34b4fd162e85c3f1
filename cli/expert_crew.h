/* Threads that train and play experts, setting by setting, and hand over the text in order. The
 * text depends on the request alone, never on the number of threads. */
#ifndef TACET_CLI_EXPERT_CREW_H
#define TACET_CLI_EXPERT_CREW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algos/online/experts.h"
#include "api/wire/inflate.h"

#define EXPERT_CREW_MAX_THREADS 256

struct expert_request {
    const struct env *env;
    const struct expert_population *population;
    enum experts_select select;
    uint64_t seed;
    uint64_t experts;
    uint64_t first_setting; /* those before it are not made */
    uint32_t trajectories;  /* of each */
    uint32_t max_steps;
    double min_action_probability;
    bool policies;                  /* their text too */
    enum inflate_encoding encoding; /* of the trajectories' text: identity, gzip or zstd */
};

/* Settings that REQUEST asks for, those before first_setting included. */
uint64_t expert_request_settings(const struct expert_request *request);

/* The lines of one setting's experts; owned by the caller, expert_text_clear. */
struct expert_text {
    uint64_t experts;                    /* 1 .. EXPERTS_PER_SETTING */
    double returns[EXPERTS_PER_SETTING]; /* each one's mean over its trajectories */
    char *trajectories;                  /* compressed as the request asks */
    size_t trajectories_size;
    char *policies; /* plain; NULL unless asked for */
    size_t policies_size;
};

/* Frees the text. */
void expert_text_clear(struct expert_text *text);

struct expert_crew;

/* Starts THREADS (1 .. EXPERT_CREW_MAX_THREADS, or as many as the system gives, but at least one),
 * or NULL. REQUEST is copied. At most two settings per thread wait to be taken. */
struct expert_crew *expert_crew_start(const struct expert_request *request, unsigned threads);

/* The next setting's text, in order of experts: waits for it. False after the last, and when the
 * crew failed: then *out_failure says why, else it is NULL. */
bool expert_crew_take(struct expert_crew *crew, struct expert_text *out, const char **out_failure);

/* Stops the threads after the setting in hand, waits for them and frees the crew. */
void expert_crew_stop(struct expert_crew *crew);

#endif
