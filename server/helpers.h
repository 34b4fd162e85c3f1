/* Threads that help job workers: when a job's work falls into independent items, its worker and all
 * free helpers share them. Helpers hold no job, no connection and no state between items. */
#ifndef TACET_SERVER_HELPERS_H
#define TACET_SERVER_HELPERS_H

#include <stdbool.h>
#include <stdint.h>

#define HELPER_COMPUTE_SLICE_NS 20000000
#define HELPER_ANSWER_SLICE_NS 1000000
#define HELPER_COMMIT_SLICE_NS 100000 /* the least that Linux gives */
#define HELPER_SPIN_NS         100000 /* a helper that is asked for more within this time did not sleep */
#define HELPER_NICENESS        10 /* of threads that train */

#define HELPERS_CORES_MAX      64

struct helpers;

/* The processor's cores, at most HELPERS_CORES_MAX. */
unsigned helpers_cores(void);

/* Starts COUNT threads (0: none, all work is the caller's), or as many as the system gives: one
 * less than the cores, so that a job that is alone has them all. */
struct helpers *helpers_start(unsigned count);

/* A worker's turn BEGINS, or is over. So many helpers rest as there are workers in a turn, beside
 * the first. */
void helpers_worker(struct helpers *helpers, bool begins);

/* Lowers the calling thread's priority by so many steps of nice, because questions that wait for a
 * commit come first. BATCH: it computes for long, and takes no processor from who has one. */
void helpers_lower_priority(int steps, bool batch);

/* The calling thread, and those that it starts, take a processor soon after what they wait for has
 * come, also from a thread with a longer slice, and each time for SLICE_NS only.
 * helpers_lower_priority takes that back. What other times gave is in docs/siege.md. Without effect
 * before Linux 6.12. */
void helpers_answer_soon(uint64_t slice_ns);

/* Calls work(what, i) once for every i below COUNT, in any order, on the calling thread and on free
 * helpers. Returns when all calls have ended. Several threads may call at the same time. */
void helpers_run(struct helpers *helpers, void (*work)(void *what, uint32_t i), void *what,
                 uint32_t count);

/* Waits for the threads and frees. No helpers_run may be going on. NULL is fine. */
void helpers_stop(struct helpers *helpers);

#endif
