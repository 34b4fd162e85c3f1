/* The certificate of a released Q-function. Its sentences follow docs/privacy.md, "Functions under
 * Gaussian-process noise". */
#include "api/jobs/run/q_certificate.h"

#include "api/call/app.h"
#include "api/call/certificate.h"
#include "api/json/json_text.h"

static const char neighbours[] =
    "Two datasets are neighbours when one has one expert more, or one expert with other data under "
    "the same name. Which shard an expert is in is a hash of the expert's own name and owner.";

static const char neighbours_reward[] =
    "Two reward functions are neighbours when, as they are stored (32-bit numbers) and multiplied "
    "by reward_scale, they differ by at most 1 for every state, action and next state. States, "
    "actions and transitions are the same.";

static const char warning_reward[] =
    "The rewards are protected. The states and actions are not, nor is whom they are of.";

static const char warning_account[] =
    "The dataset's account was debited, but what it says of experts does not cover this release: "
    "one expert more, fewer or with other data may change it by any amount.";

static const char warning_charged[] =
    "Every job on the dataset is charged; a choice of settings made by looking at results that "
    "were not released is not accounted.";

static const char warning_uncharged[] =
    "No account was debited: several such releases tell more than one, and nobody here adds up "
    "their figures.";

static const char warning_returns[] =
    "The evaluation's returns are sums of the world's own rewards without noise: whoever is shown "
    "them learns of those.";

static const char warning_injected[] =
    "NOT PRIVATE: the noise came from a generator whose key was given to it and can be repeated. "
    "Nothing that this certificate says about privacy holds.";

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
    case Q_FORM_GRID:
        break;
    }
    return "Every shard's values at the nodes of a public grid were clipped to value_limit; each "
           "value of the mean over shards got Gaussian noise of deviation sigma; between nodes "
           "answers are interpolated.";
}

static void add_text(json_t *list, const char *sentence)
{
    json_array_append_new(list, json_string(sentence));
}

static json_t *release_assumptions(const struct q_terms *terms)
{
    if (terms->unit == Q_UNIT_REWARD) {
        return json_pack("[s, s, s]", mechanism_of(terms),
                         "States, actions and transitions are public, and which of them an update "
                         "takes, and how a world is explored, are public coins.",
                         "Bounds, scales, kernel, rates and all settings are public and were not "
                         "derived from the rewards.");
    }
    json_t *list = json_pack("[s]", mechanism_of(terms));
    if (terms->form == Q_FORM_PATH) {
        add_text(list, "The path's normals are a pseudo-random function of a key that is secret "
                       "and was drawn once: privacy is computational there.");
    }
    add_text(list, "Bounds, class, number of shards and all settings are public and were not "
                   "derived from the data.");
    add_text(list, "One expert's data are uploaded under one name.");
    return list;
}

static const char warning_whole[] =
    "The guarantee is about the whole release: any number of questions, chosen in "
    "any way, costs nothing more.";

static json_t *release_warnings(const struct job_plan *plan, const char *account, bool injected)
{
    const struct q_terms *terms = &plan->plan.release;
    bool rewards = terms->unit == Q_UNIT_REWARD;
    json_t *list = json_array();
    if (injected)
        add_text(list, warning_injected);
    if (terms->noise_to_range > 1)
        add_text(list, warning_drowned);
    if (rewards)
        add_text(list, warning_reward);
    if (rewards && account[0] != '\0')
        add_text(list, warning_account);
    if (rewards && plan->episodes > 0)
        add_text(list, warning_returns);
    add_text(list, warning_whole);
    if (account[0] != '\0')
        add_text(list, warning_charged);
    else
        add_text(list, warning_uncharged);
    if (rewards)
        add_text(list, "What distinguishes reward functions that are not neighbours is meant to be "
                       "learnt and is not hidden.");
    else
        add_text(list, "What many experts have in common is meant to be learnt and is not hidden.");
    return list;
}

static json_t *release_privacy(const struct job_plan *plan)
{
    const struct dp_sgd_plan *p = &plan->plan.privacy;
    const char *who = neighbours;
    if (plan->request.protects_rewards)
        who = neighbours_reward;
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:s}", "unit", job_plan_unit(plan),
                     "neighbours", who, "epsilon", json_number(p->epsilon), "delta",
                     json_number(p->delta), "epsilon_lower", json_number(p->epsilon_lower),
                     "epsilon_renyi", json_number(p->epsilon_renyi), "accountant",
                     "closed form of as many Gaussian releases of noise sigma / sensitivity as "
                     "there are updates (one for unit expert), adaptively composed; epsilon is "
                     "an upper and epsilon_lower a lower bound, epsilon_renyi a check by Renyi "
                     "accounting");
}

char *q_certificate(const struct app *app, const struct job_row *job, const struct job_plan *plan,
                    const struct q_certificate *certificate)
{
    const struct q_terms *terms = &plan->plan.release;
    const char *version = "";
    if (app->settings.version)
        version = app->settings.version;
    json_t *ledger =
        json_pack("{s:o, s:s}", "account", json_text_or_null(job->account), "hold", job->id);
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:o, s:s, s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "id",
        certificate->id, certificate->subject, certificate->subject_id, "job", job->id, "dataset",
        json_text_or_null(job->dataset), "algorithm", job->algorithm, "mechanism", job->mechanism,
        "issued_at", json_time(certificate->now_ms), "software_version", version, "privacy",
        release_privacy(plan), "plan", job_plan_privacy(plan), "parameters",
        job_plan_parameters(plan), "assumptions", release_assumptions(terms), "warnings",
        release_warnings(plan, job->account, certificate->injected_noise), "ledger", ledger);
    char *text = certificate_sign(app, json);
    json_decref(json);
    return text;
}
