/* Running both stages: the release, then the algorithm's own training.
 *
 * DESIGN. What the first stage released goes into the run's checkpoint, on disk, before the first
 * step of the second is taken, and every later checkpoint carries the same bytes: from then on it
 * is only ever read back. A crash before that redraws it: nothing that depended on the first draw
 * was stored, shown or used, just as steps after the last checkpoint are taken again with fresh
 * noise. A caller whose disk did not take the bytes has to pause.
 *
 * The second stage sees the data and what was released, never who was drawn: its guarantee holds
 * for every fixed output of the first, which is what composing the two needs. */
#ifndef TACET_ALGOS_OFFLINE_STAGE_H
#define TACET_ALGOS_OFFLINE_STAGE_H

#include "algos/algorithm.h"

struct stage_run {
    const struct algorithm *algorithm;
    const struct algorithm_run *run; /* its stable is NULL; its checkpoint is that of both stages;
                                        its hooks have experts, who are asked, and cloned, only
                                        while the first stage is not done */
    const struct env *env;           /* NULL where nothing is played: STABLE_LOGGED,
                                        and a grid of states */
    /* As hooks.save, but true only when the bytes are on disk. */
    bool (*keep)(void *context, uint64_t steps_done, const unsigned char *bytes, size_t size);
    void *context;
};

/* As algorithm->train. Requests of STAGE_NONE are trained as they are. */
enum algorithm_status stage_train(const struct stage_run *stage, struct policy **out_policy,
                                  const char **message);

#endif
