/* Job workers: threads at lower priority, each with a connection of its own, that take the oldest
 * job that may run. Workers sleep when no job may run and are woken when a job is submitted. */
#ifndef TACET_SERVER_RUNNER_H
#define TACET_SERVER_RUNNER_H

#include <stdbool.h>

#include "api/api.h"
#include "server/helpers.h"
#include "server/metrics.h"

struct runner;

/* Starts COUNT workers, the i-th with DBS[i] (the array is copied), who may use HELPERS. NULL: no
 * thread can be started. */
struct runner *runner_start(struct app *app, struct db *const *dbs, unsigned count,
                            struct helpers *helpers, struct metrics *metrics);

/* Wakes the workers, because there may be a job to run. */
void runner_wake(struct runner *runner);

/* Asks running jobs to save themselves and pause. Does not wait. */
void runner_ask_to_stop(struct runner *runner);

/* True when no worker runs any more. */
bool runner_has_stopped(const struct runner *runner);

/* Asks to stop, waits for the threads without limit, frees. NULL is fine. */
void runner_stop(struct runner *runner);

#endif
