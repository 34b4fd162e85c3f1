/* The algorithms of this program. */
#ifndef TACET_ALGOS_CATALOGUE_ALGORITHMS_H
#define TACET_ALGOS_CATALOGUE_ALGORITHMS_H

#include "algos/algorithm.h"

/* The table, *COUNT long. */
const struct algorithm *const *algorithm_all(unsigned *count);

/* The algorithm NAME ("cql"); NULL: there is none. */
const struct algorithm *algorithm_find(const char *name);

/* Why ALGORITHM does not learn a Q-function from a dataset: what it does instead, to end a sentence
 * that begins with its name. NULL where it does. */
const char *algorithm_lacks_q(const struct algorithm *algorithm);

#endif
