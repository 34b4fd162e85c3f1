/* A limit of computing that is counted, never timed: the same question ends in the same way on
 * every machine. */
#ifndef TACET_ALGOS_PRIVACY_MATH_WORK_H
#define TACET_ALGOS_PRIVACY_MATH_WORK_H

#include <stdbool.h>

struct work {
    double left; /* in steps of some 3 ns */
};

/* Takes STEPS from WORK. False: there are not so many left, and from then on none. A WORK of NULL
 * has no end. */
static inline bool work_take(struct work *work, double steps)
{
    if (!work)
        return true;
    bool enough = work->left >= steps;
    work->left = enough ? work->left - steps : 0.0;
    return enough;
}

#endif
