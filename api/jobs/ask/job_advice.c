/* Outlooks in the words of estimates and refusals. */
#include "api/jobs/ask/job_advice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/json/json_text.h"
#include "memory/buffer.h"

#define SENTENCE_MAX 1024
#define USELESS      0.3 /* a policy may be useless whose quality may be below this */
#define WIDE         0.5 /* from here on an interval says little: as far as from useless to good */

static void advice_of_plan(const struct job_wish *wish, const struct job_plan *plan,
                           struct job_advice *out)
{
    enum advice_method method;
    *out = (struct job_advice){.algorithm = plan->algorithm,
                               .request = &plan->request,
                               .world = wish->dataset.environment,
                               .signal = advice_signal(&plan->request, &plan->plan, &method)};
    advice_look_at(&plan->request, &plan->plan, plan->algorithm->name, out->world, &out->outlook);
}

bool job_advice_look(const struct job_wish *wish, struct job_advice *out)
{
    const struct job_plan *plan = &wish->plan;
    if (!wish->feasible || plan->algorithm->kind != ALGORITHM_LEARNS_FROM_DATA ||
        plan->request.mechanism == MECHANISM_NONE)
        return false;
    if (plan->try_count == 0) {
        advice_of_plan(wish, plan, out);
        return true;
    }
    advice_of_plan(wish, &plan->tries[0], out);
    for (uint32_t t = 1; t < plan->try_count; t++) {
        struct job_advice other;
        advice_of_plan(wish, &plan->tries[t], &other);
        if (other.outlook.expected > out->outlook.expected)
            *out = other;
    }
    return true;
}

bool job_advice_refuses(const struct job_wish *wish, const struct job_advice *advice)
{
    return !wish->plan.request.force && !wish->plan.dataset_public &&
           wish->plan.rehearsal.runs == 0 && advice->outlook.verdict == ADVICE_HOPELESS;
}

/* ---- what would be enough */

void job_advice_enough(const struct job_advice *advice, struct job_enough *out)
{
    *out = (struct job_enough){0};
    if (advice->outlook.verdict == ADVICE_UNKNOWN)
        return;
    advice_enough(advice->algorithm, advice->request, advice->world, ADVICE_WEAK, &out->weak);
    advice_enough(advice->algorithm, advice->request, advice->world, ADVICE_GOOD, &out->good);
}

static json_t *one_enough(const struct advice_enough *enough)
{
    json_t *experts = json_null(), *epsilon = json_null();
    if (enough->experts > 0)
        experts = json_integer(enough->experts);
    if (enough->epsilon > 0)
        epsilon = json_number(enough->epsilon);
    return json_pack("{s:o, s:o}", "experts", experts, "epsilon", epsilon);
}

json_t *job_enough_json(const struct job_enough *enough)
{
    return json_pack("{s:o, s:o}", "weak", one_enough(&enough->weak), "good",
                     one_enough(&enough->good));
}

/* ---- the sentence */

/* Adds what would lead to a result that is called WHAT; false: nothing would. */
static bool sentence_enough(struct buffer *out, const struct job_advice *advice,
                            const struct advice_enough *enough, const char *what)
{
    bool experts = enough->experts > advice->request->nominal_experts;
    bool epsilon = enough->epsilon > advice->request->epsilon;
    if (!experts && !epsilon)
        return false;
    buffer_add_text(out, "; ");
    if (experts)
        buffer_add_format(out, "%u experts", enough->experts);
    if (experts && epsilon)
        buffer_add_text(out, ", or ");
    if (epsilon)
        buffer_add_format(out, "epsilon %.3g", enough->epsilon);
    buffer_add_format(out, "%s would make it %s", experts && epsilon ? "," : "", what);
    return true;
}

static void sentence_more(struct buffer *out, const struct job_advice *advice,
                          const struct job_enough *enough)
{
    enum advice_verdict verdict = advice->outlook.verdict;
    if (!enough || verdict == ADVICE_GOOD)
        return;
    if (sentence_enough(out, advice, &enough->good, "good"))
        return;
    if (verdict == ADVICE_HOPELESS)
        (void)sentence_enough(out, advice, &enough->weak, "better, though weak");
    else if (!advice_grid_is_coarse(advice->request, advice->world))
        buffer_add_text(out, "; in measured runs neither more experts nor a larger epsilon made "
                             "this good");
}

/* What a forecast from measured grids does not know of other data. */
static void sentence_of_grid(struct buffer *out, const struct job_advice *advice)
{
    uint32_t listed = advice->request->stage.grid.count;
    if (listed > 0)
        buffer_add_format(out, " The grid is a list of %u states.", listed);
    if (advice_grid_is_coarse(advice->request, advice->world))
        buffer_add_text(out, " The grid has fewer than five points of a number. The forecast holds "
                             "for data that fill the declared ranges. If what to do changes "
                             "between two points, the policy will do worse.");
}

/* Says 4.1 and 410. */
static void sentence_times(struct buffer *out, const char *what, double times, const char *other)
{
    buffer_add_format(out,
                      times < 100 ? " the %s is %.2g times the %s" : " the %s is %.0f times the %s",
                      what, times, other);
}

static void sentence_write(struct buffer *out, const struct job_advice *advice,
                           const struct job_enough *enough)
{
    const struct advice_outlook *outlook = &advice->outlook;
    if (outlook->verdict == ADVICE_UNKNOWN) {
        buffer_add_text(out, "No run like this one was measured, so there is no forecast.");
        return;
    }
    bool hopeless = outlook->verdict == ADVICE_HOPELESS;
    double signal = advice->signal;
    uint32_t experts = advice->request->nominal_experts;
    buffer_add_format(out, "With %u expert%s and epsilon %.3g", experts, experts == 1 ? "" : "s",
                      advice->request->epsilon);
    if (signal < 1)
        sentence_times(out, "noise", 1 / signal, "signal");
    else if (!hopeless)
        sentence_times(out, "signal", signal, "noise");
    if (hopeless && signal < 1) {
        buffer_add_text(out, ", and no better than random play is to be expected");
    } else if (hopeless) {
        buffer_add_format(out,
                          ", measured runs with a similar signal-to-noise ratio (%.2g) were no "
                          "better than random play",
                          signal);
    } else {
        buffer_add_format(out,
                          ": a %s policy is to be expected, %.0f %% of the way from random play to "
                          "the best without privacy (most likely %.0f %% to %.0f %%)",
                          advice_verdict_name(outlook->verdict), 100 * outlook->expected,
                          100 * outlook->low, 100 * outlook->high);
        if (outlook->high - outlook->low >= WIDE)
            buffer_add_format(
                out, ", which is %s: a rehearsal says more",
                outlook->low < USELESS ? "so wide that the policy may be useless or good" : "wide");
    }
    sentence_more(out, advice, enough);
    buffer_add_text(out, ".");
    sentence_of_grid(out, advice);
}

const char *job_advice_sentence(struct call *call, const struct job_advice *advice,
                                const struct job_enough *enough)
{
    struct buffer text = {.lid = SENTENCE_MAX};
    sentence_write(&text, advice, enough);
    const char *kept = arena_format(&call->arena, "%s", (const char *)text.bytes);
    buffer_clear(&text);
    return kept;
}

/* Held-out experts judge where their noise is paid for beside that of dpsgd alone. */
static const char not_judged[] =
    "Held-out experts cannot judge this job, because its mechanism has no price for them. A public "
    "dataset can (\"judge\":{\"dataset\":...}), and a declared world (evaluate).";

json_t *job_advice_json(const struct job_advice *advice, const struct job_enough *enough)
{
    const struct advice_outlook *outlook = &advice->outlook;
    struct buffer text = {.lid = SENTENCE_MAX};
    sentence_write(&text, advice, enough);
    json_t *json =
        json_pack("{s:s, s:{s:o, s:o, s:o}, s:o, s:o, s:b, s:s}", "verdict",
                  advice_verdict_name(outlook->verdict), "quality", "expected",
                  json_number(round(outlook->expected * 1000) / 1000), "low",
                  json_number(round(outlook->low * 1000) / 1000), "high",
                  json_number(round(outlook->high * 1000) / 1000), "signal",
                  json_number(advice->signal), "runs", json_number(round(outlook->runs * 10) / 10),
                  "measured", (int)outlook->measured, "sentence", (const char *)text.bytes);
    buffer_clear(&text);
    const char *judging = advice->request->stage.kind != STAGE_NONE ? not_judged : NULL;
    json_object_set_new(json, "judging", json_text_or_null(judging));
    return json;
}

enum problem job_advice_too_much(struct call *call)
{
    return call_invalid(
        call, "/privacy/epsilon",
        "takes more than %.0g steps of work to plan for, which is all that one call "
        "may have: a smaller one takes less",
        JOB_ADVICE_STEPS);
}
