/* Pulses and threads of a run. */
#include "algos/offline/hooks.h"

enum algorithm_status hooks_pulse(const struct algorithm_hooks *hooks, uint64_t steps_done,
                                  bool (*save)(void *context), void *context)
{
    if (!hooks->pulse)
        return ALGORITHM_OK;
    switch (hooks->pulse(hooks->context, steps_done)) {
    case PULSE_CONTINUE: return ALGORITHM_OK;
    case PULSE_SAVE: return !save || save(context) ? ALGORITHM_OK : ALGORITHM_PAUSED;
    case PULSE_SAVE_AND_PAUSE:
        if (save)
            (void)save(context);
        return ALGORITHM_PAUSED;
    case PULSE_CANCEL: break;
    }
    return ALGORITHM_CANCELLED;
}

void hooks_parallel(const struct algorithm_hooks *hooks, void (*work)(void *what, uint32_t i),
                    void *what, uint32_t count)
{
    if (hooks->parallel) {
        hooks->parallel(hooks->context, work, what, count);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        work(what, i);
}
