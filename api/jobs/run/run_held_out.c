/* Held-out experts: the split before the training, and what they say at its end. */
#include "api/jobs/run/job_run.h"

#include "algos/privacy/noise/noise_source.h"

/* The part of DATA, which are freed, of the experts who judge, or of the others. NULL: DATA are
 * NULL, or there is no room, and RUN waits. */
static struct dataset *take_part(struct job_run *run, struct dataset *data, bool judges)
{
    if (!data)
        return NULL;
    struct dataset *part = held_out_part(data, run->plan.request.judge.held_out, judges);
    dataset_free(data);
    run->waiting = run->waiting || !part;
    return part;
}

struct dataset *job_judge_training(struct job_run *run, struct dataset *data)
{
    return run->plan.request.judge.held_out > 0.0 ? take_part(run, data, false) : data;
}

bool job_judge_held_out(struct job_run *run, const struct policy *policy)
{
    const struct judge_terms *terms = &run->plan.request.judge;
    const struct judge_pulse pulse = job_judge_pulse(run);
    const double noise_multiplier = run->plan.plan.judge_noise;
    int64_t sums[HELD_OUT_SUMS];
    struct dataset *part = take_part(run, job_run_load(run), true);
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
