/* Events in JSON: what is read is written again, and every fault is told with its place. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json_text.h"
#include "api/wire/event_json.h"
#include "api/wire/event_text.h"

#define GAUSSIAN  "{\"type\":\"GaussianDpEvent\",\"noise_multiplier\":1.1}"
#define DIRICHLET "\"type\":\"DirichletDpEvent\",\"actions\":4,\"concentration\":20"

static json_t *parsed(const char *text)
{
    json_t *json = NULL;
    struct json_fault fault;
    cr_assert_eq(json_text_parse(text, strlen(text), &json, &fault), JSON_TEXT_GOOD, "%s: %s", text,
                 fault.detail);
    return json;
}

/* All pointers, each followed by a blank. */
struct faults {
    char pointers[4000];
    unsigned count;
};

static void note(void *context, const char *pointer, const char *detail)
{
    struct faults *faults = context;
    size_t size = strlen(faults->pointers);
    cr_assert(detail[0] != '\0');
    snprintf(faults->pointers + size, sizeof faults->pointers - size, "%s ", pointer);
    faults->count++;
}

static bool read(const char *text, struct faults *faults, struct event *out)
{
    json_t *json = parsed(text);
    *faults = (struct faults){0};
    const struct event_json_faults sink = {note, faults};
    bool good = event_json_read(json, "/events", &sink, out);
    json_decref(json);
    cr_assert_eq(good, faults->count == 0);
    return good;
}

Test(event_json, writes_what_it_reads)
{
    static const char *const trees[] = {
        "{\"type\":\"NoOpDpEvent\"}",
        "{\"type\":\"NonPrivateDpEvent\"}",
        GAUSSIAN,
        "{\"type\":\"LaplaceDpEvent\",\"noise_multiplier\":0.1}",
        "{\"type\":\"RandomizedResponseDpEvent\",\"noise_parameter\":0.3,\"num_buckets\":4}",
        "{\"type\":\"EpsilonDeltaDpEvent\",\"epsilon\":0.1,\"delta\":1e-7}",
        "{" DIRICHLET ",\"min_probability\":0.1,\"sensitivity\":0.0123456789012345}",
        "{\"type\":\"PoissonSampledDpEvent\",\"sampling_probability\":0.01,\"event\":" GAUSSIAN "}",
        "{\"type\":\"SelfComposedDpEvent\",\"count\":1000000000000,\"event\":" GAUSSIAN "}",
        "{\"type\":\"ComposedDpEvent\",\"events\":[" GAUSSIAN ",{\"type\":\"NoOpDpEvent\"},"
        "{\"type\":\"SelfComposedDpEvent\",\"count\":3,\"event\":{\"type\":\"ComposedDpEvent\","
        "\"events\":[" GAUSSIAN "," GAUSSIAN "]}}]}",
    };
    for (size_t i = 0; i < sizeof trees / sizeof *trees; i++) {
        struct event event;
        struct faults faults;
        cr_assert(read(trees[i], &faults, &event), "%s: %s", trees[i], faults.pointers);
        json_t *written = event_json(&event);
        size_t size;
        char *text = json_text_write(written, false, &size);
        cr_assert_str_eq(text, trees[i]);
        free(text);
        json_decref(written);
        event_clear(&event);
    }
}

Test(event_json, takes_an_array_and_named_tuples)
{
    struct event event;
    struct faults faults;
    cr_assert(read("[" GAUSSIAN ",{\"class_name\":\"LaplaceDpEvent\",\"module_name\":"
                   "\"dp_accounting.dp_event\",\"noise_multiplier\":2}]",
                   &faults, &event));
    cr_assert_eq(event.kind, EVENT_COMPOSED);
    cr_assert_eq(event.child_count, 2);
    cr_assert_eq(event.child[1].mechanism.kind, MECHANISM_LAPLACE);
    cr_assert_eq(event.child[1].mechanism.laplace.noise_multiplier, 2);
    event_clear(&event);
}

Test(event_json, tells_where_it_is_wrong)
{
    static const char *const cases[][2] = {
        {"[]", "/events "},
        {"3", "/events "},
        {"null", "/events "},
        {"[3]", "/events/0 "},
        {"{}", "/events/type "},
        {"{\"type\":3}", "/events/type "},
        {"{\"type\":\"gaussian\"}", "/events/type "},
        {"{\"class_name\":\"UnsupportedDpEvent\"}", "/events/class_name "},
        {"{\"type\":\"SampledWithoutReplacementDpEvent\",\"sample_size\":3}", "/events/type "},
        {"{\"type\":\"NoOpDpEvent\",\"count\":1}", "/events/count "},
        {"{\"type\":\"NoOpDpEvent\",\"a/b\":1}", "/events "},
        {"{\"type\":\"GaussianDpEvent\"}", "/events/noise_multiplier "},
        {"{\"type\":\"GaussianDpEvent\",\"noise_multiplier\":0}", "/events/noise_multiplier "},
        {"{\"type\":\"GaussianDpEvent\",\"noise_multiplier\":-1}", "/events/noise_multiplier "},
        {"{\"type\":\"GaussianDpEvent\",\"noise_multiplier\":1e301}", "/events/noise_multiplier "},
        {"{\"type\":\"GaussianDpEvent\",\"noise_multiplier\":\"1\"}", "/events/noise_multiplier "},
        {"{\"type\":\"GaussianDpEvent\",\"noise_multiplier\":null}", "/events/noise_multiplier "},
        {"{\"type\":\"GaussianDpEvent\",\"noise_mutliplier\":1}",
         "/events/noise_mutliplier /events/noise_multiplier "},
        {"{\"type\":\"LaplaceDpEvent\",\"noise_multiplier\":0}", "/events/noise_multiplier "},
        {"{\"type\":\"RandomizedResponseDpEvent\",\"noise_parameter\":1,\"num_buckets\":2.5}",
         "/events/noise_parameter /events/num_buckets "},
        {"{\"type\":\"RandomizedResponseDpEvent\",\"noise_parameter\":0,\"num_buckets\":1}",
         "/events/noise_parameter /events/num_buckets "},
        {"{\"type\":\"EpsilonDeltaDpEvent\",\"epsilon\":-0.1,\"delta\":1}",
         "/events/epsilon /events/delta "},
        {"{" DIRICHLET ",\"min_probability\":0.01,\"sensitivity\":0.1}", "/events "},
        {"{" DIRICHLET ",\"min_probability\":0.1,\"sensitivity\":0}", "/events/sensitivity "},
        {"{\"type\":\"PoissonSampledDpEvent\",\"sampling_probability\":1.1,\"event\":" GAUSSIAN "}",
         "/events/sampling_probability "},
        {"{\"type\":\"PoissonSampledDpEvent\",\"sampling_probability\":0,\"event\":3}",
         "/events/sampling_probability /events/event "},
        {"{\"type\":\"SelfComposedDpEvent\",\"count\":0,\"event\":" GAUSSIAN "}", "/events/count "},
        {"{\"type\":\"SelfComposedDpEvent\",\"count\":1.5,\"event\":" GAUSSIAN "}",
         "/events/count "},
        {"{\"type\":\"SelfComposedDpEvent\",\"count\":1000000000001,\"event\":" GAUSSIAN "}",
         "/events/count "},
        {"{\"type\":\"SelfComposedDpEvent\",\"count\":2}", "/events/event "},
        {"{\"type\":\"ComposedDpEvent\",\"events\":[]}", "/events/events "},
        {"{\"type\":\"ComposedDpEvent\",\"events\":{}}", "/events/events "},
        {"[" GAUSSIAN ",{\"type\":\"ComposedDpEvent\",\"events\":[{},4]}]",
         "/events/1/events/0/type /events/1/events/1 "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct event event;
        struct faults faults;
        cr_expect(!read(cases[i][0], &faults, &event), "%s", cases[i][0]);
        cr_expect_str_eq(faults.pointers, cases[i][1], "%s: %s", cases[i][0], faults.pointers);
        cr_expect(event.child == NULL && event.child_count == 0);
    }
}

/* DEPTH events, the innermost a Gaussian. */
static char *nested(unsigned depth)
{
    char *text = calloc(depth + 1, 80);
    cr_assert_not_null(text);
    for (unsigned i = 1; i < depth; i++)
        strcat(text, "{\"type\":\"SelfComposedDpEvent\",\"count\":1,\"event\":");
    strcat(text, GAUSSIAN);
    for (unsigned i = 1; i < depth; i++)
        strcat(text, "}");
    return text;
}

Test(event_json, bounds_depth)
{
    for (unsigned depth = EVENT_JSON_MAX_DEPTH; depth <= EVENT_JSON_MAX_DEPTH + 2; depth++) {
        struct event event;
        struct faults faults;
        char *text = nested(depth);
        cr_expect_eq(read(text, &faults, &event), depth == EVENT_JSON_MAX_DEPTH, "%u", depth);
        event_clear(&event);
        free(text);
    }
}

Test(event_json, bounds_the_number_of_events)
{
    for (unsigned count = EVENT_JSON_MAX_EVENTS - 1; count <= EVENT_JSON_MAX_EVENTS + 1; count++) {
        char *text = malloc((size_t)count * (sizeof GAUSSIAN + 1) + 3);
        cr_assert_not_null(text);
        size_t size = 0;
        for (unsigned i = 0; i < count; i++)
            size += (size_t)sprintf(text + size, "%s" GAUSSIAN, i == 0 ? "[" : ",");
        sprintf(text + size, "]");
        struct event event;
        struct faults faults;
        cr_expect_eq(read(text, &faults, &event), count <= EVENT_JSON_MAX_EVENTS, "%u", count);
        cr_expect_leq(faults.count, 1);
        event_clear(&event);
        free(text);
    }
}

Test(event_json, reads_text_for_those_without_json)
{
    static const char *const wrong[][2] = {
        {"", "The body is empty"},
        {"{\"type\":", "Line 1"},
        {"{\"type\":\"GaussianDpEvent\",\"noise_multiplier\":NaN}", "not JSON"},
        {"{\"type\":\"GaussianDpEvent\",\"noise_multiplier\":1e999}", "/noise_multiplier"},
        {"[" GAUSSIAN ",{}]", "/1/type is required"},
        {"4", "it must be an event"},
    };
    struct event event;
    char fault[EVENT_TEXT_FAULT_SIZE];
    cr_assert(event_text_read(GAUSSIAN, strlen(GAUSSIAN), &event, fault));
    cr_assert_eq(event.mechanism.gaussian.noise_multiplier, 1.1);
    cr_assert_eq(event.mechanism.gaussian.sampling_rate, 1);
    event_clear(&event);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        memset(&event, 0xa5, sizeof event);
        cr_expect(!event_text_read(wrong[i][0], strlen(wrong[i][0]), &event, fault));
        event_clear(&event); /* it is empty, whatever was there before */
        cr_expect_not_null(strstr(fault, wrong[i][1]), "%s: %s", wrong[i][0], fault);
    }
}
