/* Any bytes as a table. The first byte chooses the rule for last states and the size of reads; the
 * rest is the file.
 *
 * What is read must not depend on how the bytes arrive; what is accepted must hold to the
 * description. */
#include <math.h>
#include <sodium.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/data/expert_names.h"
#include "api/data/table_stream.h"
#include "tests/fuzz/fuzz.h"

#define MOST_STEPS 5

/* What a reading gave. */
struct reading {
    unsigned good, faulty, faults;
    uint64_t sum; /* of everything that was read and reported */
};

static const char *const rules[] = {"own_row", "repeat", "drop", "repeat_or_drop"};

static void report(void *context, uint64_t line, const char *pointer, const char *detail)
{
    struct reading *reading = context;
    assert(line >= 1 && (pointer[0] == '/' || pointer[0] == '\0'));
    reading->faults++;
    fuzz_add(&reading->sum, &line, sizeof line);
    fuzz_add(&reading->sum, pointer, strlen(pointer));
    fuzz_add(&reading->sum, detail, strlen(detail));
}

/* The description with a rule; features of all kinds. */
static struct description *make_description(unsigned rule, bool clips)
{
    char text[900];
    struct json_fault fault;
    snprintf(
        text, sizeof text,
        "{\"row\":\"r\",\"expert\":\"e\",\"features\":[{\"name\":\"x\",\"low\":-1,\"high\":1},"
        "{\"name\":\"y\",\"low\":0.1,\"high\":10,\"scale\":\"log\"},"
        "{\"name\":\"k\",\"categories\":[\"a\",\"b\"]}],\"outside\":\"%s\","
        "\"actions\":[\"l\",\"r\"],\"table\":{\"expert\":\"w\",\"episode\":\"s\",\"time\":\"t\","
        "\"action\":\"a\",\"reward\":\"r\",\"terminated\":\"e\",\"last_state\":\"%s\","
        "\"missing\":{\"previous\":[\"y\"],\"fill\":{\"k\":\"b\"}}}}",
        clips ? "clip" : "refuse", rules[rule]);
    struct description *description = description_parse(text, &fault);
    assert(description);
    return description;
}

static void check(struct reading *reading, const struct trajectory *t, const char *expert)
{
    assert(t->length >= 1 && t->length <= MOST_STEPS);
    assert(t->terminated != t->truncated);
    assert(expert_name_problem(expert, strlen(expert)) == NULL);
    for (uint32_t i = 0; i <= t->length; i++) {
        const float *state = t->states + (size_t)4 * i;
        assert(fabsf(state[0]) <= 1 && fabsf(state[1]) <= 1 && state[2] + state[3] == 1);
    }
    for (uint32_t i = 0; i < t->length; i++)
        assert(t->actions[i] < 2 && isfinite(t->rewards[i]));
    fuzz_add(&reading->sum, expert, strlen(expert));
    fuzz_add(&reading->sum, t->states, ((size_t)t->length + 1) * 4 * sizeof(float));
    fuzz_add(&reading->sum, t->actions, t->length * sizeof(uint16_t));
    fuzz_add(&reading->sum, t->rewards, t->length * sizeof(float));
}

static struct reading read_all(const struct description *description, struct fuzz_source source)
{
    struct reading reading = {.sum = UINT64_C(0xcbf29ce484222325)};
    struct table_tally tally = table_tally_new(description);
    struct table_stream *stream =
        table_stream_new(description, MOST_STEPS, fuzz_reader(&source),
                         (struct json_stream_faults){&reading, report}, &tally);
    for (;;) {
        struct trajectory t;
        const char *expert;
        enum json_stream_status status = table_stream_next(stream, &t, &expert);
        assert(status != JSON_STREAM_GONE);
        if (status == JSON_STREAM_END)
            break;
        if (status == JSON_STREAM_TRAJECTORY) {
            reading.good++;
            check(&reading, &t, expert);
        } else {
            reading.faulty++;
        }
    }
    table_stream_free(stream);
    table_tally_free(&tally);
    assert((reading.faulty == 0) == (reading.faults == 0));
    return reading;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || sodium_init() < 0)
        return 0;
    static struct description *descriptions[8]; /* made once, never freed */
    struct description **description = &descriptions[data[0] % 8];
    if (!*description)
        *description = make_description(data[0] % 4, data[0] & 4);
    size_t step = 1 + data[0] / 8U;
    struct reading whole = read_all(*description, (struct fuzz_source){data + 1, size - 1, 0, 0});
    struct reading pieces =
        read_all(*description, (struct fuzz_source){data + 1, size - 1, 0, step});
    assert(whole.good == pieces.good && whole.sum == pieces.sum);
    return 0;
}
