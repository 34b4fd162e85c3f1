/* The ward as a hospital would bring it: simulated stays, the description of examples/ward.json, a
 * private training without a world, and a downloaded network that reads the numbers as they are. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/http/experts_run.h"
#include "tests/http/one_desk.h"

#define EXPERTS "40"
#define DIM     6
#define ACTIONS 4

TestSuite(described, .init = one_desk_open, .fini = one_desk_close);

/* Declares a dataset with the example's description; its id. */
static void declare(char out_id[64])
{
    size_t size;
    char *description = read_whole("examples/ward.json", &size);
    cr_assert_not_null(description);
    char *body = malloc(size + 300);
    sprintf(body,
            "{\"name\":\"ward\",\"max_episode_steps\":50,\"discount\":0.95,\"nominal_experts\":"
            "40,\"budget\":{\"epsilon\":50,\"delta\":1e-4},\"description\":%s}",
            description);
    struct http_answer made = desk_post(&desk, 201, "/v1/datasets", body, "ward");
    cr_assert_eq(json_integer_value(json_object_get(made.json, "state_dim")), DIM);
    cr_assert_eq(json_integer_value(json_object_get(made.json, "action_count")), ACTIONS);
    snprintf(out_id, 64, "%s", http_text(&made, "id"));
    http_answer_clear(&made);
    free(body);
    free(description);
}

static char *simulate(void)
{
    size_t size;
    const char *const words[] = {"--environment", "ward",        "--experts",   EXPERTS,
                                 "--output",      "ward.ndjson", EXPERTS_SMALL, NULL};
    cr_assert_eq(experts_end(experts_start(&server, NULL, words)), 0);
    return experts_file(&server, "ward.ndjson", &size);
}

/* What the downloaded NETWORK, a perceptron with rectifiers, gives for STATE. */
static void evaluate(const json_t *network, const double state[DIM], double out[ACTIONS])
{
    double values[128];
    json_t *layers = json_object_get(network, "layers");
    memcpy(values, state, DIM * sizeof *values);
    for (size_t l = 0; l < json_array_size(layers); l++) {
        const json_t *weight = json_object_get(json_array_get(layers, l), "weight");
        const json_t *bias = json_object_get(json_array_get(layers, l), "bias");
        size_t count = json_array_size(bias);
        double next[128];
        cr_assert_leq(count, 128);
        for (size_t u = 0; u < count; u++) {
            const json_t *row = json_array_get(weight, u);
            next[u] = json_number_value(json_array_get(bias, u));
            for (size_t i = 0; i < json_array_size(row); i++)
                next[u] += json_number_value(json_array_get(row, i)) * values[i];
            if (l + 1 < json_array_size(layers))
                next[u] = fmax(next[u], 0);
        }
        memcpy(values, next, sizeof values);
    }
    memcpy(out, values, ACTIONS * sizeof *out);
}

static json_t *download(const char *policy)
{
    char path[128];
    snprintf(path, sizeof path, "/v1/policies/%s/weights?format=json", policy);
    struct http_answer answer = desk_get(&desk, path);
    json_t *network = json_incref(answer.json);
    http_answer_clear(&answer);
    cr_assert_not_null(json_object_get(network, "layers"));
    return network;
}

/* At 64 states in natural units, all over the ranges, the service's values are those of the
 * network. Gives how far the values of the first action spread. */
static double check_values(const char *policy, const json_t *network)
{
    char path[128], body[256];
    double least = INFINITY, most = -INFINITY;
    snprintf(path, sizeof path, "/v1/policies/%s/actions", policy);
    for (unsigned i = 0; i < 64; i++) {
        double part[3] = {i % 4 / 3.0, i / 4 % 4 / 3.0, i / 16 / 3.0}, own[ACTIONS];
        double state[DIM] = {
            40 + 170 * part[0], 35 + 100 * part[1], -0.5 + 1.7 * part[2], 70 + 29 * part[0], i % 2,
            1 - i % 2};
        snprintf(body, sizeof body, "{\"states\":[[%.17g,%.17g,%.17g,%.17g,%.17g,%.17g]]}",
                 state[0], state[1], state[2], state[3], state[4], state[5]);
        struct http_answer answer = desk_post(&desk, 200, path, body, NULL);
        const json_t *said = json_array_get(json_object_get(answer.json, "values"), 0);
        evaluate(network, state, own);
        for (size_t a = 0; a < ACTIONS; a++) {
            double value = json_number_value(json_array_get(said, a));
            cr_expect_float_eq(value, own[a], 1e-3 * (1 + fabs(own[a])), "%s: %s", body,
                               answer.body);
        }
        least = fmin(least, own[0]);
        most = fmax(most, own[0]);
        http_answer_clear(&answer);
    }
    return most - least;
}

Test(described, a_ward_is_learned_from_numbers_as_they_are)
{
    char id[64], body[512], path[160];
    declare(id);
    char *lines = simulate();
    desk_fill(&desk, id, lines);
    free(lines);
    snprintf(body, sizeof body,
             "{\"algorithm\":\"behaviour_cloning\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\","
             "\"privacy\":{\"epsilon\":40,\"delta\":1e-5},\"parameters\":{\"arithmetic\":\"float\","
             "\"steps\":400,\"hidden\":[16],\"full_weight_transitions\":1}}",
             id);
    desk_submit(&desk, body, "job", path);
    struct http_answer job = desk_wait(&desk, path);
    cr_assert_str_eq(http_text(&job, "state"), "succeeded", "%s", job.body);
    const char *policy = http_text(&job, "policy");
    json_t *network = download(policy);
    /* They differ from state to state, as those of a network on inputs of order 1 do. */
    double spread = check_values(policy, network);
    cr_expect(spread > 1e-3 && spread < 1000, "%g", spread);
    json_decref(network);
    snprintf(path, sizeof path, "/v1/policies/%s/certificate", policy);
    struct http_answer certificate = desk_get(&desk, path);
    cr_expect_str_eq(http_text(&certificate, "expert_means"),
                     "the clinician, with every stay that they treated");
    http_answer_clear(&certificate);
    http_answer_clear(&job);
    desk_expect_whole_ledger(&desk);
}
