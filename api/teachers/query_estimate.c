/* Expected errors, at two public policies: the teacher's own distribution is not looked at. */
#include "api/teachers/query_estimate.h"

#include <math.h>

#include "algos/privacy/answers/dirichlet_paper.h"
#include "api/json/json_text.h"
#include "api/teachers/answer_estimate.h"

static json_t *expected_error_json(const struct teacher *teacher, double concentration)
{
    double uniform[TEACHER_MAX_ACTIONS], peaked[TEACHER_MAX_ACTIONS];
    answer_error_uniform(teacher->actions, uniform);
    answer_error_peaked(teacher->actions, peaked);
    struct answer_error at_uniform = teacher_answer_error(teacher, concentration, uniform);
    struct answer_error at_peaked = teacher_answer_error(teacher, concentration, peaked);
    return answer_error_json(&at_uniform, &at_peaked);
}

static json_t *alternative_json(const struct shelved_teacher *teacher,
                                const struct filter_price *price)
{
    struct teacher other;
    if (!teacher_gaussian_for(&teacher->teacher, teacher->row.renyi_order, teacher->row.delta_share,
                              price, &other))
        return json_null();
    return json_pack("{s:{s:s, s:o, s:o}, s:o}", "mechanism", "name", other.mechanism->name,
                     "sigma", json_number(other.gaussian.sigma), "temperature",
                     json_number(other.temperature), "expected_error",
                     expected_error_json(&other, 0));
}

bool query_estimate_errors(json_t *reply, const struct shelved_teacher *teacher,
                           double concentration, const struct filter_price *price)
{
    bool good = json_object_set_new(reply, "expected_error",
                                    expected_error_json(&teacher->teacher, concentration)) == 0;
    if (good && teacher->teacher.mechanism == &teacher_dirichlet)
        good = json_object_set_new(reply, "alternative", alternative_json(teacher, price)) == 0;
    return good;
}

bool query_estimate_mechanisms(json_t *reply, const struct shelved_teacher *teacher, int64_t count,
                               double epsilon, double delta)
{
    const struct teacher_row *row = &teacher->row;
    uint32_t actions = teacher->teacher.actions;
    struct answer_purpose purpose = {.actions = actions,
                                     .change = teacher_change(&teacher->teacher),
                                     .min_probability = row->min_probability,
                                     .answers = (double)count,
                                     .epsilon = epsilon,
                                     .delta = delta};
    if (!(purpose.min_probability > 0)) /* a Gaussian teacher has none */
        purpose.min_probability = fmin(0.1, 0.5 / actions);
    return json_object_set_new(reply, "comparison", answer_estimate_json(&purpose)) == 0;
}

bool query_estimate_paper(json_t *reply, const struct shelved_teacher *teacher,
                          double concentration, int64_t count, double delta)
{
    struct dirichlet mechanism = teacher->teacher.dirichlet;
    mechanism.concentration = concentration;
    double epsilon = dirichlet_paper_total(&mechanism, (double)count, delta);
    json_t *paper = json_pack("{s:o, s:o, s:b}", "epsilon",
                              isfinite(epsilon) ? json_number(epsilon) : json_null(), "delta",
                              json_number(delta), "guarantee", 0);
    return json_object_set_new(reply, "paper", paper) == 0;
}
