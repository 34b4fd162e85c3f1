/* Certificates of teachers. Their sentences follow docs/privacy.md. */
#include "api/teachers/teacher_new.h"

#include <string.h>

#include "algos/release/teacher.h"
#include "api/call/app.h"
#include "api/call/budget.h"
#include "api/call/certificate.h"
#include "api/data/datasets.h"
#include "api/json/json_text.h"
#include "storage/ledger/ledger.h"

static bool is_expert(const struct teacher_row *row)
{
    return row->shards > 0;
}

const char *teacher_protects(const struct teacher_row *row)
{
    if (is_expert(row))
        return "One expert with everything it uploaded: whether it is in the dataset, "
               "and what its data are.";
    return "Which of two observations (as 32-bit floats) at most radius apart in "
           "2-norm was asked. Numbers of it whose size is above adjacency.resolved_up_to are not "
           "protected.";
}

const char *teacher_exposes(const struct teacher_row *row, bool secret)
{
    if (is_expert(row)) {
        return "Which observations are asked; what many experts have in common; that and when a "
               "query was made.";
    }
    if (!secret) {
        return "The data that the policy was trained on, unless that policy is itself private; "
               "that and when a query was made.";
    }
    return "The data that the policy was trained on, without privacy: each answer reveals a little "
           "of the policy, many reveal most of it, and no account counts what that reveals about "
           "its training data; that and when a query was made.";
}

json_t *teacher_mechanism_json(const struct teacher_row *row)
{
    if (row->sigma > 0) {
        return json_pack("{s:s, s:o, s:o}", "name", row->mechanism, "sigma",
                         json_number(row->sigma), "temperature", json_number(row->temperature));
    }
    return json_pack("{s:s, s:o, s:o, s:o, s:s, s:o}", "name", row->mechanism, "concentration",
                     json_number(row->concentration), "min_probability",
                     json_number(row->min_probability), "vanishing", json_number(row->vanishing),
                     "at_floor", row->at_floor, "temperature", json_number(row->temperature));
}

json_t *teacher_adjacency_json(const struct teacher_row *row)
{
    if (is_expert(row))
        return json_pack("{s:s, s:I}", "unit", row->adjacency, "shards", (json_int_t)row->shards);
    return json_pack("{s:s, s:o, s:o}", "unit", row->adjacency, "radius", json_number(row->radius),
                     "resolved_up_to", json_number(teacher_resolved_up_to(row->radius)));
}

const char *teacher_accounting(const struct teacher_row *row)
{
    if (row->renyi_order > 0)
        return "renyi";
    return "basic";
}

static const char *teacher_neighbours(const struct teacher_row *row)
{
    if (is_expert(row)) {
        return "Two datasets are neighbours when one has one expert more, or one expert with other "
               "data under the same name. The questions are the same.";
    }
    return "Two observations, rounded to 32-bit floats, that are at most radius apart in the "
           "2-norm "
           "after that rounding, asked of the same network. They do not differ in a number whose "
           "size is above adjacency.resolved_up_to: 32-bit floats are farther apart there than "
           "radius. The epsilon of all answers together is for two sequences of observations that "
           "may differ so in every place.";
}

static json_t *teacher_privacy_json(const struct teacher_row *row, const struct teacher_wish *wish)
{
    const struct filter_price *price = &wish->price.of[PAYER_TEACHER];
    json_t *json =
        json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:s}", "unit", row->adjacency, "neighbours",
                  teacher_neighbours(row), "epsilon", json_number(wish->epsilon), "delta",
                  json_number(wish->delta), "adjacency", teacher_adjacency_json(row), "sensitivity",
                  json_number(row->sensitivity), "accounting", teacher_accounting(row));
    json_t *units = json_number(ledger_units_value(price->units)), *more;
    if (row->renyi_order > 0) {
        more =
            json_pack("{s:o, s:{s:o, s:n}, s:s}", "order", json_number(wish->order[PAYER_TEACHER]),
                      "answer", "divergence", units, "delta", "accountant",
                      "a filter: certified Renyi divergences of the one order, fixed when the "
                      "teacher was made, add up to at most what converts to (epsilon, delta)");
    } else {
        more = json_pack("{s:n, s:{s:o, s:o}, s:s}", "order", "answer", "epsilon", units, "delta",
                         json_number(ledger_delta_value(price->delta_units)), "accountant",
                         "basic composition: epsilons add up to at most epsilon, deltas to at most "
                         "delta");
    }
    json_object_update_new(json, more);
    return json;
}

static json_t *teacher_assumptions_json(const struct teacher_row *row, bool secret)
{
    if (secret) {
        return json_pack("[s, s]",
                         "The sensitivity is that of any two distributions, at most sqrt(2) apart: "
                         "neither it nor a price was computed from the network's weights.",
                         "The network does not depend on what is asked.");
    }
    if (!is_expert(row)) {
        return json_pack("[s, s]",
                         "The sensitivity is a certified bound: network bound by Gram powers, half "
                         "of it for softmax, divided by the temperature, times radius. It is for "
                         "observations as the network sees them, after rounding to 32-bit floats.",
                         "The network does not depend on what is asked.");
    }
    return json_pack(
        "[s, s, s, s]",
        "Answers are about the mean of one policy for each shard of experts, trained on that shard "
        "alone; which shard an expert is in is a hash of the expert's own name and owner under a "
        "public seed. A shard without a policy answers all actions alike. One expert moves the "
        "mean by at most sqrt(2) / shards in the 2-norm, and after mixing to min_probability by "
        "1 - actions min_probability times that.",
        "Number of shards, network, algorithm, mechanism and all settings are public and were not "
        "derived from the data; but the scales of inputs may be released estimates from the same "
        "data (the member features of the job that trained the policies), whose price stands "
        "beside this teacher's in the dataset's account, if it has one.",
        "One expert's data are uploaded under one name.",
        "The policies were trained without noise and are held by the service alone.");
}

static json_t *teacher_warnings_json(const struct teacher_row *row, const struct teacher_wish *wish)
{
    const char *unaccounted = NULL, *dataset = NULL, *uncovered = NULL, *random = NULL;
    if (wish->dataset.uncovered)
        uncovered = dataset_uncovered_note;
    if (wish->secret) {
        unaccounted = "The policy was trained on private data without privacy: nothing here "
                      "protects those data.";
    }
    if (row->dataset_account[0] != '\0') {
        dataset = "Every answer is charged to the dataset's account as well, whose epsilon covers "
                  "this teacher together with all else that is released of it, for one expert who "
                  "is added or removed.";
    }
    if (strcmp(row->when_spent, "random") == 0) {
        random = "Answers that are marked random say nothing of the policy: they were drawn around "
                 "the uniform distribution when an account could not pay, and cost nothing.";
    }
    return JSON_TEXTS(unaccounted, dataset, uncovered, random,
                      "epsilon is that of all answers together, to all clients, as if they were "
                      "one, within the limit that stood when this was issued; a client's own "
                      "account counts what that client sees.");
}

static json_t *teacher_binds_json(const struct app *app, const struct teacher_row *row,
                                  const struct teacher_wish *wish)
{
    json_t *weights = json_null();
    if (wish->released)
        weights = digest_json(wish->policy_digest);
    return json_pack("{s:o, s:o}", "weights_sha256", weights, "policy_commitment",
                     commitment_json(app, row->certificate, "policy", wish->policy_digest));
}

enum db_status teacher_certificate(const struct call *call, const struct teacher_row *row,
                                   const struct teacher_wish *wish,
                                   const struct ledger_account *account, json_t *proof,
                                   json_t *described, char **out)
{
    const struct app *app = call->app;
    const struct dataset_row *dataset = NULL;
    if (wish->dataset.id[0] != '\0')
        dataset = &wish->dataset;
    const char *version = app->settings.version;
    if (!version)
        version = "";
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:o, s:o, s:s, s:o, s:s, s:o, s:s, s:s, s:o, s:o, s:{s:s, s:o, s:I, s:o, "
        "s:O}, "
        "s:o, s:o}",
        "id", row->certificate, "subject", "teacher", "teacher", row->id, "policy",
        json_string(row->policy), "dataset", json_text_or_null(row->dataset), "owner", row->owner,
        "mechanism", teacher_mechanism_json(row), "software_version", version, "privacy",
        teacher_privacy_json(row, wish), "protects", teacher_protects(row), "does_not_protect",
        teacher_exposes(row, wish->secret), "assumptions",
        teacher_assumptions_json(row, wish->secret), "warnings", teacher_warnings_json(row, wish),
        "ledger", "account", row->account, "dataset_account",
        json_text_or_null(row->dataset_account), "entries", (json_int_t)account->entries, "head",
        digest_json(account->head), "proof", proof, "binds", teacher_binds_json(app, row, wish),
        "issued_at", json_time(row->created_ms));
    json_object_set_new(json, "when_spent", json_string(row->when_spent));
    json_object_set_new(json, "limit_may_change",
                        json_string("The owner may raise or lower the limit. Then the greatest "
                                    "limit that ever stood is the guarantee: the account's entries "
                                    "\"open\" and \"limit\" list them all, with who and why."));
    json_object_set_new(json, "dataset_covered", dataset_covered_json(dataset));
    json_object_set_new(json, "expert_means", dataset_means_json(dataset));
    json_object_set(json, "dataset_description", described);
    enum db_status status = certificate_sign(app, call->db, json, out);
    json_decref(json);
    return status;
}
