/* A calloc that can be made to fail at a call that is counted down to, whichever thread makes it.
 */
#ifndef TACET_TESTS_UNIT_API_FAILING_CALLOC_H
#define TACET_TESTS_UNIT_API_FAILING_CALLOC_H

#include <stdatomic.h>

extern atomic_int callocs_left; /* to the one that fails; -1: none does */

#endif
