/* A price that was computed once is taken again. These programs make the same plans thousands of
 * times, and a price is a function of its plan and of nothing else. */
#ifndef TACET_TESTS_UNIT_NONINTERFERENCE_PRICES_H
#define TACET_TESTS_UNIT_NONINTERFERENCE_PRICES_H

/* Where allocations count, those of a price count whether it is computed or taken. LEFT: how many
 * are left until one fails, as in memory_faults.h. A price in which one fails is computed. */
void prices_count(int *left);

#endif
