/* Rehearsals: the training of the plan on made-up data. The job has no dataset, so nothing here can
 * read one. */
#include "api/jobs/run/job_run.h"

#include <math.h>
#include <stdio.h>

#include "api/json/json_text.h"
#include "memory/buffer.h"

#define SENTENCE_MAX 1024

enum algorithm_status job_rehearse(struct job_run *run, const char **message)
{
    const struct algorithm_hooks hooks = job_hooks_of(run);
    const struct rehearsal rehearsal = {.algorithm = run->plan.algorithm,
                                        .request = &run->plan.request,
                                        .plan = &run->plan.plan,
                                        .terms = run->plan.rehearsal,
                                        .hooks = &hooks};
    enum algorithm_status status = rehearsal_train(&rehearsal, &run->rehearsed, message);
    if (status != ALGORITHM_OK)
        run->rehearsed.runs = 0;
    return status;
}

/* ---- what came of it */

/* Adds the qualities of all runs that have one; returns their number. */
static uint32_t rehearsal_list(struct buffer *out, const struct rehearsal_figures *f)
{
    uint32_t compared = 0, listed = 0;
    for (uint32_t r = 0; r < f->runs; r++)
        compared += isfinite(f->run[r].quality);
    for (uint32_t r = 0; r < f->runs; r++) {
        if (!isfinite(f->run[r].quality))
            continue;
        if (listed > 0)
            buffer_add_text(out, listed + 1 == compared ? " and " : ", ");
        buffer_add_format(out, "%.2f", f->run[r].quality);
        listed++;
    }
    return compared;
}

static void rehearsal_sentence(struct buffer *out, const struct job_run *run)
{
    const struct rehearsal_figures *f = &run->rehearsed;
    const struct algorithm_request *request = &run->plan.request;
    struct buffer list = {.lid = SENTENCE_MAX};
    uint32_t compared = rehearsal_list(&list, f);
    buffer_add_format(out,
                      "Of %u trainings on made-up data of this shape (%u experts, %u numbers a "
                      "state, %u actions) with this noise",
                      f->runs, request->nominal_experts, request->state_dim, request->action_count);
    if (compared > 0) {
        buffer_add_format(out,
                          ", the policies earned %s of what the same training earned without "
                          "privacy (0 is random play)",
                          (const char *)list.bytes);
    }
    if (compared > 0 && compared < f->runs)
        buffer_add_format(out, "; in the other %u", f->runs - compared);
    else if (compared == 0)
        buffer_add_text(out, ", none can be judged:");
    if (compared < f->runs)
        buffer_add_text(out, " the same training learnt next to nothing without privacy either");
    buffer_add_text(out, ". Made-up worlds are easier than real ones: the real job may do worse.");
    buffer_clear(&list);
}

void job_rehearsal_show(const struct job_run *run, json_t *object)
{
    const struct rehearsal_figures *f = &run->rehearsed;
    struct buffer text = {.lid = SENTENCE_MAX};
    json_t *runs = json_array();
    double sum = 0;
    if (f->runs == 0) {
        json_decref(runs);
        return;
    }
    for (uint32_t r = 0; r < f->runs; r++) {
        const struct rehearsal_run *one = &f->run[r];
        json_list_add(&runs, json_pack("{s:o, s:o, s:o, s:o}", "quality", json_number(one->quality),
                                       "return", json_number(one->private_return),
                                       "non_private_return", json_number(one->plain_return),
                                       "behaviour", json_number(one->behaviour)));
        sum += one->quality;
    }
    rehearsal_sentence(&text, run);
    json_object_set_new(
        object, "rehearsal",
        json_pack("{s:o, s:o, s:o, s:I, s:o, s:s}", "quality", json_number(sum / f->runs),
                  "random_return", json_number(f->random_return), "best_return",
                  json_number(f->best_return), "episode_steps", (json_int_t)f->steps, "runs", runs,
                  "sentence", (const char *)text.bytes));
    buffer_clear(&text);
}
