/* Judges a policy by fitted Q evaluation on a public dataset. */
#include "api/jobs/run/job_run.h"

#include <math.h>

#include "api/json/json_text.h"

#define JUDGE_SEED UINT64_C(20261121)
#define MOST_VALUE 10.0 /* of values in the fit's own scale */

/* Settings of the fit. Its scales are the job's own, of FEATURES, or else taken from the public
 * data. */
static struct fitted_q_settings settings_for(const struct dataset *data,
                                             const struct features *features, double discount)
{
    struct fitted_q_settings settings = fitted_q_defaults(discount);
    double reward = 0, squares = 0;
    uint64_t numbers = (data->transition_count + data->trajectory_count) * data->state_dim;
    for (uint64_t t = 0; t < data->transition_count; t++)
        reward = fmax(reward, fabs((double)data->rewards[t]));
    for (uint64_t i = 0; i < numbers; i++)
        squares += (double)data->states[i] * (double)data->states[i];
    double spread = sqrt(squares / (double)numbers);
    if (reward > 0 && isfinite(reward))
        settings.reward_scale = MOST_VALUE * fmax(1 - discount, 1e-3) / reward;
    if (!features && spread > 0 && isfinite(spread))
        settings.input_scale = 1 / spread;
    settings.features = features;
    return settings;
}

static bool fit_goes_on(void *context)
{
    return job_run_goes_on(context);
}

bool job_judge(struct job_run *run, const struct policy *policy)
{
    const char *message;
    struct dataset *data = job_run_load_other(run, run->plan.judge);
    if (!data)
        return job_run_held_up(run) == ALGORITHM_OK;
    const struct fitted_q_settings settings =
        settings_for(data, run->plan.request.features, run->plan.judge_discount);
    enum algorithm_status status = fitted_q_evaluate(&settings, policy, data, JUDGE_SEED,
                                                     fit_goes_on, run, &run->judgement, &message);
    dataset_free(data);
    run->judged = status == ALGORITHM_OK;
    run->waiting = run->waiting || status == ALGORITHM_NO_MEMORY;
    return job_run_held_up(run) == ALGORITHM_OK;
}

void job_judge_show(const struct job_run *run, json_t *object)
{
    if (!run->judged)
        return;
    const struct fitted_q_result *found = &run->judgement;
    json_object_set_new(object, "fitted_q_value", json_number(found->value));
    json_object_set_new(object, "fitted_q_standard_error", json_number(found->standard_error));
    json_object_set_new(object, "fitted_q_residual", json_number(found->residual));
    json_object_set_new(object, "fitted_q_starts", json_integer((json_int_t)found->starts));
}
