/* The checks that every accountant's question must pass. */
#include "algos/privacy/accounting/accountant.h"

static bool composition_fine(const struct composition *composition)
{
    for (size_t i = 0; i < composition->count; i++)
        if (mechanism_problem(&composition->part[i].mechanism) || !composition->part[i].times)
            return false;
    return composition->count > 0;
}

enum accountant_status accountant_epsilon(const struct accountant *accountant,
                                          const struct composition *composition, double delta,
                                          struct privacy_interval *out)
{
    if (!(delta > 0.0 && delta < 1.0) || !composition_fine(composition))
        return ACCOUNTANT_BAD;
    return accountant->figure(composition, &(struct accountant_question){false, delta}, out);
}

enum accountant_status accountant_delta(const struct accountant *accountant,
                                        const struct composition *composition, double epsilon,
                                        struct privacy_interval *out)
{
    if (!(epsilon >= 0.0) || !composition_fine(composition))
        return ACCOUNTANT_BAD;
    return accountant->figure(composition, &(struct accountant_question){true, epsilon}, out);
}
