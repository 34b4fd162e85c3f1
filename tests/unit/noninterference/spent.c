/* A teacher that answers at random because its budget is spent. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/noninterference/play.h"

#define STATES 16 /* more than the budget pays */

void play_spent(struct play *p)
{
    const char *body = domain_teacher(p->policy, 0.5, 0.5);
    char states[2048] = "";
    play_scene(p);
    struct response *teacher = play_ask(
        p, CALLER_OWNER, "POST", "/v1/teachers", "/v1/teachers",
        domain_path("%.*s,\"name\":\"t\",\"when_spent\":\"random\"}", (int)strlen(body) - 1, body),
        NULL);
    expect_status(teacher, 201);
    cr_assert_lt(response_number(teacher, "/queries_in_client_budget"), STATES);
    for (unsigned i = 0; i < STATES; i++)
        strcat(states, domain_path("%s[%.9g,-0.02,0.03,0.04]", i ? "," : "", p->secret.question));
    struct response *r =
        play_ask(p, CALLER_STUDENT, "POST", "/v1/teachers/{id}/queries",
                 domain_path("/v1/teachers/%s/queries", response_text(teacher, "/id")),
                 domain_path("{\"states\":[%s]}", states), NULL);
    expect_status(r, 200);
    cr_assert(json_is_true(response_at(r, "/random")), "%s", r->body);
    /* The answer's numbers are masked where they may be about the policy. These may not. */
    transcript_block(p->t, "SPENT", "student", "what was drawn");
    transcript_json(p->t, "", response_at(r, "/probabilities"));
}
