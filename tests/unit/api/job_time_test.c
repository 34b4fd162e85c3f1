/* The running time of an estimate: what it counts, and where it has none and says why. How near it
 * comes to real jobs is in docs/performance.md; here nothing is timed. */
#include "tests/unit/api/service.h"
#include <criterion/criterion.h>
#include <string.h>

TestSuite(job_time, .init = service_open, .fini = service_close);

/* Of the algorithm ALGORITHM with MECHANISM; MORE is further members of the body. */
static const char *job(const char *algorithm, const char *mechanism, const char *dataset,
                       const char *privacy, const char *more)
{
    return domain_path("{\"algorithm\":\"%s\",\"mechanism\":\"%s\",\"dataset\":\"%s\","
                       "\"privacy\":{\"epsilon\":60,\"delta\":1e-3%s}%s}",
                       algorithm, mechanism, dataset, privacy, more);
}

static double seconds(const char *body)
{
    struct response *estimate = fixture_post(f, "steward", "/v1/jobs:estimate", body);
    expect_status(estimate, 200);
    cr_assert(json_is_true(response_at(estimate, "/feasible")), "%s", estimate->body);
    cr_expect(json_is_null(response_at(estimate, "/running_time_unknown")));
    return response_number(estimate, "/running_time/seconds");
}

#define STEPS(n) ",\"parameters\":{\"hidden\":[8],\"batch_size\":4,\"steps\":" #n "}"

/* 40 clones take 1.8 s, 40 small networks next to nothing. */
Test(job_time, clones_are_counted_where_no_network_was_uploaded)
{
    const char *cloned = domain_crowd(f, 40, false), *uploaded = domain_crowd(f, 40, true);
    double with = seconds(job("cql", "consensus", cloned, "", STEPS(10)));
    double without = seconds(job("cql", "consensus", uploaded, "", STEPS(10)));
    cr_expect_float_eq(with - without, 1.8, 0.2, "%g and %g", with, without);
    double rounds =
        seconds(job("cql", "consensus", uploaded, ",\"consensus\":{\"rounds\":41}", STEPS(10)));
    cr_expect_float_eq(rounds - without, 1.8, 0.1, "40 students: %g", rounds);
    double prefixes =
        seconds(job("cql", "selective_dpsgd", cloned, ",\"stable\":{\"count\":5}", STEPS(10)));
    cr_expect_gt(prefixes, 1.8);
}

Test(job_time, labels_skill_steps_and_evaluation_add_to_it)
{
    const char *id = domain_crowd(f, 40, false);
    double some = seconds(job("cql", "consensus", id, "", STEPS(10)));
    double labels =
        seconds(job("cql", "consensus", id, ",\"consensus\":{\"labels\":1000000}", STEPS(10)));
    cr_expect_gt(labels, some + 5);
    double skill =
        seconds(job("cql", "consensus", id,
                    ",\"consensus\":{\"max_length\":10000,\"skill\":{\"low\":0,\"high\":9,"
                    "\"episodes\":16}}",
                    STEPS(10)));
    cr_expect_gt(skill, some + 1);
    double noisy = seconds(job("cql", "dpsgd", id, "", STEPS(400000)));
    double fewer = seconds(job("cql", "dpsgd", id, "", STEPS(100000)));
    cr_expect(noisy > 2.5 * fewer && noisy < 4 * fewer, "%g and %g", noisy, fewer);
    double cloning = seconds(job("behaviour_cloning", "dpsgd", id, "", STEPS(400000)));
    cr_expect(cloning > 0.5 * noisy && cloning < 0.9 * noisy, "three passes of five: %g", cloning);
    double alone = seconds(job("cql", "dpsgd", id, "",
                               ",\"parameters\":{\"hidden\":[8],\"batch_size\":4,"
                               "\"steps\":400000,\"next_action\":\"target\"}"));
    cr_expect(alone > cloning && alone < 0.95 * noisy, "four passes of five: %g", alone);
    double short_play = seconds(job("cql", "dpsgd", id, "", STEPS(10)));
    double long_play =
        seconds(job("cql", "dpsgd", id, "",
                    STEPS(10) ",\"evaluate\":{\"environment\":\"cartpole\",\"episodes\":1000}"));
    cr_expect_gt(long_play, short_play);
}

/* Each further transition of an expert is as many rows more. */
Test(job_time, transitions_of_an_expert_are_counted)
{
    static const char more[] = ",\"parameters\":{\"hidden\":[8],\"batch_size\":4,"
                               "\"steps\":400000,\"transitions_per_expert\":%d}";
    const char *id = domain_crowd(f, 40, false);
    double one = seconds(job("cql", "dpsgd", id, "", domain_path(more, 1)));
    double eleven = seconds(job("cql", "dpsgd", id, "", domain_path(more, 11)));
    double sixty_one = seconds(job("cql", "dpsgd", id, "", domain_path(more, 61)));
    cr_expect_gt(eleven, 1.5 * one);
    cr_expect_float_eq((sixty_one - one) / (eleven - one), 6.0, 0.2, "%g %g", eleven, sixty_one);
}

/* A sweep takes as long as its tries one after the other, the data being read once. */
Test(job_time, a_sweep_takes_all_its_tries)
{
    const char *id = domain_crowd(f, 40, false);
    static const char play[] = ",\"evaluate\":{\"environment\":\"cartpole\",\"episodes\":10}";
    double one = seconds(job("cql", "dpsgd", id, "", domain_path("%s%s", STEPS(400000), play)));
    double four = seconds(job(
        "cql", "dpsgd", id, "",
        domain_path("%s%s,\"sweep\":{\"learning_rate\":[0.1,0.2,0.3,0.4]}", STEPS(400000), play)));
    cr_expect(four > 3.7 * one && four < 4 * one, "%g and %g", four, one);
}

Test(job_time, where_there_is_none_it_says_why)
{
    static const char *const cases[][2] = {
        {"{\"algorithm\":\"ppo\",\"environment\":\"cartpole\"}", "plays episodes"},
        {"{\"algorithm\":\"audit\"}", "made-up"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct response *estimate = fixture_post(f, "steward", "/v1/jobs:estimate", cases[i][0]);
        expect_status(estimate, 200);
        cr_expect(json_is_null(response_at(estimate, "/running_time")), "%s", estimate->body);
        cr_expect_not_null(strstr(response_text(estimate, "/running_time_unknown"), cases[i][1]));
    }
    const char *id = domain_crowd(f, 40, false);
    struct response *poor = fixture_post(
        f, "steward", "/v1/jobs:estimate",
        domain_path("{\"algorithm\":\"cql\",\"mechanism\":\"selective_dpsgd\",\"dataset\":\"%s\","
                    "\"privacy\":{\"epsilon\":0.001,\"delta\":1e-9}}",
                    id));
    cr_expect(json_is_false(response_at(poor, "/feasible")));
    cr_expect_not_null(strstr(response_text(poor, "/running_time_unknown"), "no plan"));
}
