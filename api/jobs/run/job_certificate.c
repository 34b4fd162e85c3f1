/* The certificate of a trained policy. Its sentences follow docs/privacy.md. */
#include "api/jobs/run/job_certificate.h"

#include "api/call/app.h"
#include "api/call/certificate.h"
#include "api/jobs/ask/job_teacher.h"
#include "api/json/json_text.h"

static const char neighbours_declared[] =
    "Two datasets are neighbours when one has one expert more: that expert with everything it "
    "uploaded is added or removed. The number of experts that sets the sampling rate was declared "
    "in public.";
static const char neighbours_counted[] =
    "Two datasets are neighbours when they differ in one expert's data, which are emptied while "
    "its slot stays. The number of experts was counted when the dataset was sealed and is treated "
    "as public.";

static const char warning_injected[] =
    "NOT PRIVATE: the noise came from a generator whose key was given to it and can be repeated. "
    "Nothing that this certificate says about privacy holds.";

static const char noise_float[] =
    "Each noisy step's batch is a Poisson sample of the experts at the "
    "stated rate; the noise is Gaussian and comes from a generator that is secure.";
static const char noise_exact[] =
    "Each noisy step's batch is a Poisson sample of the experts at the stated rate; the noise is a "
    "Gaussian rounded to whole numbers, drawn from a table whose distance from the true law is "
    "paid for, and comes from a generator that is secure.";
static const char warning_float[] =
    "Noise is drawn and added in 32-bit floating point; no theorem covers its last bits. The "
    "weights are rounded to multiples of 2^-20, which is post-processing.";
static const char warning_exact[] =
    "Exact arithmetic: every expert's clipped gradient was truncated to a public lattice, whole "
    "numbers were summed and rounded Gaussian noise was added to them; the proof covers what was "
    "computed. All that followed, floating point included, is post-processing.";

static bool is_exact(const struct job_plan *plan)
{
    return plan->plan.privacy.rounded_draws > 0;
}

static const char neighbours_policy[] =
    "Two sets of experts are neighbours when one has one policy more. What is protected is an "
    "expert's policy, out of which its trajectories are thought to be drawn afresh; its logged "
    "trajectories themselves are not.";

static const char warning_logged[] =
    "PROTECTS POLICIES ONLY: beginnings of uploaded trajectories were used as they are. Whoever "
    "knows a trajectory may recognise it; nothing here protects it.";

static bool uses_logged(const struct job_plan *plan)
{
    const struct stage_request *stage = &plan->request.stage;
    return stage->kind == STAGE_STABLE && stage->source == STABLE_LOGGED;
}

/* What the first stage takes for granted; NULL: there is none. */
static const char *stage_assumption(const struct job_plan *plan)
{
    const struct stage_request *stage = &plan->request.stage;
    if (stage->kind == STAGE_CONSENSUS && stage->grid.dims > 0) {
        return "Labels: the grid of states that the experts were asked at was declared, not "
               "derived from the data. An expert's policy, uploaded or cloned, is a function of "
               "its own "
               "data alone.";
    }
    if (stage->kind == STAGE_CONSENSUS) {
        return "Labels: the world that the experts' consensus was played in is public, and so are "
               "the number of labels, the length of episodes and the share of random actions. An "
               "expert's policy, uploaded or cloned, is a function of its own data alone.";
    }
    if (stage->kind != STAGE_STABLE)
        return NULL;
    if (uses_logged(plan)) {
        return "Stable prefixes: every expert's trajectories were drawn from its uploaded policy "
               "mixed to the stated min_action_probability, in one world whose start states, "
               "transitions and rewards are the same for all experts and public.";
    }
    return "Stable prefixes: trajectories were played here, in a public world, from the very "
           "policies that were counted; an expert's policy, uploaded or cloned, is a function of "
           "its own data alone.";
}

static void add_sentence(json_t *list, const char *sentence)
{
    json_array_append_new(list, json_string(sentence));
}

static void add_sentences(json_t *json, const char *const list[STATEMENT_SENTENCES])
{
    for (unsigned i = 0; i < STATEMENT_SENTENCES && list[i]; i++)
        add_sentence(json, list[i]);
}

static const char sweep_assumption[] =
    "The policy is the best of several tries by its play in a public world; plan.tries has all of "
    "them, and all were charged in one composition.";

/* Nothing private takes part in it: algos/offline/choice.h. */
static const char choice_assumption[] =
    "The policy is the one of several moments of its training that played best in a public world, "
    "with public coins: the figures cover the weights of every moment, not the last alone.";

static const char public_assumption[] =
    "The environment, the bounds on episodes and actions, and all settings are "
    "public and were not derived from the data.";
static const char warning_choices[] =
    "Every job on the dataset is charged; a choice of settings made by looking at results that "
    "were not released is not accounted.";

static json_t *assumptions_json(const struct job_plan *plan)
{
    struct statement own;
    json_t *list = json_array();
    if (job_plan_statement(plan, &own)) {
        add_sentences(list, own.assumptions);
        return list;
    }
    if (plan->plan.privacy.steps > 0 && is_exact(plan))
        add_sentence(list, noise_exact);
    else if (plan->plan.privacy.steps > 0)
        add_sentence(list, noise_float);
    if (plan->try_count > 0)
        add_sentence(list, sweep_assumption);
    if (plan->request.choice.candidates > 0)
        add_sentence(list, choice_assumption);
    if (plan->request.stage.kind != STAGE_NONE)
        add_sentence(list, stage_assumption(plan));
    add_sentence(list, public_assumption);
    if (plan->experts_declared)
        add_sentence(list, "The declared number of experts is public.");
    else
        add_sentence(list, "The number of experts is public.");
    add_sentence(list, "One expert's data are uploaded under one name.");
    return list;
}

static json_t *warnings_json(const struct job_plan *plan, bool injected_noise)
{
    struct statement own;
    json_t *list = json_array();
    if (injected_noise)
        add_sentence(list, warning_injected);
    if (job_plan_statement(plan, &own)) {
        add_sentences(list, own.warnings);
        return list;
    }
    if (uses_logged(plan))
        add_sentence(list, warning_logged);
    if (plan->plan.privacy.steps > 0 && is_exact(plan))
        add_sentence(list, warning_exact);
    else if (plan->plan.privacy.steps > 0)
        add_sentence(list, warning_float);
    add_sentence(list, warning_choices);
    add_sentence(list, "What many experts have in common is meant to be learnt and is not hidden.");
    add_sentence(list, "The data are what was uploaded: nothing here says that they are true.");
    return list;
}

#define FIGURES                                                                                    \
    "epsilon is an upper and epsilon_lower a lower bound of what these steps cost, "               \
    "epsilon_renyi a check by Renyi accounting"

static const char accountant_sampled[] =
    "privacy-loss distribution of the composed Poisson-subsampled Gaussian, both "
    "directions; " FIGURES;
static const char accountant_plain[] = "closed form of the composed Gaussian; " FIGURES;

static const char accountant_stable[] =
    "privacy-loss distribution of all runs of the sparse vector, each an (epsilon, delta) pair, "
    "and of the composed Poisson-subsampled Gaussian, in one, both directions; " FIGURES;
static const char accountant_labels[] =
    "closed form of the composed Gaussian, of sensitivity sqrt(1 - 1/actions); " FIGURES;

static const char *accountant_sentence(const struct job_plan *plan)
{
    switch (plan->request.stage.kind) {
    case STAGE_STABLE:
        return accountant_stable;
    case STAGE_CONSENSUS:
        return accountant_labels;
    case STAGE_NONE:
        break;
    }
    if (plan->plan.privacy.sampling_rate < 1)
        return accountant_sampled;
    return accountant_plain;
}

static const char *neighbours_of(const struct job_plan *plan)
{
    if (uses_logged(plan))
        return neighbours_policy;
    if (plan->experts_declared)
        return neighbours_declared;
    return neighbours_counted;
}

static json_t *certificate_privacy(const struct job_plan *plan)
{
    const struct dp_sgd_plan *p = &plan->plan.privacy;
    struct statement own;
    if (!job_plan_statement(plan, &own)) {
        own.neighbours = neighbours_of(plan);
        own.accountant = accountant_sentence(plan);
    }
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:s}", "unit", job_plan_unit(plan),
                     "neighbours", own.neighbours, "epsilon", json_number(p->epsilon), "delta",
                     json_number(p->delta), "epsilon_lower", json_number(p->epsilon_lower),
                     "epsilon_renyi", json_number(p->epsilon_renyi), "accountant", own.accountant);
}

char *job_certificate(const struct app *app, const struct job_row *job, const struct job_plan *plan,
                      const char *id, const char *policy, bool injected_noise, int64_t now_ms)
{
    const char *version = "";
    if (app->settings.version)
        version = app->settings.version;
    json_t *ledger =
        json_pack("{s:o, s:s}", "account", json_text_or_null(job->account), "hold", job->id);
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:o, s:o, s:s, s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "id",
        id, "policy", policy, "job", job->id, "dataset", json_text_or_null(job->dataset),
        "environment", json_text_or_null(plan->learn.name), "algorithm", job->algorithm,
        "mechanism", job->mechanism, "issued_at", json_time(now_ms), "software_version", version,
        "privacy", certificate_privacy(plan), "plan", job_plan_privacy(plan), "parameters",
        job_plan_parameters(plan), "assumptions", assumptions_json(plan), "warnings",
        warnings_json(plan, injected_noise), "ledger", ledger, "teacher", job_teacher_json(plan));
    char *text = certificate_sign(app, json);
    json_decref(json);
    return text;
}
