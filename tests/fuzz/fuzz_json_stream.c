/* Any bytes as an upload. The first byte chooses encoding and the size of reads; the rest is the
 * body.
 *
 * What is read must not depend on how the bytes arrive; what is accepted whole must be JSON to
 * another parser as well; numbers must be finite, actions in range, lengths as declared. */
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

static const struct json_stream_shape shape = {
    .state_dim = 2, .action_count = 3, .max_episode_steps = 5};

/* What a reading gave. */
struct reading {
    unsigned good, faulty, faults;
    uint64_t sum; /* of everything that was read and reported */
    bool gone;
};

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
    assert(expert_name_problem(expert, strlen(expert)) == NULL);
    for (size_t i = 0; i < ((size_t)t->length + 1) * shape.state_dim; i++)
        assert(isfinite(t->states[i]));
    for (uint32_t i = 0; i < t->length; i++)
        assert(t->actions[i] < shape.action_count && isfinite(t->rewards[i]));
    fuzz_add(&reading->sum, expert, strlen(expert));
    fuzz_add(&reading->sum, t->states, ((size_t)t->length + 1) * shape.state_dim * sizeof(float));
    fuzz_add(&reading->sum, t->actions, t->length * sizeof(uint16_t));
    fuzz_add(&reading->sum, t->rewards, t->length * sizeof(float));
}

static struct reading read_all(struct byte_reader reader)
{
    struct reading reading = {.sum = FUZZ_SUM_START};
    struct json_stream *stream =
        json_stream_new(&shape, reader, (struct json_stream_faults){&reading, report});
    assert(stream != NULL);
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
    assert(inflate != NULL);
    struct reading reading = read_all(inflate_reader(inflate));
    inflate_free(inflate);
    return reading;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    enum inflate_encoding encoding = (enum inflate_encoding)(data[0] % 3);
    size_t step = 1 + data[0] / 3U;
    const uint8_t *body = data + 1;
    size--;
    struct reading whole = read_encoded((struct fuzz_source){body, size, 0, 0}, encoding);
    struct reading pieces = read_encoded((struct fuzz_source){body, size, 0, step}, encoding);
    if (!whole.gone)
        assert(!pieces.gone && whole.good == pieces.good && whole.sum == pieces.sum);
    if (encoding == INFLATE_IDENTITY && whole.faults == 0 && whole.good == 1) {
        json_t *json = json_loadb((const char *)body, size,
                                  JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, NULL);
        assert(json != NULL);
        json_decref(json);
    }
    return 0;
}
