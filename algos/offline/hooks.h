/* What every training loop does with the hooks of its run (struct algorithm_hooks). */
#ifndef TACET_ALGOS_OFFLINE_HOOKS_H
#define TACET_ALGOS_OFFLINE_HOOKS_H

#include "algos/algorithm.h"

/* Asks the pulse what to do after STEPS_DONE, and does it. SAVE writes a checkpoint of CONTEXT and
 * returns whether the checkpoint was kept; SAVE is NULL when there is nothing to save.
 * ALGORITHM_OK: go on. _PAUSED (asked for, or the checkpoint was not kept) and _CANCELLED end the
 * run. */
enum algorithm_status hooks_pulse(const struct algorithm_hooks *hooks, uint64_t steps_done,
                                  bool (*save)(void *context), void *context);

/* Calls work(what, i) for every i below COUNT: by the run's threads if there are any, else in
 * order. */
void hooks_parallel(const struct algorithm_hooks *hooks, void (*work)(void *what, uint32_t i),
                    void *what, uint32_t count);

#endif
