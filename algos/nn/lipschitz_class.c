/* The ranges of a Lipschitz class. */
#include "algos/nn/lipschitz_class.h"

#include <stddef.h>

const char *lipschitz_class_problem(const struct lipschitz_class *class)
{
    if (!(class->lipschitz >= 1e-6 && class->lipschitz <= 1e12))
        return "lipschitz must be from 1e-6 to 1e12";
    if (!(class->value_limit >= 1e-12 && class->value_limit <= 1e12))
        return "value_limit must be from 1e-12 to 1e12";
    return NULL;
}
