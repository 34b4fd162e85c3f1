/* Which noise to answer with. */
#include "api/teachers/answer_estimate.h"

#include "algos/privacy/answers/filter.h"
#include "api/call/budget.h"
#include "api/json/json_text.h"

json_t *answer_error_json(const struct answer_error *uniform, const struct answer_error *peaked)
{
    return json_pack("{s:{s:o, s:o}, s:{s:o, s:o}}", "uniform", "l1", json_number(uniform->l1),
                     "l2", json_number(uniform->l2), "peaked", "l1", json_number(peaked->l1), "l2",
                     json_number(peaked->l2));
}

static json_t *choice_json(const struct answer_choice *choice, json_t *mechanism,
                           const struct filter_release *release,
                           const struct answer_purpose *purpose)
{
    int64_t queries = 0;
    json_t *error = json_null();
    if (choice->possible) {
        filter_best_order(release, purpose->epsilon, purpose->delta, &queries);
        error = answer_error_json(&choice->uniform, &choice->peaked);
    }
    return json_pack("{s:o, s:b, s:I, s:o}", "mechanism", mechanism, "possible",
                     (int)choice->possible, "queries", (json_int_t)queries, "expected_error",
                     error);
}

static json_t *setting_json(const struct answer_choice *choice)
{
    if (!choice->possible)
        return json_null();
    return json_number(choice->setting);
}

static json_t *dirichlet_json(const struct answer_choice *choice,
                              const struct answer_purpose *purpose)
{
    const struct dirichlet mechanism = {
        .actions = purpose->actions,
        .concentration = choice->setting,
        .min_probability = purpose->min_probability,
        .sensitivity = (1 - purpose->actions * purpose->min_probability) * purpose->change};
    const struct filter_release release = filter_dirichlet(&mechanism);
    return choice_json(choice,
                       json_pack("{s:s, s:o, s:o}", "name", "dirichlet", "concentration",
                                 setting_json(choice), "min_probability",
                                 json_number(purpose->min_probability)),
                       &release, purpose);
}

static json_t *gaussian_json(const struct answer_choice *choice,
                             const struct answer_purpose *purpose)
{
    const struct gaussian_simplex mechanism = {
        .actions = purpose->actions, .sigma = choice->setting, .sensitivity = purpose->change};
    const struct filter_release release = filter_gaussian_simplex(&mechanism);
    return choice_json(
        choice, json_pack("{s:s, s:o}", "name", "gaussian_simplex", "sigma", setting_json(choice)),
        &release, purpose);
}

static double choice_distance(const struct answer_choice *choice)
{
    return choice->uniform.l1 + choice->peaked.l1;
}

json_t *answer_estimate_json(const struct answer_purpose *purpose)
{
    struct answer_choice dirichlet, gaussian;
    answer_choices(purpose->actions, purpose->change, purpose->min_probability, purpose->answers,
                   purpose->epsilon, purpose->delta, &dirichlet, &gaussian);
    bool first = dirichlet.possible &&
                 (!gaussian.possible || choice_distance(&dirichlet) < choice_distance(&gaussian));
    const char *recommended = NULL;
    if (first)
        recommended = "dirichlet";
    else if (gaussian.possible)
        recommended = "gaussian_simplex";
    return json_pack("{s:o, s:o, s:[o, o], s:o}", "answers", json_number(purpose->answers),
                     "budget", budget_amount(purpose->epsilon, purpose->delta), "mechanisms",
                     dirichlet_json(&dirichlet, purpose), gaussian_json(&gaussian, purpose),
                     "recommended", json_text_or_null(recommended));
}
