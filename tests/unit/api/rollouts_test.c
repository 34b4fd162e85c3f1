/* The vanishing schedule: where it lands on the least concentration, and that it ends. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "api/teachers/queries.h"
#include "tests/unit/api/kickstart_desk.h"

static struct teacher_row schedule(double concentration, double least, double vanishing)
{
    return (struct teacher_row){.concentration = concentration,
                                .min_probability = least,
                                .vanishing = vanishing,
                                .at_floor = "uniform"};
}

/* LAST: the last roll-out that is not at the floor. LANDS: its concentration is the least one. */
static const struct {
    double concentration, min_probability, vanishing;
    int last;
    bool lands;
} schedules[] = {
    {20, 0.1, 0.5, 1, true},        {20, 0.05, 0.5, 0, true},
    {100, 0.1, 0.1, 1, true},       {1000, 0.1, 0.1, 2, true},
    {98, 1 / 49., 0.5, 1, true},    {10 / .7 / .7 / .7, 0.1, 0.7, 3, true},
    {10 / .343, 0.1, 0.7, 3, true}, {21, 0.1, 0.5, 1, false},
    {20, 0.1, 0.8, 3, false},       {19.9999, 0.1, 0.5, 0, false},
};

Test(rollouts, end_where_the_schedule_lands_on_the_least_concentration)
{
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++) {
        const struct teacher_row row = schedule(
            schedules[i].concentration, schedules[i].min_probability, schedules[i].vanishing);
        bool floor = true;
        double least = 1 / row.min_probability, k = row.concentration, next;
        cr_expect_eq(rollout_concentration(&row, 0, &floor), k);
        for (int n = 1; n <= schedules[i].last; n++, k = next) {
            next = rollout_concentration(&row, n, &floor);
            cr_expect(!floor && next < k && next >= least, "%zu, %d: %.17g", i, n, next);
        }
        cr_expect_eq(k == least, schedules[i].lands, "%zu: %.17g", i, k);
        for (int n = schedules[i].last + 1; n < 1000000; n = 2 * n + 1) {
            cr_expect_eq(rollout_concentration(&row, n, &floor), 0, "%zu, %d", i, n);
            cr_expect(floor, "%zu, %d", i, n);
        }
    }
}

Test(rollouts, of_a_teacher_without_a_schedule_or_of_an_old_one_are_charged)
{
    struct teacher_row row = schedule(20, 0.1, 1);
    bool floor = true;
    cr_expect_eq(rollout_concentration(&row, 100, &floor), 20);
    cr_expect_not(floor);
    row = (struct teacher_row){.vanishing = 1, .sigma = 0.1, .at_floor = "uniform"};
    cr_expect_eq(rollout_concentration(&row, 100, &floor), 0);
    cr_expect_not(floor);
    row = schedule(20, 0.1, 0.8);
    snprintf(row.at_floor, sizeof row.at_floor, "charge");
    cr_expect_eq(rollout_concentration(&row, 100, &floor), 10);
    cr_expect_not(floor);
}

/* A teacher of 20, then 10 = 1/0.1, then nothing. */
static const char *landing_teacher(struct fixture *f, const char *at_floor)
{
    struct response *made = fixture_post(
        f, "steward", "/v1/teachers",
        domain_path("{\"policy\":\"%s\",\"mechanism\":{\"concentration\":20,\"min_probability\":"
                    "0.1,\"vanishing\":0.5,\"at_floor\":\"%s\"},\"adjacency\":{\"unit\":"
                    "\"observation\",\"radius\":0.001},\"accounting\":\"basic\",\"budget\":"
                    "{\"epsilon\":1e6,\"delta\":0.5},\"client_budget\":{\"epsilon\":1e4,\"delta\":"
                    "1e-2}}",
                    domain_policy(f), at_floor));
    expect_status(made, 201);
    return response_text(made, "/id");
}

Test(rollouts, charge_at_the_least_concentration_and_nothing_after_it)
{
    struct fixture *f = fixture_open();
    const char *id = landing_teacher(f, "uniform");
    const char *next = domain_path("/v1/teachers/%s/rollouts", id);
    const char *ask = domain_path("/v1/teachers/%s/queries", id);
    struct response *r = fixture_post(f, "student", next, NULL);
    cr_expect_eq(response_number(r, "/concentration"), 10);
    cr_expect(json_is_null(response_at(r, "/at_floor")));
    r = fixture_post(f, "student", ask, "{\"state\":[0,0,0,0],\"concentration\":10}");
    expect_status(r, 200);
    cr_expect_eq(response_number(r, "/concentration"), 10);
    double spent = response_number(r, "/spent/epsilon");
    cr_expect_gt(response_number(r, "/cost/epsilon"), 0);
    r = fixture_post(f, "student", next, NULL);
    cr_expect_str_eq(response_text(r, "/at_floor"), "uniform");
    for (int i = 0; i < 3; i++) {
        r = fixture_post(f, "student", ask, "{\"state\":[1,2,3,4]}");
        expect_status(r, 200);
        cr_expect_str_eq(response_text(r, "/at_floor"), "uniform");
        cr_expect_eq(response_number(r, "/probabilities/0"), 0.5);
        cr_expect_eq(response_number(r, "/cost/epsilon"), 0);
        cr_expect_eq(response_number(r, "/spent/epsilon"), spent);
    }
    domain_expect_whole_ledger(f);
    fixture_close(f);
}

/* A job's roll-outs count from 1: one of them at 10, and then the teacher is silent. */
Test(rollouts, of_a_job_end_where_the_schedule_lands)
{
    struct fixture *f = fixture_open();
    static const char *const floors[] = {"uniform", "refuse"};
    for (int i = 0; i < 2; i++) {
        const char *id = landing_teacher(f, floors[i]);
        struct response *estimate =
            fixture_post(f, "steward", "/v1/jobs:estimate", kickstart_job(id, "", ""));
        cr_expect_eq(response_number(estimate, "/asking/rollouts_paid"), 1);
        struct response *job = domain_run(f, kickstart_job(id, "", ""));
        cr_expect_eq(response_number(job, "/findings/states_answered"), KICKSTART_QUESTIONS);
        cr_expect_eq(response_number(job, "/findings/alone_since_step"), 1);
        cr_expect_float_eq(response_number(job, "/findings/epsilon_spent"),
                           response_number(estimate, "/cost/epsilon"), 1e-9);
    }
    domain_expect_whole_ledger(f);
    fixture_close(f);
}
