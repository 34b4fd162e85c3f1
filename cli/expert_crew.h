/* Threads that train experts and let them play, setting by setting. The texts are handed over in
 * order and depend on the request alone, never on the number of threads. */
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

/* The number of settings of REQUEST, those before first_setting included. */
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

/* Starts THREADS threads (1 .. EXPERT_CREW_MAX_THREADS), or fewer when the system gives fewer.
 * NULL: it gives none. REQUEST is copied. At most two settings per thread wait to be taken. */
struct expert_crew *expert_crew_start(const struct expert_request *request, unsigned threads);

/* Waits for the next setting's text, in order of experts. False after the last setting, with
 * *out_failure NULL, and when the crew failed, with the reason in *out_failure. */
bool expert_crew_take(struct expert_crew *crew, struct expert_text *out, const char **out_failure);

/* Stops each thread after its present setting, waits for all threads and frees the crew. */
void expert_crew_stop(struct expert_crew *crew);

#endif
