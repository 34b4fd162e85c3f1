/* The table of accountants. */
#include "algos/privacy/accounting/accountant.h"

#include <string.h>

static const struct accountant *const ACCOUNTANTS[] = {
    &accountant_pld,
    &accountant_exact,
    &accountant_renyi,
    &accountant_gdp,
    &accountant_optimal_composition,
    &accountant_advanced,
    &accountant_basic,
};

const struct accountant *accountant_find(const char *name)
{
    for (size_t i = 0; i < sizeof ACCOUNTANTS / sizeof ACCOUNTANTS[0]; i++)
        if (strcmp(ACCOUNTANTS[i]->name, name) == 0)
            return ACCOUNTANTS[i];
    return NULL;
}

const struct accountant *accountant_for(const struct composition *composition)
{
    for (size_t i = 0; i < composition->count; i++)
        if (composition->part[i].mechanism.kind == MECHANISM_DIRICHLET)
            return accountant_find("renyi");
    return &accountant_pld;
}
