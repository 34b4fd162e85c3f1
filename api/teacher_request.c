/* A teacher's request. What this version does not offer is refused by name, with the pointer to it,
 * never ignored. */
#include "api/teacher_request.h"

#include <stdio.h>
#include <string.h>

#include "algos/privacy/filter.h"
#include "algos/release/teacher.h"
#include "api/fields.h"
#include "api/policies.h"
#include "api/teacher_shelf.h"
#include "api/teachers.h"

#define EPSILON_MAX 1e6
/* Of a teacher over a secret policy: with less noise, or with a radius so small that any
 * concentration is cheap, its answers would be the network itself. */
#define SECRET_CONCENTRATION_MAX 100
#define SECRET_RADIUS_MIN        1e-6

struct members {
    const char *policy, *accounting;
    json_t *mechanism, *adjacency, *budget, *client_budget;
};

/* Says so when the member NAME of OBJECT is a text other than ONLY. */
static bool offered(struct call *call, const json_t *object, const char *name, const char *pointer,
                    const char *only)
{
    const char *text = json_string_value(json_object_get(object, name));
    if (text == NULL || strcmp(text, only) == 0) {
        return true;
    }
    call_invalid(call, pointer, "is not offered by this version, which knows \"%s\"", only);
    return false;
}

static void read_mechanism(struct call *call, const json_t *object, struct teacher_row *out)
{
    const char *name = NULL;
    if (!offered(call, object, "name", "/mechanism/name", "dirichlet")) {
        return;
    }
    const struct field fields[] = {
        field_optional(field_text("name", &name, 1, 39)),
        field_positive("concentration", &out->concentration, 1e9),
        field_optional(field_positive("min_probability", &out->min_probability, 0.5)),
        field_optional(field_positive("vanishing", &out->vanishing, 1)),
        field_optional(field_positive("temperature", &out->temperature, 1e6)),
    };
    fields_read(call, object, "/mechanism", fields, 5);
}

static void read_adjacency(struct call *call, const json_t *object, struct teacher_row *out)
{
    const char *unit = NULL;
    if (!offered(call, object, "unit", "/adjacency/unit", "observation")) {
        return;
    }
    const struct field fields[] = {
        field_text("unit", &unit, 1, 23),
        field_positive("radius", &out->radius, 1e9),
    };
    fields_read(call, object, "/adjacency", fields, 2);
}

static void read_budget(struct call *call, const json_t *object, const char *pointer,
                        double *out_epsilon, double *out_delta)
{
    const struct field fields[] = {
        field_positive("epsilon", out_epsilon, EPSILON_MAX),
        field_positive("delta", out_delta, 1),
    };
    if (fields_read(call, object, pointer, fields, 2) && *out_delta >= 1) {
        char at[64];
        snprintf(at, sizeof at, "%s/delta", pointer);
        call_invalid(call, at, "must be below 1");
    }
}

static bool read_members(struct call *call, struct members *members, struct teacher_wish *out)
{
    struct teacher_row *row = &out->row;
    *members = (struct members){0};
    const struct field fields[] = {
        field_text("policy", &members->policy, 1, ID_SIZE - 1),
        field_object("mechanism", &members->mechanism),
        field_object("adjacency", &members->adjacency),
        field_optional(field_text("accounting", &members->accounting, 1, 31)),
        field_object("budget", &members->budget),
        field_optional(field_object("client_budget", &members->client_budget)),
    };
    fields_read(call, call->body, "", fields, 6);
    offered(call, call->body, "accounting", "/accounting", "renyi");
    row->min_probability = 0.1;
    row->vanishing = row->temperature = 1;
    snprintf(row->mechanism, sizeof row->mechanism, "dirichlet");
    snprintf(row->adjacency, sizeof row->adjacency, "observation");
    if (members->mechanism != NULL) {
        read_mechanism(call, members->mechanism, row);
    }
    if (members->adjacency != NULL) {
        read_adjacency(call, members->adjacency, row);
    }
    if (members->budget != NULL) {
        read_budget(call, members->budget, "/budget", &out->epsilon, &out->delta);
    }
    row->has_client_budget = members->client_budget != NULL;
    if (row->has_client_budget) {
        read_budget(call, members->client_budget, "/client_budget", &row->client_epsilon,
                    &row->client_delta);
    }
    return call_error_count(call) == 0;
}

/* What a policy that may not leave asks for besides. */
static void check_secret(struct call *call, const struct teacher_row *row)
{
    if (row->concentration > SECRET_CONCENTRATION_MAX) {
        call_invalid(call, "/mechanism/concentration",
                     "must be at most %d for a policy that is not released",
                     SECRET_CONCENTRATION_MAX);
    }
    if (row->radius < SECRET_RADIUS_MIN) {
        call_invalid(call, "/adjacency/radius",
                     "must be at least %g for a policy that is not released", SECRET_RADIUS_MIN);
    }
}

/* What the mechanism's theorem asks of its numbers, each fault at its member. */
static bool check_mechanism(struct call *call, const struct teacher_wish *wish)
{
    const struct teacher_row *row = &wish->row;
    if (wish->actions < 2 || wish->actions > DIRICHLET_MAX_ACTIONS) {
        call_invalid(call, "/policy", "must have 2 to %d actions, not %u", DIRICHLET_MAX_ACTIONS,
                     wish->actions);
    } else if (row->min_probability * wish->actions >= 1) {
        call_invalid(call, "/mechanism/min_probability",
                     "must be below 1 / actions, of which the policy has %u", wish->actions);
    } else if (row->concentration * row->min_probability < 1) {
        call_invalid(call, "/mechanism/concentration",
                     "must be at least 1 / min_probability: less would cost as much and say less");
    }
    if (wish->coarse) {
        check_secret(call, row);
    }
    return call_error_count(call) == 0;
}

static enum problem certify(struct call *call, struct teacher_wish *wish, struct policy *policy)
{
    struct teacher_row *row = &wish->row;
    struct teacher teacher;
    teacher_of_row(row, wish->actions, &teacher);
    teacher.coarse = wish->coarse;
    const char *wrong = teacher_prepare(&teacher, policy);
    if (wrong != NULL) {
        return call_invalid(call, "/mechanism", "cannot be certified: %s", wrong);
    }
    row->lipschitz = teacher.lipschitz;
    row->sensitivity = teacher.mechanism.sensitivity;
    bool client = row->has_client_budget;
    double epsilon = client ? row->client_epsilon : wish->epsilon;
    double delta = client ? row->client_delta : wish->delta;
    int64_t queries = 0;
    const struct filter_release release = filter_dirichlet(&teacher.mechanism);
    row->renyi_order = filter_best_order(&release, epsilon, delta, &queries);
    uint64_t price = queries == 0 || !(row->renyi_order > 1)
                         ? UINT64_MAX
                         : teacher_price(&teacher, row->concentration, row->renyi_order);
    int64_t cap = price == UINT64_MAX
                      ? -1
                      : teacher_limit_units(row->renyi_order, wish->epsilon, wish->delta);
    if (price == UINT64_MAX) {
        return call_invalid(call, client ? "/client_budget/epsilon" : "/budget/epsilon",
                            "cannot pay one answer: the certified Lipschitz bound is %.4g, the "
                            "sensitivity %.4g; raise epsilon or temperature, or lower radius or "
                            "concentration",
                            row->lipschitz, row->sensitivity);
    }
    if (cap < 0 || (uint64_t)cap < price) {
        return call_invalid(
            call, "/budget/epsilon",
            "cannot pay one answer at the order %g that suits the clients' budget; a "
            "smaller client_budget or a larger budget helps",
            row->renyi_order);
    }
    return PROBLEM_NONE;
}

enum problem teacher_wish_read(struct call *call, struct teacher_wish *out)
{
    struct members members;
    *out = (struct teacher_wish){0};
    if (!read_members(call, &members, out)) {
        return PROBLEM_VALIDATION;
    }
    struct policy_row source;
    enum problem problem = policy_of_owner(call, members.policy, &source);
    if (problem != PROBLEM_NONE) {
        if (problem == PROBLEM_NOT_FOUND) {
            call_invalid(call, "/policy", "is not known");
        }
        return problem;
    }
    memcpy(out->row.policy, source.id, ID_SIZE);
    memcpy(out->row.owner, call->caller.id, ID_SIZE);
    out->actions = source.action_count;
    out->coarse = policy_is_secret(&source);
    if (!check_mechanism(call, out)) {
        return PROBLEM_VALIDATION;
    }
    struct policy *policy = NULL;
    enum db_status status = policy_load(call->db, source.id, &policy);
    if (status != DB_OK) {
        return call_db(call, status == DB_NONE ? DB_FAILED : status);
    }
    problem = certify(call, out, policy);
    policy_free(policy);
    return problem;
}
