/* Any bytes as a table. The first byte chooses the rule for last states, or, from 128, that the
 * description of the dataset comes first, and a NUL behind it; the rest is the file.
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

static void check(const struct description *description, struct reading *reading,
                  const struct trajectory *t, const char *expert)
{
    uint32_t dim = description->dim;
    assert(t->length >= 1 && t->length <= MOST_STEPS);
    assert(t->terminated != t->truncated);
    assert(!expert_name_problem(expert, strlen(expert)));
    for (size_t i = 0; i < ((size_t)t->length + 1) * dim; i++) {
        const struct feature_range *range = &description->ranges->range[i % dim];
        assert(range->low - 1e-6 * fabs(range->low) <= (double)t->states[i] &&
               (double)t->states[i] <= range->high + 1e-6 * fabs(range->high));
    }
    for (uint32_t i = 0; i < t->length; i++)
        assert(t->actions[i] < description->action_count && isfinite(t->rewards[i]));
    fuzz_add(&reading->sum, expert, strlen(expert));
    fuzz_add(&reading->sum, t->states, ((size_t)t->length + 1) * dim * sizeof(float));
    fuzz_add(&reading->sum, t->actions, t->length * sizeof(uint16_t));
    fuzz_add(&reading->sum, t->rewards, t->length * sizeof(float));
}

static struct reading read_all(const struct description *description, struct fuzz_source source)
{
    struct reading reading = {.sum = FUZZ_SUM_START};
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
            check(description, &reading, &t, expert);
        } else {
            reading.faulty++;
        }
    }
    table_stream_free(stream);
    table_tally_free(&tally);
    assert((reading.faulty == 0) == (reading.faults == 0));
    return reading;
}

static void read_twice(const struct description *description, const uint8_t *data, size_t size,
                       size_t step)
{
    struct reading whole = read_all(description, (struct fuzz_source){data, size, 0, 0});
    struct reading pieces = read_all(description, (struct fuzz_source){data, size, 0, step});
    assert(whole.good == pieces.good && whole.sum == pieces.sum);
}

/* A table of a description that the input brings. */
static void read_described(const uint8_t *data, size_t size, size_t step)
{
    struct json_fault fault;
    char *text = fuzz_copy(data, size, true);
    size_t used = strlen(text);
    struct description *description = description_parse(text, &fault);
    if (description && description->has_table && used < size)
        read_twice(description, data + used + 1, size - used - 1, step);
    description_free(description);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct description *descriptions[8]; /* made once, never freed */
    if (sodium_init() < 0)
        return 0;
    uint8_t how = fuzz_byte(&data, &size);
    struct description **description = &descriptions[how % 8];
    if (how >= 128) {
        read_described(data, size, 1 + how / 8U % 16U);
        return 0;
    }
    if (!*description)
        *description = make_description(how % 4, how & 4);
    read_twice(*description, data, size, 1 + how / 8U);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    return fuzz_mutate_json(data, size, max_size, seed, 1);
}
