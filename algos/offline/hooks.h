/* What every loop of learning does with the hooks of its run (struct algorithm_hooks). */
#ifndef TACET_ALGOS_OFFLINE_HOOKS_H
#define TACET_ALGOS_OFFLINE_HOOKS_H

#include "algos/algorithm.h"

/* Asks the pulse what to do after STEPS_DONE, and does it. SAVE writes a checkpoint of CONTEXT and
 * says whether it is kept; NULL: there is nothing to save. ALGORITHM_OK: go on; else _PAUSED (asked
 * for, or the checkpoint is not kept) or _CANCELLED, which ends the run. */
enum algorithm_status hooks_pulse(const struct algorithm_hooks *hooks, uint64_t steps_done,
                                  bool (*save)(void *context), void *context);

/* Calls work(what, i) for every i below COUNT: by the run's threads, or one after the other. */
void hooks_parallel(const struct algorithm_hooks *hooks, void (*work)(void *what, uint32_t i),
                    void *what, uint32_t count);

#endif
