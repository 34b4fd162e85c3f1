/* A teacher's request. What this version does not offer is refused by name, with the pointer to it,
 * never ignored. */
#include "api/json/text.h"
#include "api/teachers/teacher_new.h"

#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/release/teacher.h"
#include "api/call/budget.h"
#include "api/call/fields.h"
#include "api/call/refusal.h"
#include "api/data/datasets.h"
#include "api/policies/network_digest.h"
#include "api/policies/policies.h"
#include "api/teachers/teacher_shelf.h"
#include "api/teachers/teachers.h"
#include "storage/datasets.h"
#include "storage/limit_changes.h"

#define EPSILON_MAX 1e6
/* Bounds for a teacher of a secret policy. With less noise, or with a radius so small that any
 * noise is cheap, its answers would reveal the network. Both bounds give a standard deviation of
 * 0.05 where two actions are equally likely. */
#define SECRET_CONCENTRATION_MAX 100
#define SECRET_SIGMA_MIN         0.05
#define SECRET_RADIUS_MIN        1e-6

static const char *const accountings[] = {"renyi", "basic", NULL};
static const char *const floors[] = {"uniform", "refuse", NULL};
static const char *const spents[] = {"refuse", "random", NULL};
static const char *const units[] = {"observation", "expert", NULL};

struct members {
    const char *policy, *name, *understood;
    int accounting; /* of accountings */
    int spent;      /* of spents */
    json_t *mechanism, *adjacency, *budget, *client_budget;
};

static void read_dirichlet(struct call *call, const json_t *object, struct teacher_row *out)
{
    const char *name = NULL;
    int floor = 0;
    out->min_probability = 0.1;
    const struct field fields[] = {
        field_optional(field_text("name", &name, 1, 39)),
        field_positive("concentration", &out->concentration, 1e9),
        field_optional(field_positive("min_probability", &out->min_probability, 0.5)),
        field_optional(field_positive("vanishing", &out->vanishing, 1)),
        field_optional(field_choice("at_floor", &floor, floors)),
        field_optional(field_positive("temperature", &out->temperature, 1e6)),
    };
    fields_read(call, object, "/mechanism", fields, sizeof fields / sizeof *fields);
    snprintf(out->at_floor, sizeof out->at_floor, "%s", floors[floor]);
}

static void read_gaussian_simplex(struct call *call, const json_t *object, struct teacher_row *out)
{
    const char *name = NULL;
    const struct field fields[] = {
        field_text("name", &name, 1, 39),
        field_number("sigma", &out->sigma, GAUSSIAN_SIMPLEX_SIGMA_MIN, GAUSSIAN_SIMPLEX_SIGMA_MAX),
        field_optional(field_positive("temperature", &out->temperature, 1e6)),
    };
    fields_read(call, object, "/mechanism", fields, sizeof fields / sizeof *fields);
}

/* How to read each mechanism's settings. The member "name" selects an entry; without that member,
 * the first applies. */
static const struct {
    const struct teacher_mechanism *mechanism;
    void (*read)(struct call *call, const json_t *object, struct teacher_row *out);
} readers[] = {
    {&teacher_dirichlet, read_dirichlet},
    {&teacher_gaussian_simplex, read_gaussian_simplex},
};

static void teacher_read_mechanism(struct call *call, const json_t *object, struct teacher_row *out)
{
    const json_t *member = json_object_get(object, "name");
    const char *name = json_string_value(member);
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        if (!name || strcmp(readers[i].mechanism->name, name) == 0) {
            snprintf(out->mechanism, sizeof out->mechanism, "%s", readers[i].mechanism->name);
            readers[i].read(call, object, out);
            return;
        }
    }
    call_invalid(call, "/mechanism/name",
                 "is not offered by this version, which knows \"dirichlet\" and "
                 "\"gaussian_simplex\"");
}

static void read_adjacency(struct call *call, const json_t *object, struct teacher_row *out)
{
    int unit = 0;
    const char *name = json_string_value(json_object_get(object, "unit"));
    bool expert = name && strcmp(name, units[1]) == 0;
    const struct field fields[] = {
        field_choice("unit", &unit, units),
        field_positive("radius", &out->radius, 1e9), /* of observations alone */
    };
    fields_read(call, object, "/adjacency", fields, 2U - expert);
    snprintf(out->adjacency, sizeof out->adjacency, "%s", units[unit]);
}

static void teacher_read_budget(struct call *call, const json_t *object, struct teacher_wish *out)
{
    const struct field fields[] = {
        field_positive("epsilon", &out->epsilon, EPSILON_MAX),
        field_positive("delta", &out->delta, 1),
    };
    if (fields_read(call, object, "/budget", fields, 2) && out->delta >= 1)
        call_invalid(call, "/budget/delta", "must be below 1");
}

/* Reads the budget of a client that has no grant. */
static void read_client_budget(struct call *call, const json_t *object, struct teacher_wish *out)
{
    json_t *guaranteed = NULL;
    const struct field fields[] = {
        field_positive("epsilon", &out->row.client_epsilon, EPSILON_MAX),
        field_positive("delta", &out->row.client_delta, 1),
        field_optional(field_object("guaranteed", &guaranteed)),
    };
    if (fields_read(call, object, "/client_budget", fields, 3) && out->row.client_delta >= 1)
        call_invalid(call, "/client_budget/delta", "must be below 1");
    if (guaranteed)
        share_read(call, guaranteed, "/client_budget/guaranteed", &out->guaranteed);
}

static bool teacher_read_members(struct call *call, struct members *members,
                                 struct teacher_wish *out)
{
    struct teacher_row *row = &out->row;
    *members = (struct members){0}; /* "renyi", "refuse" */
    const struct field fields[] = {
        field_text("policy", &members->policy, 1, ID_SIZE - 1),
        field_optional(field_text("name", &members->name, 1, NAME_SIZE - 1)),
        field_object("mechanism", &members->mechanism),
        field_object("adjacency", &members->adjacency),
        field_optional(field_choice("accounting", &members->accounting, accountings)),
        field_optional(field_choice("when_spent", &members->spent, spents)),
        field_object("budget", &members->budget),
        field_optional(field_object("client_budget", &members->client_budget)),
        field_optional(field_text("i_understand", &members->understood, 1, 31)),
        field_optional(field_integer("approvals", &out->approvals, 1, LIMIT_APPROVALS_MAX)),
    };
    fields_read(call, call->body, "", fields, sizeof fields / sizeof *fields);
    out->basic = members->accounting == 1;
    row->vanishing = row->temperature = 1;
    snprintf(row->name, sizeof row->name, "%s", text_or_empty(members->name));
    snprintf(row->adjacency, sizeof row->adjacency, "%s", units[0]);
    snprintf(row->at_floor, sizeof row->at_floor, "%s", floors[0]);
    snprintf(row->when_spent, sizeof row->when_spent, "%s", spents[members->spent]);
    if (members->mechanism)
        teacher_read_mechanism(call, members->mechanism, row);
    if (members->adjacency)
        read_adjacency(call, members->adjacency, row);
    if (members->budget)
        teacher_read_budget(call, members->budget, out);
    row->has_client_budget = members->client_budget != NULL;
    if (row->has_client_budget)
        read_client_budget(call, members->client_budget, out);
    return call_error_count(call) == 0;
}

/* Checks the steward's word for a teacher of a secret policy. */
static void check_understood(struct call *call, const char *understood, bool secret)
{
    if (!secret && understood) {
        call_invalid(call, "/i_understand",
                     "has a meaning only over a policy that was trained with mechanism \"none\" on "
                     "private data");
    }
    if (secret && (!understood || strcmp(understood, "not_private") != 0)) {
        call_invalid(call, "/i_understand",
                     "must be \"not_private\": the policy was trained on private data without a "
                     "mechanism, and answers about it reveal those data, which no account counts; "
                     "train with \"dpsgd\" instead, or with \"shards\" for unit \"expert\"");
    }
}

/* Checks the further conditions on a teacher whose policy is secret. */
static void check_secret(struct call *call, const struct teacher_row *row)
{
    if (row->concentration > SECRET_CONCENTRATION_MAX) {
        call_invalid(call, "/mechanism/concentration",
                     "must be at most %d for a policy that is not released",
                     SECRET_CONCENTRATION_MAX);
    }
    if (row->sigma > 0 && row->sigma < SECRET_SIGMA_MIN) {
        call_invalid(call, "/mechanism/sigma",
                     "must be at least %g for a policy that is not released", SECRET_SIGMA_MIN);
    }
    if (row->radius < SECRET_RADIUS_MIN) {
        call_invalid(call, "/adjacency/radius",
                     "must be at least %g for a policy that is not released", SECRET_RADIUS_MIN);
    }
}

/* Checks the conditions of the mechanism's theorem. Each fault has the pointer to its member. */
static bool check_mechanism(struct call *call, const struct teacher_wish *wish)
{
    const struct teacher_row *row = &wish->row;
    if (wish->actions < 2 || wish->actions > TEACHER_MAX_ACTIONS) {
        call_invalid(call, "/policy", "must have 2 to %d actions, not %u", TEACHER_MAX_ACTIONS,
                     wish->actions);
    } else if (row->min_probability * wish->actions >= 1) {
        call_invalid(call, "/mechanism/min_probability",
                     "must be below 1 / actions, of which the policy has %u", wish->actions);
    } else if (row->concentration > 0 && row->concentration * row->min_probability < 1) {
        call_invalid(
            call, "/mechanism/concentration",
            "must be at least 1 / min_probability: a smaller one would cost as much and say less");
    }
    if (wish->secret)
        check_secret(call, row);
    return call_error_count(call) == 0;
}

/* Chooses the units in which the teacher's accounts count. By Renyi divergence, a new client budget
 * and the cap over all clients each count at the order at which they pay for most answers. By basic
 * composition both spend the share of delta at which a new client budget (without one, the cap)
 * pays for most. */
static void choose_accounting(struct teacher_wish *wish, const struct teacher *teacher)
{
    struct teacher_row *row = &wish->row;
    double epsilon = wish->epsilon, delta = wish->delta;
    if (row->has_client_budget) {
        epsilon = row->client_epsilon;
        delta = row->client_delta;
    }
    const struct filter_release release = teacher->mechanism->release(teacher);
    if (wish->basic) {
        row->delta_share = filter_best_share(&release, epsilon, delta);
        return;
    }
    row->renyi_order = filter_best_order(&release, epsilon, delta, NULL);
    wish->order[PAYER_CLIENT] = wish->order[PAYER_DATASET] = row->renyi_order;
    wish->order[PAYER_TEACHER] = filter_best_order(&release, wish->epsilon, wish->delta, NULL);
}

/* Says which budget at ORDER would pay for one answer of PRICE. A larger budget may count at a
 * better order, at which it pays for no fewer answers. */
static void say_least_budget(struct call *call, double order, const struct filter_price *price,
                             double delta)
{
    struct budget_sum least = budget_least(order, price->units, price->delta_units, delta);
    if (isfinite(least.epsilon) && least.epsilon <= EPSILON_MAX)
        refusal_least(call, least.epsilon, least.delta);
}

/* Each budget has to pay one answer at least. */
static enum problem check_budgets(struct call *call, struct teacher_wish *wish,
                                  const struct teacher *teacher)
{
    const struct teacher_row *row = &wish->row;
    const char *pointer = "/budget/epsilon";
    int64_t count = 0, count_for_all = 0;
    bool priced = teacher_prices_at(teacher, row, wish->order, row->concentration, 1, &wish->price);
    if (priced) {
        count_for_all = teacher_answers_in(wish->order[PAYER_TEACHER], wish->epsilon, wish->delta,
                                           &wish->price.of[PAYER_TEACHER]);
        count = count_for_all;
        if (row->has_client_budget)
            count = teacher_answers_in(row->renyi_order, row->client_epsilon, row->client_delta,
                                       &wish->price.of[PAYER_CLIENT]);
    }
    if (row->has_client_budget)
        pointer = "/client_budget/epsilon";
    if (priced && count < 1 && row->has_client_budget)
        say_least_budget(call, row->renyi_order, &wish->price.of[PAYER_CLIENT], row->client_delta);
    else if (priced && count_for_all < 1)
        say_least_budget(call, wish->order[PAYER_TEACHER], &wish->price.of[PAYER_TEACHER],
                         wish->delta);
    if (count < 1 && row->shards > 0) {
        return call_invalid(call, pointer,
                            "cannot pay one answer: one expert moves the mean of %u policies by "
                            "%.4g; raise epsilon or the noise, or train on more shards",
                            row->shards, row->sensitivity);
    }
    if (count < 1 && wish->secret) {
        return call_invalid(call, pointer,
                            "cannot pay one answer: nothing is computed from a policy that is not "
                            "released, so any two observations count as neighbours (sensitivity "
                            "%.4g); raise epsilon or the noise",
                            row->sensitivity);
    }
    if (count < 1) {
        return call_invalid(call, pointer,
                            "cannot pay one answer: the certified Lipschitz bound is %.4g, the "
                            "sensitivity %.4g; raise epsilon, temperature or the noise, or lower "
                            "radius",
                            row->lipschitz, row->sensitivity);
    }
    if (count_for_all < 1) {
        return call_invalid(call, "/budget/epsilon",
                            "cannot pay one answer; a larger budget helps, and by basic accounting "
                            "a smaller client_budget");
    }
    return PROBLEM_NONE;
}

/* Checks the dataset's account, which pays for every answer. One that adds epsilons also pays, with
 * the first answer, for the conversion of Renyi divergence to epsilon, ln(1/delta) / (order - 1),
 * with the teacher's delta. */
static enum problem teacher_check_dataset(struct call *call, struct teacher_wish *wish,
                                          const struct ledger_account *account)
{
    struct teacher_row *row = &wish->row;
    const struct filter_price price = wish->price.of[PAYER_DATASET];
    bool counted = true;
    if (account->renyi_order == 0 && row->renyi_order > 1) {
        double conversion = -log(wish->delta) / (row->renyi_order - 1) * (1 + 1e-12);
        counted = ledger_units_up(conversion, &row->first_units) &&
                  ledger_delta_up(wish->delta, &row->first_delta);
    }
    const struct filter_price left = teacher_account_left(account);
    if (!counted || row->first_units > left.units - price.units ||
        row->first_delta > left.delta_units - price.delta_units) {
        const struct budget_sum has = budget_remaining_sum(account);
        const struct budget_sum cost = budget_added_sum(account, row->first_units + price.units,
                                                        row->first_delta + price.delta_units);
        return call_invalid(
            call, "/budget",
            "cannot be paid by the dataset's account, which has epsilon %.6g and delta %.3g left: "
            "the first answer would cost it epsilon %.6g and delta %.3g; more noise or shards, "
            "another budget, or basic accounting may help",
            has.epsilon, has.delta, cost.epsilon, cost.delta);
    }
    return PROBLEM_NONE;
}

/* Checks what is guaranteed to each client: the cap can set it aside for one at least. */
static enum problem check_guaranteed(struct call *call, const struct teacher_wish *wish)
{
    static const char pointer[] = "/client_budget/guaranteed";
    const struct teacher_row *row = &wish->row;
    struct share_size size;
    if (!share_wished(&wish->guaranteed))
        return PROBLEM_NONE;
    if (!share_measure(call, row, &wish->price, row->client_epsilon, row->client_delta,
                       &wish->guaranteed, pointer, &size))
        return PROBLEM_VALIDATION;
    if (teacher_answers_in(wish->order[PAYER_TEACHER], wish->epsilon, wish->delta,
                           &wish->price.of[PAYER_TEACHER]) < size.answers)
        return call_invalid(call, pointer, "is above the cap, which is the teacher's budget");
    return PROBLEM_NONE;
}

static enum problem teacher_certify(struct call *call, struct teacher_wish *wish,
                                    struct policy *policy)
{
    struct teacher_row *row = &wish->row;
    struct teacher teacher;
    if (!teacher_settings(row, wish->actions, &teacher))
        return call_problem(call, PROBLEM_INTERNAL_ERROR, "The mechanism has no settings.");
    teacher.secret = wish->secret;
    const char *wrong;
    if (row->shards > 0)
        wrong = teacher_prepare_ensemble(&teacher);
    else
        wrong = teacher_prepare(&teacher, policy);
    if (wrong == teacher_no_memory)
        return call_no_memory(call);
    if (wrong)
        return call_invalid(call, "/mechanism", "cannot be certified: %s", wrong);
    row->lipschitz = teacher.lipschitz;
    row->sensitivity = teacher.sensitivity;
    choose_accounting(wish, &teacher);
    struct ledger_account account = {.renyi_order = 0};
    bool dataset_pays = row->dataset_account[0] != '\0'; /* else public, and without a budget */
    enum db_status status = DB_OK;
    if (dataset_pays)
        status = ledger_find(call->db, row->dataset_account, &account);
    if (status != DB_OK)
        return call_db(call, status);
    if (account.renyi_order > 1)
        wish->order[PAYER_DATASET] = account.renyi_order;
    enum problem problem = check_budgets(call, wish, &teacher);
    if (problem == PROBLEM_NONE && dataset_pays)
        problem = teacher_check_dataset(call, wish, &account);
    if (problem == PROBLEM_NONE)
        problem = check_guaranteed(call, wish);
    return problem;
}

static enum problem refuse_erased(struct call *call)
{
    return call_problem(call, PROBLEM_CONFLICT,
                        "The policy's dataset was deleted, and with it what was learned.");
}

/* Checks that the unit of privacy suits the policy: a teacher over an ensemble protects experts
 * only. */
static enum problem teacher_read_source(struct call *call, const struct policy_row *source,
                                        struct teacher_wish *out)
{
    const struct dataset_row *dataset = &out->dataset;
    bool expert = strcmp(out->row.adjacency, units[1]) == 0;
    if (expert && source->shards == 0) {
        return call_invalid(call, "/adjacency/unit",
                            "\"expert\" needs a policy that a job with \"shards\" has made");
    }
    if (!expert && source->shards > 0) {
        return call_invalid(call, "/adjacency/unit",
                            "must be \"expert\" for a policy of shards: nothing else accounts for "
                            "their data");
    }
    memcpy(out->row.policy, source->id, ID_SIZE);
    memcpy(out->row.owner, source->owner, ID_SIZE);
    out->actions = source->action_count;
    out->row.shards = source->shards;
    out->secret = !expert && policy_is_secret(source);
    enum db_status status = DB_OK;
    if (source->dataset[0] != '\0')
        status = datasets_find(call->db, source->dataset, &out->dataset);
    if (status != DB_OK)
        return call_db(call, status);
    if (dataset->state == DATASET_DELETED && policy_is_secret(source))
        return refuse_erased(call);
    if (!expert)
        return PROBLEM_NONE;
    memcpy(out->row.dataset, dataset->id, ID_SIZE);
    memcpy(out->row.dataset_account, dataset->account, ID_SIZE);
    return PROBLEM_NONE;
}

static enum db_status digest_sealed(struct db *db, const char *policy,
                                    unsigned char out[DIGEST_BYTES])
{
    void *bytes = NULL;
    size_t size = 0;
    enum db_status status = policies_bytes(db, policy, &bytes, &size);
    if (status == DB_OK)
        crypto_hash_sha256(out, bytes, size);
    free(bytes);
    return status;
}

enum problem teacher_wish_read(struct call *call, struct teacher_wish *out)
{
    struct members members;
    *out = (struct teacher_wish){0};
    if (!teacher_read_members(call, &members, out))
        return PROBLEM_VALIDATION;
    struct policy_row source;
    enum problem problem = policy_of_owner(call, members.policy, &source);
    if (problem != PROBLEM_NONE) {
        if (problem == PROBLEM_NOT_FOUND)
            call_invalid(call, "/policy", "is not known");
        return problem;
    }
    if ((problem = teacher_read_source(call, &source, out)) != PROBLEM_NONE)
        return problem;
    check_understood(call, members.understood, out->secret);
    if (!check_mechanism(call, out))
        return PROBLEM_VALIDATION;
    out->released = source.released;
    if (source.shards > 0) {
        enum db_status read = digest_sealed(call->db, source.id, out->policy_digest);
        if (read != DB_OK)
            return call_db(call, read);
        return teacher_certify(call, out, NULL);
    }
    struct policy *policy = NULL;
    enum db_status status = policy_load(call->app, call->db, &source, &policy);
    if (status != DB_OK)
        return call_db(call, status);
    if (!policy)
        return refuse_erased(call);
    network_digest(policy, out->policy_digest);
    problem = teacher_certify(call, out, policy);
    policy_free(policy);
    return problem;
}
