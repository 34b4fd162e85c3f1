/* The checks that every accountant's question must pass. */
#include "algos/privacy/accounting/accountant.h"

static bool composition_fine(const struct composition *composition)
{
    for (size_t i = 0; i < composition->count; i++)
        if (mechanism_problem(&composition->part[i].mechanism) || !composition->part[i].times)
            return false;
    return composition->count > 0;
}

enum accountant_status accountant_answer(const struct accountant *accountant,
                                         const struct composition *composition,
                                         const struct accountant_question *question,
                                         struct privacy_interval *out)
{
    double at = question->at;
    bool fine = question->for_delta ? at >= 0.0 : at > 0.0 && at < 1.0;
    if (!fine || !composition_fine(composition))
        return ACCOUNTANT_BAD;
    return accountant->figure(composition, question, out);
}

enum accountant_status accountant_epsilon(const struct accountant *accountant,
                                          const struct composition *composition, double delta,
                                          struct privacy_interval *out)
{
    const struct accountant_question question = {.at = delta};
    return accountant_answer(accountant, composition, &question, out);
}

enum accountant_status accountant_delta(const struct accountant *accountant,
                                        const struct composition *composition, double epsilon,
                                        struct privacy_interval *out)
{
    const struct accountant_question question = {.for_delta = true, .at = epsilon};
    return accountant_answer(accountant, composition, &question, out);
}
