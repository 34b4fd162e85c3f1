/* The texts of the desk. */
#include "tests/unit/api/kickstart_desk.h"

#include <criterion/criterion.h>

const char *kickstart_teacher_when(struct fixture *f, double client_epsilon, const char *spent)
{
    const char *body = domain_path(
        "{\"policy\":\"%s\",\"mechanism\":{\"name\":\"dirichlet\",\"concentration\":20,"
        "\"min_probability\":0.1},\"adjacency\":{\"unit\":\"observation\",\"radius\":0.001},"
        "\"accounting\":\"basic\",\"budget\":{\"epsilon\":1e6,\"delta\":0.5},"
        "\"client_budget\":{\"epsilon\":%g,\"delta\":1e-2},\"when_spent\":\"%s\"}",
        domain_policy(f), client_epsilon, spent);
    struct response *made = fixture_post(f, "steward", "/v1/teachers", body);
    expect_status(made, 201);
    return response_text(made, "/id");
}

const char *kickstart_teacher(struct fixture *f, double client_epsilon)
{
    return kickstart_teacher_when(f, client_epsilon, "refuse");
}

const char *kickstart_job(const char *id, const char *members, const char *parameters)
{
    return domain_path("{\"algorithm\":\"kickstart\",\"environment\":\"cartpole\",\"teacher\":"
                       "\"%s\"%s,\"parameters\":{" KICKSTART_SMALL "%s}}",
                       id, members, parameters);
}

double kickstart_spent(struct fixture *f, const char *id, const char *role)
{
    struct response *r = fixture_get(
        f, "steward", domain_path("/v1/teachers/%s/budgets/%s", id, fixture_client(f, role)));
    return r->status == 404 ? 0 : response_number(r, "/spent/epsilon");
}

bool kickstart_stop_at(void *context)
{
    int *left = context;
    return (*left)-- == 0;
}
