/* A run of an algorithm that plays in a world, for tests: a request, its plan, a caller that stops
 * it, and noise that can be repeated. */
#ifndef TACET_TESTS_UNIT_ALGOS_ONLINE_KIT_H
#define TACET_TESTS_UNIT_ALGOS_ONLINE_KIT_H

#include "algos/algorithm.h"
#include "algos/privacy/noise/noise.h"

struct online_kit {
    const struct algorithm *algorithm;
    struct algorithm_request request;
    struct algorithm_plan plan;
    struct noise_source *noise; /* NULL for MECHANISM_NONE */

    /* The caller: at the first pulse at or after STOP_AT (0: never) it gives ORDER. */
    uint64_t stop_at, saved_at;
    enum algorithm_pulse order;
    unsigned char *bytes; /* the last checkpoint */
    size_t size;
    unsigned told; /* returns shown */
    bool stopped;
};

/* Epsilon 5 and delta 1e-5, seed 1, the world's defaults; settings by kit_set, then kit_plan. Noise
 * of the key that is all KEY. Free with online_kit_clear. */
void online_kit_init(struct online_kit *kit, const char *algorithm,
                     enum algorithm_mechanism mechanism, const char *world, uint8_t key);
void online_kit_clear(struct online_kit *kit);
void online_kit_set(struct online_kit *kit, const char *name, double value);
enum algorithm_status online_kit_plan(struct online_kit *kit, const char **message);

/* Runs from CHECKPOINT (NULL: from the start) and gives the status. *OUT is the caller's. */
enum algorithm_status online_kit_run(struct online_kit *kit, const unsigned char *checkpoint,
                                     size_t size, struct policy **out, const char **message);

/* Plans and runs; asserts that it gives a policy. */
struct policy *online_kit_policy(struct online_kit *kit);

/* Asserts that the run, stopped halfway and gone on with, gives the bits of the whole run. SET
 * gives the settings of a small run. */
void online_kit_resume(const char *algorithm, enum algorithm_mechanism mechanism,
                       void (*set)(struct online_kit *kit), uint64_t stop_at);

#endif
