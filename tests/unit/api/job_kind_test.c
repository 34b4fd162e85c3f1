/* The tables of kinds: every algorithm is described, refused, planned and estimated by its kind's
 * row, so that a new one needs a file and a line in the catalogue alone. */
#include <criterion/criterion.h>
#include <string.h>

#include "algos/catalogue/algorithms.h"
#include "api/jobs/ask/job_kind.h"
#include "api/jobs/run/job_run.h"
#include "tests/unit/api/service.h"

TestSuite(job_kind, .init = service_open, .fini = service_close);

/* What a request of each kind has beside its algorithm, with DATASET or POLICY in it. */
static const char *members_of(const struct algorithm *algorithm, const char *dataset,
                              const char *policy)
{
    switch (job_kind(algorithm)->source) {
    case JOB_SOURCE_DATASET:
        return domain_path("\"dataset\":\"%s\",\"privacy\":{\"epsilon\":6,\"delta\":1e-3}",
                           dataset);
    case JOB_SOURCE_WORLD: return "\"mechanism\":\"none\",\"environment\":\"cartpole\"";
    case JOB_SOURCE_POLICY:
        return domain_path("\"policy\":\"%s\",\"evaluate\":{\"environment\":\"cartpole\"}", policy);
    case JOB_SOURCE_NOTHING: break;
    }
    return "\"parameters\":{}";
}

static const char *some_policy(void)
{
    struct response *trained = domain_run(
        f, "{\"algorithm\":\"ppo\",\"environment\":\"cartpole\",\"parameters\":{\"hidden\":[8],"
           "\"worlds\":4,\"rollout_steps\":16,\"minibatch\":32,\"transitions\":640}}");
    return response_text(trained, "/policy");
}

Test(job_kind, every_algorithm_is_planned_by_its_kinds_row, .timeout = 600)
{
    unsigned count;
    const struct algorithm *const *all = algorithm_all(&count);
    const char *dataset = domain_sealed(f, "private", 200), *policy = some_policy();
    for (unsigned i = 0; i < count; i++) {
        const char *members = members_of(all[i], dataset, policy);
        const char *body = domain_path("{\"algorithm\":\"%s\",%s}", all[i]->name, members);
        struct response *estimate = fixture_post(f, "steward", "/v1/jobs:estimate", body);
        expect_status(estimate, 200);
        cr_expect(json_is_object(response_at(estimate, "/plan")) ||
                      json_is_string(response_at(estimate, "/reason")),
                  "%s: %s", all[i]->name, estimate->body);
        if (job_kind(all[i])->time_unknown)
            cr_expect_str_eq(response_text(estimate, "/running_time_unknown"),
                             job_kind(all[i])->time_unknown, "%s", all[i]->name);
    }
}

/* A member that a rule requires or refuses is named, with the rule's own words. */
Test(job_kind, every_rule_is_told)
{
    unsigned count;
    const struct algorithm *const *all = algorithm_all(&count);
    for (unsigned i = 0; i < count; i++) {
        for (const struct job_member_rule *rule = job_member_rules; rule->pointer; rule++) {
            const char *member = "";
            if ((rule->kinds >> all[i]->kind & 1) == 0)
                continue;
            if (!rule->required)
                member = domain_path(",\"%s\":\"x\"", rule->pointer + 1);
            const char *body = domain_path("{\"algorithm\":\"%s\"%s}", all[i]->name, member);
            struct response *refused = fixture_post(f, "steward", "/v1/jobs:estimate", body);
            expect_status(refused, 422);
            cr_expect(strstr(refused->body, domain_path("\"%s\"", rule->pointer)) != NULL, "%s: %s",
                      body, refused->body);
            cr_expect(strstr(refused->body, rule->detail) != NULL, "%s: %s", body, refused->body);
        }
    }
}

Test(job_kind, every_kind_has_both_rows)
{
    unsigned count;
    const struct algorithm *const *all = algorithm_all(&count);
    bool used[ALGORITHM_KINDS] = {false};
    for (unsigned i = 0; i < count; i++) {
        const struct run_kind *run = run_kind(&(struct job_plan){.algorithm = all[i]});
        used[all[i]->kind] = true;
        cr_assert(run->kept && run->work, "%s", all[i]->name);
        cr_assert_eq(run->complete == NULL, all[i]->train == NULL, "%s", all[i]->name);
    }
    for (int kind = 0; kind < ALGORITHM_KINDS; kind++)
        cr_expect(used[kind], "%d", kind);
}

/* A list of hidden layers may be empty: the model is then linear. */
Test(job_kind, every_network_may_be_linear, .timeout = 600)
{
#define STEPS_OF "\"hidden\":[],\"batch_size\":4,\"steps\":20"
#define PRIVATE  "\"dataset\":\"%s\",\"privacy\":{\"epsilon\":1,\"delta\":1e-6,\"force\":true}"
#define CARTPOLE                                                                                   \
    "\"environment\":\"cartpole\",\"mechanism\":\"dpsgd\",\"privacy\":{\"epsilon\":6,\"delta\":"   \
    "1e-3}"
    static const struct {
        const char *algorithm, *members;
    } jobs[] = {
        {"cql", PRIVATE ",\"parameters\":{" STEPS_OF "}"},
        {"bcq", PRIVATE ",\"parameters\":{" STEPS_OF "}"},
        {"behaviour_cloning", PRIVATE ",\"parameters\":{" STEPS_OF "}"},
        {"gp_q_learning", PRIVATE ",\"parameters\":{\"hidden\":[],\"steps\":20,\"shards\":50}"},
        {"dqn", CARTPOLE ",\"parameters\":{" STEPS_OF ",\"buffer\":200}"},
        {"reinforce", CARTPOLE ",\"parameters\":{\"hidden\":[],\"episodes\":20}"},
        {"ppo", "\"environment\":\"cartpole\",\"parameters\":{\"hidden\":[],\"worlds\":4,"
                "\"rollout_steps\":16,\"minibatch\":32,\"transitions\":640}"},
    };
    const char *dataset = domain_sealed(f, "private", 200);
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        const char *members = domain_path(jobs[i].members, dataset);
        struct response *job =
            domain_run(f, domain_path("{\"algorithm\":\"%s\",%s}", jobs[i].algorithm, members));
        cr_expect_str_eq(response_text(job, "/state"), "succeeded", "%s: %s", jobs[i].algorithm,
                         job->body);
        cr_expect_eq(json_array_size(response_at(job, "/parameters/hidden")), 0);
    }
}
