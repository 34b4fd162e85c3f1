/* Keeps the processors from sleeping while answers are many.
 *
 * A request changes threads a few times, and on a virtual machine each change may wake a processor
 * that has just gone to sleep: tens of microseconds at best, milliseconds where the host has given
 * it to somebody else. The kernel takes a wish against that ("PM QoS": the longest wake-up that
 * somebody can bear, in microseconds, written to /dev/cpu_dma_latency, good for as long as the file
 * is open; Linux, Documentation/power/pm_qos_interface.rst). It costs electricity on every
 * processor of the machine, so it is held only while there is much to do, and only where the
 * operator asked for it. */
#ifndef TACET_SERVER_VIGIL_H
#define TACET_SERVER_VIGIL_H

#include <stddef.h>
#include <stdint.h>

#include "server/metrics.h"

#define VIGIL_DEVICE    "/dev/cpu_dma_latency"
#define VIGIL_WINDOW_US 50000 /* much to do: so many answers within so long ... */
#define VIGIL_ANSWERS   50
#define VIGIL_QUIET_US  100000 /* ... and not any more: none of that for so long */

struct vigil;

/* Opens DEVICE (VIGIL_DEVICE; a test's file) and starts the thread that ends a vigil. METRICS shows
 * whether one is held and outlives it. NULL: ERROR says in a line what is missing. */
struct vigil *vigil_start(const char *device, struct metrics *metrics, char *error,
                          size_t error_size);

/* An answer left at NOW_US of the monotonic clock. One thread's. NULL is fine: nobody asked for
 * one. */
void vigil_note(struct vigil *vigil, int64_t now_us);

/* Lets the processors sleep. NULL is fine. */
void vigil_stop(struct vigil *vigil);

#endif
