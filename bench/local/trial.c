/* A learner that is watched. */
#include "bench/local/trial.h"

#include <stdio.h>

#include "algos/online/pgc_a3c.h"
#include "algos/privacy/noise/noise_source.h"
#include "bench/cpu_clock.h"

struct watch {
    const struct pgc *pgc;
    struct trial_result result;
    double recent[TRIAL_RECENT], sum, total;
};

/* The score is the length of the episode, whatever its rewards. */
static void see(void *context, double returned)
{
    (void)returned;
    struct watch *watch = context;
    double score = watch->pgc->episode.steps;
    struct trial_result *result = &watch->result;
    double *oldest = &watch->recent[result->submissions % TRIAL_RECENT];
    watch->sum += score - *oldest;
    *oldest = score;
    result->submissions++;
    if (result->submissions <= TRIAL_HORIZON)
        watch->total += score;
    if (result->first_success == 0 && result->submissions >= TRIAL_RECENT &&
        watch->sum >= TRIAL_RECENT * TRIAL_SUCCESS)
        result->first_success = result->submissions;
}

static bool learn(const struct pgc_settings *settings, uint64_t most, struct watch *watch)
{
    struct pgc pgc;
    bool good = pgc_init(&pgc, settings);
    struct trial_result *result = &watch->result;
    watch->pgc = &pgc;
    while (good && result->submissions < most &&
           (result->first_success == 0 || result->submissions < TRIAL_HORIZON))
        good = pgc_update(&pgc, see, watch);
    pgc_clear(&pgc);
    return good;
}

bool trial_run(const struct algorithm_request *request, uint64_t most, struct trial_result *out)
{
    struct pgc_settings settings = {.noise = NULL};
    struct watch watch = {.sum = 0.0};
    double start = cpu_seconds();
    const char *problem = pgc_settings_of(request, &settings);
    if (!problem && settings.private && !(settings.noise = noise_source_new("trial")))
        problem = "no randomness";
    if (!problem && !learn(&settings, most, &watch))
        problem = "the world broke, or no memory";
    noise_source_free(settings.noise);
    if (problem) {
        fprintf(stderr, "pgc_a3c: %s\n", problem);
        return false;
    }
    watch.result.area = watch.total / TRIAL_HORIZON / TRIAL_CAP;
    watch.result.cpu_seconds = cpu_seconds() - start;
    *out = watch.result;
    return true;
}
