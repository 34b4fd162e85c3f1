/* Held-out experts: the split before the training, and what they say at its end. */
#include "api/jobs/run/job_run.h"

#include "algos/privacy/noise/noise_source.h"

struct dataset *job_judge_training(struct job_run *run, struct dataset *data)
{
    const double share = run->plan.request.judge.held_out;
    if (!data || share <= 0.0)
        return data;
    struct dataset *part = held_out_part(data, share, false);
    dataset_free(data);
    run->waiting = run->waiting || !part;
    return part;
}

/* Loads the experts who judge. NULL: the data are gone, unless a flag of RUN says another reason.
 */
static struct dataset *held_out_load(struct job_run *run)
{
    struct dataset *data = job_run_load(run), *part = NULL;
    if (!data)
        return NULL;
    part = held_out_part(data, run->plan.request.judge.held_out, true);
    dataset_free(data);
    run->waiting = run->waiting || !part;
    return part;
}

bool job_judge_held_out(struct job_run *run, const struct policy *policy)
{
    const struct judge_terms *terms = &run->plan.request.judge;
    const struct judge_pulse pulse = job_judge_pulse(run);
    const double noise_multiplier = run->plan.plan.judge_noise;
    int64_t sums[HELD_OUT_SUMS];
    struct dataset *part = held_out_load(run);
    struct noise_source *noise = noise_source_new("held-out judge");
    run->waiting = run->waiting || !noise;
    if (part && noise &&
        held_out_sum(part, policy, terms, run->plan.judge_discount, &pulse, sums)) {
        held_out_noise(noise, noise_multiplier, sums);
        run->witness = held_out_conclude(sums, terms, noise_multiplier);
        run->judged = true;
    }
    noise_source_free(noise);
    dataset_free(part);
    if (!part)
        return job_judge_unread(run);
    return job_run_held_up(run) == ALGORITHM_OK;
}

json_t *job_judge_held_out_json(const struct job_run *run)
{
    const struct held_out_figures *found = &run->witness;
    json_t *reasons = json_array();
    for (unsigned i = 0; i < found->reason_count; i++)
        json_array_append_new(reasons, json_string(found->reason[i]));
    return json_pack("{s:s, s:o, s:f, s:{s:o, s:o, s:o, s:o}}", "verdict",
                     judge_verdict_name(found->verdict), "reasons", reasons, "confidence",
                     JUDGE_CONFIDENCE, "held_out", "experts",
                     job_judge_interval_json(&found->experts), "behaviour",
                     job_judge_interval_json(&found->behaviour), "agreement",
                     job_judge_interval_json(&found->agreement), "agreeing",
                     job_judge_interval_json(&found->agreeing));
}
