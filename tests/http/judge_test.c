/* A policy of private data, judged on public data over HTTP. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/http/scene.h"
#include "tests/http/server_process.h"

/* A sealed public dataset of random walkers, whose returns are not alike. */
static void public_dataset(const struct desk *desk, unsigned experts, char out_id[64])
{
    struct http_answer made = desk_post(
        desk, 201, "/v1/datasets",
        "{\"name\":\"public\",\"environment\":\"cartpole\",\"sensitivity\":\"public\"}", NULL);
    snprintf(out_id, 64, "%s", json_string_value(json_object_get(made.json, "id")));
    char *longer = scene_trajectories(experts, 2, 20, 11);
    char *shorter = scene_trajectories(experts, 1, 12, 12);
    size_t size = strlen(longer) + strlen(shorter) + 1;
    char *lines = malloc(size);
    snprintf(lines, size, "%s%s", longer, shorter);
    desk_fill(desk, out_id, lines);
    free(longer);
    free(shorter);
    free(lines);
    http_answer_clear(&made);
}

static double number_at(const json_t *judge, const char *object, const char *member)
{
    const json_t *value = json_object_get(json_object_get(judge, object), member);
    cr_assert(json_is_number(value), "%s.%s", object, member);
    return json_number_value(value);
}

Test(judge, says_what_public_data_bear_out)
{
    struct server_process server;
    struct desk desk;
    char private_id[64], public_id[64], body[512], path[96];
    server_open(&server, "--workers", "1", NULL);
    desk_open(&desk, &server);
    scene_dataset(desk.client, desk.steward, 40, private_id);
    public_dataset(&desk, 30, public_id);
    snprintf(
        body, sizeof body,
        "{\"algorithm\":\"cql\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\","
        "\"privacy\":{\"epsilon\":4,\"delta\":1e-5,\"force\":true},\"judge\":{\"dataset\":\"%s\"},"
        "\"parameters\":{\"hidden\":[8],\"batch_size\":8,\"steps\":20}}",
        private_id, public_id);
    desk_submit(&desk, body, "judged", path);
    struct http_answer job = desk_wait(&desk, path);
    const json_t *findings = json_object_get(job.json, "findings");
    const json_t *judge = json_object_get(findings, "judge");
    const char *verdict = json_string_value(json_object_get(judge, "verdict"));
    cr_assert_not_null(verdict, "%s", job.body);
    cr_assert_neq(json_array_size(json_object_get(judge, "reasons")), 0);
    double lowest = number_at(judge, "logged", "lowest");
    double highest = number_at(judge, "logged", "highest");
    cr_assert_lt(lowest, number_at(judge, "behaviour", "value"));
    cr_assert_gt(highest, number_at(judge, "behaviour", "value"));
    cr_assert_leq(lowest, number_at(judge, "value", "low"));
    cr_assert_geq(highest, number_at(judge, "value", "high"));
    double value = json_number_value(json_object_get(findings, "fitted_q_value"));
    bool inside = lowest <= value && value <= highest;
    cr_assert(inside || (json_is_true(json_object_get(judge, "outside_logged_range")) &&
                         strcmp(verdict, "not_supported") == 0));
    cr_assert_eq(desk_epsilon(&desk, private_id, "reserved"), 0);
    cr_assert_leq(desk_epsilon(&desk, private_id, "spent"), 4, "the judgement is free");
    desk_expect_whole_ledger(&desk);
    http_answer_clear(&job);
    desk_close(&desk);
    server_close(&server);
}
