/* Deltas below what a sampler's theorem can hold for: every kind of job refuses them before
 * anything is spent, and says so. The floors are those of docs/proofs/noise.md. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/api/domain.h"

#define ON_DATA "\"dataset\":\"%s\","
#define NO_DATA "%.0s"
#define PRICE   "\"epsilon\":1,\"delta\":%s"
#define SMALL   ",\"parameters\":{\"hidden\":[4],\"batch_size\":4,\"steps\":20}"
#define IN_FLOAT                                                                                   \
    ",\"parameters\":{\"hidden\":[4],\"batch_size\":4,\"steps\":20,\"arithmetic\":\"float\"}"
#define EPISODES ",\"parameters\":{\"hidden\":[4],\"episodes\":40,\"episodes_per_update\":4}"
#define CARTPOLE "\"environment\":\"cartpole\","
#define REWARDS                                                                                    \
    ",\"parameters\":{\"features\":16,\"updates\":20,\"batch_size\":64,\"reward_scale\":1,"        \
    "\"value_limit\":100}"

/* BELOW is refused; ABOVE is not, or for want of noise alone. (Selective training has its floor in
 * sparse_vector_plan_test.c: so small a delta needs more experts than a test has.) */
static const struct {
    const char *name, *body, *below, *above;
} kinds[] = {
    {"dpsgd, float", "{\"algorithm\":\"cql\"," ON_DATA "\"privacy\":{" PRICE "}" IN_FLOAT "}",
     "9e-51", "1.1e-50"},
    {"dpsgd, exact", "{\"algorithm\":\"cql\"," ON_DATA "\"privacy\":{" PRICE "}" SMALL "}", "1e-29",
     "1e-17"},
    {"dpsgd, exact, below all",
     "{\"algorithm\":\"bcq\"," ON_DATA "\"privacy\":{" PRICE "}" SMALL "}", "9e-51", "1e-17"},
    {"reinforce, exact",
     "{\"algorithm\":\"reinforce\"," CARTPOLE NO_DATA "\"privacy\":{" PRICE "}" EPISODES "}",
     "1e-29", "1e-17"},
    {"observations",
     "{\"algorithm\":\"reinforce\",\"mechanism\":\"ldp_observations\"," CARTPOLE NO_DATA
     "\"privacy\":{" PRICE "}" EPISODES "}",
     "9e-51", "1.1e-50"},
    {"consensus",
     "{\"algorithm\":\"behaviour_cloning\",\"mechanism\":\"consensus\"," ON_DATA
     "\"privacy\":{" PRICE ",\"consensus\":{\"grid\":{\"low\":[-1,-1,-0.1,-1],\"high\":[1,1,0.1,1],"
     "\"points\":[2,2,2,2]}}}" SMALL "}",
     "9e-51", "1.1e-50"},
    {"gaussian process",
     "{\"algorithm\":\"gp_q_learning\"," ON_DATA "\"privacy\":{" PRICE
     "},\"parameters\":{\"shards\":200,\"features\":6,\"steps\":20,\"hidden\":[4]}}",
     "9e-31", "1.1e-30"},
};

static struct response *post(struct fixture *f, const char *path, size_t kind, const char *dataset,
                             const char *delta)
{
    char body[1024];
    snprintf(body, sizeof body, kinds[kind].body, dataset, delta);
    return fixture_post(f, "steward", path, body);
}

Test(delta_floor, what_a_sampler_cannot_hold_is_refused_before_anything_is_spent)
{
    struct fixture *f = fixture_open();
    const char *dataset = domain_sealed(f, "private", 20);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct response *made = post(f, "/v1/jobs", i, dataset, kinds[i].below);
        cr_expect(made->status == 422 || made->status == 409, "%s: %d %s", kinds[i].name,
                  made->status, made->body);
        cr_expect(strstr(made->body, "delta") != NULL, "%s: %s", kinds[i].name, made->body);
        cr_expect_eq(domain_spent(f, dataset), 0, "%s", kinds[i].name);
        struct response *estimate = post(f, "/v1/jobs:estimate", i, dataset, kinds[i].above);
        cr_expect_eq(estimate->status, 200, "%s: %s", kinds[i].name, estimate->body);
        cr_expect(strstr(response_text(estimate, "/reason"), "delta") == NULL, "%s: %s",
                  kinds[i].name, estimate->body);
    }
    fixture_close(f);
}
