/* A price that was computed once is taken again. These programs make the same plans thousands of
 * times, and a price is a function of its plan and of nothing else. */
#ifndef TACET_TESTS_UNIT_NONINTERFERENCE_PRICES_H
#define TACET_TESTS_UNIT_NONINTERFERENCE_PRICES_H

#include <stdbool.h>

/* From now on every price is computed, or not: where allocations are counted, those of a price
 * count. */
void prices_compute(bool every);

#endif
