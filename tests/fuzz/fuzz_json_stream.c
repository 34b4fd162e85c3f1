/* Any bytes as an upload. The first byte chooses encoding and the size of reads; the rest is the
 * body.
 *
 * What is read must not depend on how the bytes arrive; numbers must be finite, actions in range,
 * lengths as declared. What is accepted without a fault, another parser reads as the same
 * trajectories, but for the last bit of a number that it rounds twice. */
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/data/expert_names.h"
#include "api/data/json_stream.h"
#include "api/wire/inflate.h"
#include "tests/fuzz/fuzz.h"

#define DECODED_MAX (1U << 20)
#define KEPT_MAX    1024 /* numbers of a reading */

static const struct json_stream_shape shape = {
    .state_dim = 2, .action_count = 3, .max_episode_steps = 5};

/* What a reading gave. */
struct reading {
    unsigned good, faulty, faults;
    uint64_t sum; /* of everything that was read and reported */
    bool gone;
    float kept[KEPT_MAX]; /* the numbers in their order, as many as fit */
    size_t number_count;
};

static void keep(struct reading *reading, const float *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++, reading->number_count++)
        if (reading->number_count < KEPT_MAX)
            reading->kept[reading->number_count] = numbers[i];
}

static void report(void *context, uint64_t line, const char *pointer, const char *detail)
{
    struct reading *reading = context;
    reading->faults++;
    fuzz_add(&reading->sum, &line, sizeof line);
    fuzz_add(&reading->sum, pointer, strlen(pointer));
    fuzz_add(&reading->sum, detail, strlen(detail));
}

static void check(struct reading *reading, const struct trajectory *t, const char *expert)
{
    assert(t->length >= 1 && t->length <= shape.max_episode_steps);
    assert(!expert_name_problem(expert, strlen(expert)));
    for (size_t i = 0; i < ((size_t)t->length + 1) * shape.state_dim; i++)
        assert(isfinite(t->states[i]));
    for (uint32_t i = 0; i < t->length; i++)
        assert(t->actions[i] < shape.action_count && isfinite(t->rewards[i]));
    fuzz_add(&reading->sum, expert, strlen(expert));
    fuzz_add(&reading->sum, t->states, ((size_t)t->length + 1) * shape.state_dim * sizeof(float));
    fuzz_add(&reading->sum, t->actions, t->length * sizeof(uint16_t));
    fuzz_add(&reading->sum, t->rewards, t->length * sizeof(float));
    keep(reading, t->states, ((size_t)t->length + 1) * shape.state_dim);
    keep(reading, t->rewards, t->length);
}

static struct reading read_all(struct byte_reader reader)
{
    struct reading reading = {.sum = FUZZ_SUM_START};
    struct json_stream *stream =
        json_stream_new(&shape, reader, (struct json_stream_faults){&reading, report});
    assert(stream);
    for (;;) {
        struct trajectory t;
        const char *expert;
        enum json_stream_status status = json_stream_next(stream, &t, &expert);
        if (status == JSON_STREAM_END || status == JSON_STREAM_GONE) {
            reading.gone = status == JSON_STREAM_GONE;
            break;
        }
        if (status == JSON_STREAM_TRAJECTORY) {
            reading.good++;
            check(&reading, &t, expert);
        } else {
            reading.faulty++;
        }
    }
    json_stream_free(stream);
    assert((reading.faulty == 0) == (reading.faults == 0) || reading.gone);
    return reading;
}

static struct reading read_encoded(struct fuzz_source source, enum inflate_encoding encoding)
{
    struct inflate *inflate = inflate_new(encoding, fuzz_reader(&source), DECODED_MAX);
    assert(inflate);
    struct reading reading = read_all(inflate_reader(inflate));
    inflate_free(inflate);
    return reading;
}

/* ---- the other parser */

static void compare_number(const struct reading *reading, size_t *at, const json_t *number)
{
    float wanted = (float)json_number_value(number);
    assert(json_is_number(number));
    if (*at < KEPT_MAX) {
        float seen = reading->kept[*at];
        assert(seen == wanted || seen == nextafterf(wanted, INFINITY) ||
               seen == nextafterf(wanted, -INFINITY));
    }
    (*at)++;
}

static void compare_trajectory(const struct reading *reading, size_t *at, const json_t *json)
{
    size_t i, j;
    json_t *row, *number;
    assert(json_is_boolean(json_object_get(json, "terminated")));
    assert(json_is_string(json_object_get(json, "expert")));
    json_array_foreach(json_object_get(json, "states"), i, row)
    {
        json_array_foreach(row, j, number)
        {
            compare_number(reading, at, number);
        }
    }
    json_array_foreach(json_object_get(json, "rewards"), i, number)
    {
        compare_number(reading, at, number);
    }
}

/* Reads line after line, or the one array. */
static void compare_all(const struct reading *reading, const char *body, size_t size)
{
    size_t at = 0, count = 0, i;
    json_t *one;
    while (size > 0) {
        json_error_t where;
        size_t blank = 0;
        while (blank < size && strchr(" \t\r\n", body[blank]))
            blank++;
        if (blank == size)
            break;
        json_t *json = json_loadb(
            body, size, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL | JSON_DISABLE_EOF_CHECK,
            &where);
        assert(json);
        if (json_is_object(json))
            compare_trajectory(reading, &at, json);
        count += json_is_object(json) ? 1 : json_array_size(json);
        json_array_foreach(json, i, one)
        {
            compare_trajectory(reading, &at, one);
        }
        json_decref(json);
        body += where.position;
        size -= (size_t)where.position;
    }
    assert(count == reading->good && at == reading->number_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t how = fuzz_byte(&data, &size);
    enum inflate_encoding encoding = (enum inflate_encoding)(how % 3);
    struct reading whole = read_encoded((struct fuzz_source){data, size, 0, 0}, encoding);
    struct reading pieces =
        read_encoded((struct fuzz_source){data, size, 0, 1 + how / 3U}, encoding);
    if (!whole.gone)
        assert(!pieces.gone && whole.good == pieces.good && whole.sum == pieces.sum);
    if (encoding == INFLATE_IDENTITY && whole.faults == 0 && whole.good > 0)
        compare_all(&whole, (const char *)data, size);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    return fuzz_mutate_json(data, size, max_size, seed, 1);
}
