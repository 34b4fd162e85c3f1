/* Allocations whose size a user chooses, which fail when they are told to: every call of malloc,
 * calloc and realloc by the service itself, while it serves a request or works on a job. Small
 * allocations (memory/memory.h) do not fail: they would end the process, as they promise. The
 * linker wraps all of these names (tests.mk). */
#ifndef TACET_TESTS_UNIT_FAULTS_FAILING_MEMORY_H
#define TACET_TESTS_UNIT_FAULTS_FAILING_MEMORY_H

#include <stdbool.h>

/* The N-th allocation from now on fails, the first being 0; with STAYS all later ones do. */
void failing_memory_arm(unsigned n, bool stays);

/* None fails from now on. Gives how many there were since failing_memory_arm. */
unsigned failing_memory_end(void);

#endif
