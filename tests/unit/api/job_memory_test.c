/* Jobs that run short of memory: a training that is paid for waits as long as it takes; one on
 * made-up data, which costs nothing, is tried a few times and then ends with the reason. */
#include <criterion/criterion.h>
#include <string.h>

#include "algos/offline/stage.h"
#include "tests/unit/api/service.h"

TestSuite(job_memory, .init = service_open, .fini = service_close);

enum { TRIES = 5, LEASE_OVER_MS = 40000 };

/* This program is linked with --wrap=stage_train: every training passes here. */
static bool memory_is_short;
enum algorithm_status __real_stage_train(const struct stage_run *stage, struct policy **out_policy,
                                         const char **message);
enum algorithm_status __wrap_stage_train(const struct stage_run *stage, struct policy **out_policy,
                                         const char **message);

enum algorithm_status __wrap_stage_train(const struct stage_run *stage, struct policy **out_policy,
                                         const char **message)
{
    if (!memory_is_short)
        return __real_stage_train(stage, out_policy, message);
    *out_policy = NULL;
    return ALGORITHM_NO_MEMORY;
}

/* Tries the one job TIMES times, each of which ends short of memory. */
static void run_short(unsigned times)
{
    memory_is_short = true;
    for (unsigned i = 0; i < times; i++) {
        cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_PAUSED, "try %u", i);
        fixture_advance(LEASE_OVER_MS);
    }
}

static struct response *submit(const char *body)
{
    struct response *made = fixture_post(f, "steward", "/v1/jobs", body);
    expect_status(made, 202);
    return made;
}

static const char *rehearsal(const char *dataset)
{
    return domain_path("{\"algorithm\":\"behaviour_cloning\",\"dataset\":\"%s\","
                       "\"privacy\":{\"epsilon\":4,\"delta\":1e-6},\"rehearse\":true,"
                       "\"parameters\":{\"hidden\":[4],\"batch_size\":4,\"steps\":20}}",
                       dataset);
}

Test(job_memory, what_is_made_up_fails_once_with_the_reason)
{
    const char *id = domain_sealed(f, "private", 20);
    const char *const bodies[] = {
        rehearsal(id), "{\"algorithm\":\"audit\",\"parameters\":{\"runs\":20}}",
        "{\"algorithm\":\"audit\",\"parameters\":{\"method\":\"one_run\",\"canaries\":40,"
        "\"batch_size\":10,\"trainings\":2}}"};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct response *made = submit(bodies[i]);
        run_short(TRIES);
        cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
        struct response *job = domain_job(f, made);
        cr_assert_str_eq(response_text(job, "/state"), "failed", "%s", job->body);
        cr_assert_str_eq(response_text(job, "/error/type"), "/problems/training-failed");
        cr_assert_not_null(strstr(response_text(job, "/error/detail"), "ran short of memory"), "%s",
                           job->body);
        cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_NONE, "it is over");
    }
    cr_assert_eq(domain_spent(f, id), 0);
}

Test(job_memory, what_is_made_up_goes_on_when_there_is_memory_again)
{
    struct response *made = submit(rehearsal(domain_sealed(f, "private", 20)));
    run_short(TRIES - 1);
    memory_is_short = false;
    cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    struct response *job = domain_job(f, made);
    cr_assert_str_eq(response_text(job, "/state"), "succeeded", "%s", job->body);
}

Test(job_memory, what_is_paid_for_waits_as_long_as_it_takes)
{
    const char *private = domain_sealed(f, "private", 20), *open = domain_sealed(f, "public", 20);
    const char *const bodies[] = {domain_private_job(private, 6, 20), domain_plain_job(open, 20)};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct response *made = submit(bodies[i]);
        double held = response_number(domain_budget(f, private), "/reserved/epsilon");
        run_short(3 * TRIES);
        cr_assert_str_eq(response_text(domain_job(f, made), "/state"), "running");
        memory_is_short = false;
        cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
        struct response *job = domain_job(f, made);
        cr_assert_str_eq(response_text(job, "/state"), "succeeded", "%s", job->body);
        if (i == 0)
            cr_assert_float_eq(domain_spent(f, private), held, 1e-12, "it is paid once");
    }
}

/* ---- data that are larger than what they may take of memory */

static void into_nowhere(struct api_settings *settings)
{
    settings->data_memory_bytes = 1;
    settings->columns_dir = "/tmp/there-is-no-such-directory";
}

Test(job_memory, a_disk_without_room_for_the_data_fails_the_job_before_it_spends)
{
    service_close();
    f = fixture_open_with(into_nowhere);
    const char *id = domain_sealed(f, "private", 20);
    struct response *made = submit(domain_private_job(id, 6, 20));
    cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    struct response *job = domain_job(f, made);
    cr_assert_str_eq(response_text(job, "/state"), "failed", "%s", job->body);
    cr_assert_str_eq(response_text(job, "/error/detail"),
                     "The dataset is damaged, or neither memory nor the disk of --columns-dir has "
                     "room for it.");
    cr_assert_eq(domain_spent(f, id), 0);
    cr_assert_eq(response_number(domain_budget(f, id), "/reserved/epsilon"), 0);
}
