/* The certificates of trained policies and of released Q-functions. Their sentences follow
 * docs/privacy.md; what differs between them is a statement (algos/statement.h). */
#include "api/jobs/run/job_certificate.h"

#include "api/call/app.h"
#include "api/call/certificate.h"
#include "api/call/commitment.h"
#include "api/data/datasets.h"
#include "api/data/exposure.h"
#include "api/jobs/ask/job_parts.h"
#include "api/json/json_member.h"
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
    "Gaussian rounded to whole numbers, whose distance from the true law is paid for, and comes "
    "from a generator that is secure.";
static const char warning_float[] =
    "Noise is drawn and added in 32-bit floating point; no theorem covers its last bits. The "
    "weights are rounded to multiples of 2^-20, which is post-processing.";
static const char warning_exact[] =
    "Exact arithmetic: every expert's clipped gradient was rounded to a public lattice, whole "
    "numbers were summed and rounded Gaussian noise was added to them; the proof covers what was "
    "computed. All that followed, floating point included, is post-processing.";

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

/* The assumption that the first stage makes; NULL: there is no first stage. */
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
               "transitions and rewards are the same for all experts and public; each ends where "
               "this world ends it, or at a length that is the same for all and public.";
    }
    return "Stable prefixes: trajectories were played here, in a public world, from the very "
           "policies that were counted; an expert's policy, uploaded or cloned, is a function of "
           "its own data alone.";
}

static const char one_name[] = "One expert's data are uploaded under one name.";
static const char warning_common[] =
    "What many experts have in common is meant to be learnt and is not hidden.";

/* Group privacy: Dwork and Roth, The Algorithmic Foundations of Differential Privacy, theorem 2.2.
 */
static const char warning_groups[] =
    "Somebody whose data are in those of k experts, such as a patient of k clinicians, is "
    "protected by k times epsilon alone, at a larger delta.";

static const char sweep_assumption[] =
    "The policy is the best of several tries by its play in a public world; plan.tries has all of "
    "them, and all were charged in one composition.";

/* The choice uses no private data (algos/offline/choice.h). */
static const char choice_assumption[] =
    "The policy is the one of several moments of its training that played best in a public world, "
    "with public coins: the figures cover the weights of every moment, not the last alone.";

static const char judge_assumption[] =
    "A public coin for each expert's name and owner decides whether training reads it or the judge "
    "does. The judge's noisy sums, plan.judge, are composed with the training in these figures; "
    "the "
    "range of returns is public.";

static const char public_assumption[] =
    "The environment, the bounds on episodes and actions, and all settings are "
    "public and were not derived from the data.";
static const char measured_assumption[] =
    "The scales of the inputs, and bounds of states, are released estimates from the same data: an "
    "earlier job's, whose "
    "price stands beside this one's in the dataset's account, if it has one. All other settings "
    "are public and "
    "were not derived from the data.";
static const char warning_choices[] = "Every job on the dataset that has a mechanism is charged; a "
                                      "choice of settings made by looking "
                                      "at results that were not released is not accounted.";

static const char warning_uncharged[] =
    "No account was debited: several such releases tell more than one, and nobody here adds up "
    "their figures.";

#define FIGURES                                                                                    \
    "epsilon is an upper and epsilon_lower a lower bound of what these steps cost, "               \
    "epsilon_renyi a check by Renyi accounting"

static const char accountant_sampled[] =
    "privacy-loss distribution of the composed Poisson-subsampled Gaussian, both "
    "directions; " FIGURES;
static const char accountant_judged[] =
    "privacy-loss distribution of the judge's one Gaussian and of the composed Poisson-subsampled "
    "Gaussian, in one, both directions; " FIGURES;
static const char accountant_plain[] = "closed form of the composed Gaussian; " FIGURES;

static const char accountant_stable[] =
    "privacy-loss distribution of all runs of the sparse vector, each an (epsilon, delta) pair, "
    "and of the composed Poisson-subsampled Gaussian, in one, both directions; " FIGURES;
static const char accountant_labels[] =
    "closed form of the composed Gaussian, of sensitivity sqrt(1 - 1/actions); " FIGURES;

/* Whether steps, of any try where there are some, saw a sample of the experts. */
static bool is_sampled(const struct job_plan *plan)
{
    bool sampled = plan->try_count == 0 && plan->plan.privacy.sampling_rate < 1;
    for (uint32_t t = 0; t < plan->try_count; t++)
        sampled = sampled || plan->tries[t].plan.privacy.sampling_rate < 1;
    return sampled;
}

static const char *accountant_sentence(const struct job_plan *plan)
{
    bool sampled = is_sampled(plan);
    switch (plan->request.stage.kind) {
    case STAGE_STABLE: return accountant_stable;
    case STAGE_CONSENSUS: return accountant_labels;
    case STAGE_NONE: break;
    }
    if (sampled && plan->request.judge.held_out > 0.0)
        return accountant_judged;
    if (sampled)
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

/* Whether every noisy step was exact, of all tries where there are some. */
static bool is_exact(const struct job_plan *plan)
{
    bool exact = plan->try_count > 0 || plan->plan.privacy.rounded_draws > 0;
    for (uint32_t t = 0; t < plan->try_count; t++)
        exact = exact && plan->tries[t].plan.privacy.rounded_draws > 0;
    return exact;
}

/* What a statement says of later releases. CHARGED: a dataset's account pays. */
static const char *warning_further(bool charged)
{
    if (charged)
        return warning_choices;
    return warning_uncharged;
}

/* The privacy statement about experts' data for the steps of a plan. CHARGED: as above. */
static void experts_statement(const struct job_plan *plan, bool charged, struct statement *out)
{
    bool noisy = plan->plan.privacy.steps > 0;
    const char *noise = noise_float, *arithmetic = warning_float;
    const char *number = "The number of experts is public.";
    if (is_exact(plan)) {
        noise = noise_exact;
        arithmetic = warning_exact;
    }
    if (plan->experts_declared)
        number = "The declared number of experts is public.";
    out->neighbours = neighbours_of(plan);
    out->accountant = accountant_sentence(plan);
    if (noisy)
        statement_add(out->assumptions, noise);
    if (plan->try_count > 0)
        statement_add(out->assumptions, sweep_assumption);
    if (plan->request.choice.candidates > 0)
        statement_add(out->assumptions, choice_assumption);
    if (plan->request.stage.kind != STAGE_NONE)
        statement_add(out->assumptions, stage_assumption(plan));
    if (plan->request.judge.held_out > 0.0)
        statement_add(out->assumptions, judge_assumption);
    statement_add(out->assumptions,
                  plan->features_job[0] != '\0' ? measured_assumption : public_assumption);
    statement_add(out->assumptions, number);
    statement_add(out->assumptions, one_name);
    if (uses_logged(plan))
        statement_add(out->warnings, warning_logged);
    if (noisy)
        statement_add(out->warnings, arithmetic);
    statement_add(out->warnings, warning_further(charged));
    statement_add(out->warnings, warning_common);
    statement_add(out->warnings, warning_groups);
    statement_add(out->warnings,
                  "The data are what was uploaded: nothing here says that they are true.");
}

/* ---- released Q-functions: docs/proofs/gaussian_process.md */

static const char neighbours_shards[] =
    "Two datasets are neighbours when one has one expert more, or one expert with other data under "
    "the same name. Which shard an expert is in is a hash of the expert's own name and owner.";

static const char neighbours_counted_shards[] =
    "Two datasets are neighbours when they differ in one expert's data under the same name, which "
    "may be emptied while its slot stays. The number of experts was counted when the dataset was "
    "sealed and is treated as public. Which shard an expert is in is a hash of the expert's own "
    "name and owner.";

static const char neighbours_reward[] =
    "Two reward functions are neighbours when, as they are stored (32-bit numbers) and multiplied "
    "by reward_scale, they differ by at most 1 for every state, action and next state. States, "
    "actions and transitions are the same.";

static const char warning_reward[] =
    "The rewards are protected. The states and actions are not, nor is whom they are of.";

static const char warning_account[] =
    "The dataset's account was debited, but what it says of experts does not cover this release: "
    "one expert more, fewer or with other data may change it by any amount.";

static const char warning_returns[] =
    "The evaluation's returns are sums of the world's own rewards without noise: whoever is shown "
    "them learns of those.";

static const char warning_drowned[] =
    "The noise is larger than the range of the values: what is left of the data is hardly seen. "
    "This was asked for.";

static const char *mechanism_of_reward(const struct q_terms *terms)
{
    if (terms->form == Q_FORM_GRID) {
        return "The noised function is what each update goes on from: an update adds the mean of "
               "clipped errors of its batch times update_rate as a function of the stated kernel's "
               "space, and then a fresh sample path per action of the Gaussian process of that "
               "kernel, of deviation sigma at most (less where the batch's states, which are "
               "public, allow less sensitivity). States are rounded to the nodes; between nodes "
               "answers are interpolated.";
    }
    return "The noised coefficients of public features are what each update goes on from: an "
           "update adds update_rate times the mean of its batch's clipped errors times features, "
           "and then Gaussian noise of deviation sigma at most (less where the batch's states, "
           "which are public, allow less sensitivity).";
}

static const char *mechanism_of(const struct q_terms *terms)
{
    if (terms->unit == Q_UNIT_REWARD)
        return mechanism_of_reward(terms);
    switch (terms->form) {
    case Q_FORM_PATH:
        return "Every shard's function was forced to |Q_a| <= value_limit and to slopes of at most "
               "lipschitz on the scaled coordinate; a sample path of a Gaussian process with the "
               "stated kernel and deviation sigma per action was added to the mean over shards. "
               "States are rounded to multiples of 2^-bits.";
    case Q_FORM_FEATURES:
        return "Every shard's coefficients of public features were projected into a ball of the "
               "stated radius, all actions together; each coefficient of the mean over shards got "
               "Gaussian noise of deviation sigma.";
    case Q_FORM_GRID: break;
    }
    return "Every shard's values at the nodes of a public grid were clipped to value_limit; each "
           "value of the mean over shards got Gaussian noise of deviation sigma; between nodes "
           "answers are interpolated.";
}

static const char warning_whole[] =
    "The guarantee is about the whole release: any number of questions, chosen in "
    "any way, costs nothing more.";

static const char accountant_release[] =
    "closed form of as many Gaussian releases of noise sigma / sensitivity as there are updates "
    "(one for unit expert), adaptively composed; epsilon is an upper and epsilon_lower a lower "
    "bound, epsilon_renyi a check by Renyi accounting";

static void rewards_statement(const struct job_plan *plan, bool charged, struct statement *out)
{
    out->neighbours = neighbours_reward;
    statement_add(out->assumptions,
                  "States, actions and transitions are public, and which of them an update takes, "
                  "and how a world is explored, are public coins.");
    statement_add(out->assumptions,
                  "Bounds, scales, kernel, rates and all settings are public and were not derived "
                  "from the rewards.");
    statement_add(out->warnings, warning_reward);
    if (charged)
        statement_add(out->warnings, warning_account);
    if (plan->episodes > 0)
        statement_add(out->warnings, warning_returns);
}

static void shards_statement(const struct job_plan *plan, struct statement *out)
{
    const struct q_terms *terms = &plan->plan.release;
    const char *settings = "Bounds, class, number of shards and all settings are public and were "
                           "not derived from the data.";
    out->neighbours = neighbours_shards;
    if (!plan->experts_declared) {
        settings = "Bounds, class, number of shards and all settings are public and were not "
                   "derived from the data, except from the number of experts.";
        out->neighbours = neighbours_counted_shards;
    }
    if (plan->features_job[0] != '\0')
        settings = measured_assumption;
    if (terms->form == Q_FORM_PATH) {
        statement_add(out->assumptions,
                      "The path's normals are a pseudo-random function of a key that is secret and "
                      "was drawn once: privacy is computational there.");
    }
    statement_add(out->assumptions, settings);
    statement_add(out->assumptions, one_name);
}

static void release_statement(const struct job_plan *plan, bool charged, struct statement *out)
{
    const struct q_terms *terms = &plan->plan.release;
    const char *common = warning_common;
    out->accountant = accountant_release;
    statement_add(out->assumptions, mechanism_of(terms));
    if (terms->noise_to_range > 1)
        statement_add(out->warnings, warning_drowned);
    if (terms->unit == Q_UNIT_REWARD) {
        rewards_statement(plan, charged, out);
        common = "What distinguishes reward functions that are not neighbours is meant to be "
                 "learnt and is not hidden.";
    } else {
        shards_statement(plan, out);
    }
    statement_add(out->warnings, warning_whole);
    statement_add(out->warnings, warning_further(charged));
    statement_add(out->warnings, common);
}

/* ---- the certificate */

static const char warning_forced[] =
    "The job was asked for with force, with which a hopeless plan is not refused: what was learnt "
    "may be worth no more than random play. Force changes nothing in what is guaranteed.";

static json_t *sentences_json(const char *first, const char *const list[STATEMENT_SENTENCES])
{
    json_t *json = JSON_TEXTS(first);
    for (unsigned i = 0; i < STATEMENT_SENTENCES && list[i]; i++)
        json_list_add(&json, json_string(list[i]));
    return json;
}

static json_t *certificate_privacy(const struct job_plan *plan, const struct statement *statement)
{
    const struct dp_sgd_plan *p = &plan->plan.privacy;
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:s}", "unit", job_plan_unit(plan),
                     "neighbours", statement->neighbours, "epsilon", json_number(p->epsilon),
                     "delta", json_number(p->delta), "epsilon_lower", json_number(p->epsilon_lower),
                     "epsilon_renyi", json_number(p->epsilon_renyi), "accountant",
                     statement->accountant);
}

/* The parameters that were used. Where 0 asks the plan to choose, it says nothing: read alone it
 * would mean that there was no noise, and the plan has what was chosen. */
static json_t *certificate_parameters(const struct job_plan *plan)
{
    static const char *const chosen[] = {"noise_multiplier", "batch_size"};
    json_t *all = job_plan_parameters(plan);
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++)
        if (json_number_value(json_object_get(all, chosen[i])) == 0)
            (void)json_object_del(all, chosen[i]);
    return all;
}

/* Adds whether the dataset's budget covers all that was revealed of it, and a warning where not. */
static void certify_cover(const struct dataset_row *dataset, json_t *out)
{
    json_object_set_new(out, "dataset_covered", dataset_covered_json(dataset));
    if (dataset && dataset->uncovered)
        json_array_append_new(json_object_get(out, "warnings"),
                              json_string(dataset_uncovered_note));
}

/* Adds whether the plan was taken by force, and a warning where it was. */
static void certify_force(const struct job_plan *plan, json_t *out)
{
    json_object_set_new(out, "forced", json_boolean(plan->request.force));
    if (plan->request.force)
        json_array_append_new(json_object_get(out, "warnings"), json_string(warning_forced));
}

static json_t *certificate_ledger(const struct job_row *job,
                                  const struct job_certificate *certificate)
{
    const struct ledger_account *account = certificate->account;
    json_t *entries = json_null(), *head = json_null(), *exposure = json_null();
    json_t *proof = json_or_null(json_incref(certificate->proof));
    if (certificate->exposure)
        exposure = exposure_json(certificate->exposure);
    if (account) {
        entries = json_integer(account->entries);
        head = digest_json(account->head);
    }
    return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o}", "account", json_text_or_null(job->account),
                     "hold", job->id, "entries", entries, "head", head, "proof", proof, "exposure",
                     exposure);
}

char *job_certificate(const struct app *app, struct db *db, const struct job_row *job,
                      const struct job_plan *plan, const struct job_certificate *certificate)
{
    const char *version = "", *injected = NULL;
    struct statement statement = {0};
    bool releases = plan->request.mechanism == MECHANISM_GAUSSIAN_PROCESS;
    bool charged = job->account[0] != '\0';
    if (app->settings.version)
        version = app->settings.version;
    if (certificate->injected_noise)
        injected = warning_injected;
    if (releases)
        release_statement(plan, charged, &statement);
    else if (!job_plan_statement(plan, &statement))
        experts_statement(plan, charged, &statement);
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:o, s:s, s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "id",
        certificate->id, certificate->subject, certificate->subject_id, "job", job->id, "dataset",
        json_text_or_null(job->dataset), "algorithm", job->algorithm, "mechanism", job->mechanism,
        "issued_at", json_time(certificate->now_ms), "software_version", version, "privacy",
        certificate_privacy(plan, &statement), "plan", job_plan_privacy(plan), "parameters",
        certificate_parameters(plan), "assumptions", sentences_json(NULL, statement.assumptions),
        "warnings", sentences_json(injected, statement.warnings), "ledger",
        certificate_ledger(job, certificate));
    certify_cover(certificate->dataset, json);
    certify_force(plan, json);
    json_object_set_new(json, "expert_means", dataset_means_json(certificate->dataset));
    json_object_set(json, "dataset_description", certificate->described);
    json_object_set(json, "binds", certificate->binds);
    if (certificate->audited)
        json_object_set(json, "audited", certificate->audited);
    if (!releases) {
        json_member_add(&json, "environment", json_text_or_null(plan->learn.name));
        json_member_add(&json, "teacher", job_teacher_json(plan));
    }
    char *text = NULL;
    (void)certificate_sign(app, db, json, &text);
    json_decref(json);
    return text;
}
