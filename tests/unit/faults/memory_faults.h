/* Allocations that can be made to fail: those whose size a user chooses, which the product asks of
 * malloc, calloc and realloc itself. Those of memory.h end the process when they fail; they do not
 * count. */
#ifndef TACET_TESTS_UNIT_FAULTS_MEMORY_FAULTS_H
#define TACET_TESTS_UNIT_FAULTS_MEMORY_FAULTS_H

#include <setjmp.h>
#include <stdbool.h>

extern int memory_calls_left;    /* to the one that fails; -1: none does */
extern bool memory_stays;        /* every allocation fails from then on, while calls_left is 0 */
extern unsigned memory_failures; /* so many were made to fail */

/* Where the product goes when it ends the process (memory_must). Its memory is lost then, and the
 * caller opens the service anew. */
extern jmp_buf memory_process_end;

#endif
