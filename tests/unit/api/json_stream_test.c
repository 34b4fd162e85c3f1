/* The reader of uploads: what it takes, what it refuses and where it says so, however the bytes
 * arrive. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/data/json_stream.h"
#include "tests/unit/api/source.h"

struct faults {
    unsigned count;
    struct {
        uint64_t line;
        char pointer[256], detail[160];
    } fault[16];
};

static void report(void *context, uint64_t line, const char *pointer, const char *detail)
{
    struct faults *faults = context;
    if (faults->count < 16) {
        faults->fault[faults->count].line = line;
        snprintf(faults->fault[faults->count].pointer, 256, "%s", pointer);
        snprintf(faults->fault[faults->count].detail, 160, "%s", detail);
    }
    faults->count++;
}

static const struct json_stream_shape shape = {
    .state_dim = 2, .action_count = 3, .max_episode_steps = 4};

/* Reads all of TEXT; gives how many trajectories were good. */
static unsigned read_text(const char *text, size_t size, size_t step, struct faults *faults)
{
    struct source source = {.bytes = text, .size = size, .step = step};
    memset(faults, 0, sizeof *faults);
    struct json_stream *stream = json_stream_new(&shape, source_reader(&source),
                                                 (struct json_stream_faults){faults, report});
    cr_assert(stream != NULL);
    struct trajectory trajectory;
    const char *expert;
    unsigned good = 0;
    enum json_stream_status status;
    while ((status = json_stream_next(stream, &trajectory, &expert)) != JSON_STREAM_END) {
        cr_assert(status != JSON_STREAM_GONE);
        good += status == JSON_STREAM_TRAJECTORY;
    }
    json_stream_free(stream);
    return good;
}

#define T(expert, states, actions, rewards)                                                        \
    "{\"expert\":" expert ",\"states\":" states ",\"actions\":" actions ",\"rewards\":" rewards    \
    ",\"terminated\":true,\"truncated\":false}"
#define GOOD T("\"a\"", "[[0,1],[2,3]]", "[2]", "[0.5]")

Test(json_stream, reads_values_and_members_in_any_order)
{
    static const char text[] =
        " \t{ \"truncated\" : true , \"rewards\":[-1.5e-3,2],\"terminated\":false,"
        "\"states\":[[0,-0.0],[1e2,0.1],[3.4028234e38,1e-46]],\"actions\":[0,2],"
        "\"expert\":\"\\u0065xp:1@x+y-z._\"}\r\n\n";
    for (size_t step = 0; step < 5; step++) {
        struct source source = {.bytes = text, .size = sizeof text - 1, .step = step};
        struct faults faults = {0};
        struct json_stream *stream = json_stream_new(&shape, source_reader(&source),
                                                     (struct json_stream_faults){&faults, report});
        struct trajectory t;
        const char *expert = "";
        cr_assert_eq(json_stream_next(stream, &t, &expert), JSON_STREAM_TRAJECTORY, "%s",
                     faults.fault[0].detail);
        cr_assert_str_eq(expert, "exp:1@x+y-z._");
        cr_assert_eq(t.length, 2);
        cr_assert(!t.terminated && t.truncated);
        cr_assert_eq(t.rewards[0], -1.5e-3F);
        cr_assert_eq(t.actions[1], 2);
        cr_assert(signbit(t.states[1]));
        cr_assert_eq(t.states[2], 100.0F);
        cr_assert_eq(t.states[3], 0.1F);
        cr_assert_eq(t.states[4], 3.4028234e38F);
        cr_assert_eq(t.states[5], 0.0F);
        cr_assert_eq(json_stream_next(stream, &t, &expert), JSON_STREAM_END);
        cr_assert_eq(json_stream_next(stream, &t, &expert), JSON_STREAM_END);
        json_stream_free(stream);
    }
}

Test(json_stream, takes_lines_and_one_array)
{
    static const struct {
        const char *text;
        unsigned good, faults;
    } cases[] = {
        {GOOD, 1, 0},
        {GOOD "\n" GOOD "\n", 2, 0},
        {"\n\n" GOOD "\r\n\n" GOOD, 2, 0},
        {"[" GOOD "]", 1, 0},
        {"[" GOOD ",\n\n" GOOD "\n]\n", 2, 0},
        {"[]", 0, 0},
        {"", 0, 0},
        {" \n ", 0, 0},
        {GOOD GOOD, 0, 1},
        {GOOD "," GOOD, 0, 1},
        {"[" GOOD ","
         "]",
         1, 1},
        {"[" GOOD, 1, 1},
        {"[" GOOD "] 1", 1, 1},
        {"[" GOOD " " GOOD "]", 1, 1},
        {GOOD "\n[" GOOD "]\n" GOOD, 2, 1},
        {"[7,null," GOOD "]", 1, 2},
        {"7\n\"x\"\n" GOOD, 1, 2},
        {"nul\n" GOOD, 1, 1},
        {"{\"expert\":\n" GOOD, 1, 1},
        {"\xEF\xBB\xBF" GOOD, 0, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t step = 0; step < 3; step++) {
            struct faults faults;
            unsigned good = read_text(cases[i].text, strlen(cases[i].text), step, &faults);
            cr_assert(good == cases[i].good && faults.count == cases[i].faults,
                      "%s: %u good, %u faults (%s)", cases[i].text, good, faults.count,
                      faults.fault[0].detail);
        }
    }
}

Test(json_stream, points_at_what_is_wrong)
{
    static const struct {
        const char *text, *pointer;
    } cases[] = {
        {T("\"\"", "[[0,1],[2,3]]", "[2]", "[0]"), "/expert"},
        {T("\"a b\"", "[[0,1],[2,3]]", "[2]", "[0]"), "/expert"},
        {T("7", "[[0,1],[2,3]]", "[2]", "[0]"), "/expert"},
        {T("\"0123456789012345678901234567890123456789012345678901234567890123x\"", "[[0,1],[2,3]]",
           "[2]", "[0]"),
         "/expert"},
        {T("\"a\"", "[[0,1],[2]]", "[2]", "[0]"), "/states/1"},
        {T("\"a\"", "[[0,1],[2,3,4]]", "[2]", "[0]"), "/states/1"},
        {T("\"a\"", "[[0,1],[]]", "[2]", "[0]"), "/states/1"},
        {T("\"a\"", "[[0,1],[2,\"3\"]]", "[2]", "[0]"), "/states/1/1"},
        {T("\"a\"", "[[0,1],[2,1e999]]", "[2]", "[0]"), "/states/1/1"},
        {T("\"a\"", "[[0,1],[2,3.5e38]]", "[2]", "[0]"), "/states/1/1"},
        {T("\"a\"", "[[0,1],5]", "[2]", "[0]"), "/states/1"},
        {T("\"a\"", "[[0,1]]", "[2]", "[0]"), "/states"},
        {T("\"a\"", "[[0,1],[2,3],[4,5]]", "[2]", "[0]"), "/states"},
        {T("\"a\"", "{}", "[2]", "[0]"), "/states"},
        {T("\"a\"", "[[0,1],[2,3]]", "[3]", "[0]"), "/actions/0"},
        {T("\"a\"", "[[0,1],[2,3]]", "[-1]", "[0]"), "/actions/0"},
        {T("\"a\"", "[[0,1],[2,3]]", "[1.0]", "[0]"), "/actions/0"},
        {T("\"a\"", "[[0,1],[2,3]]", "[99999999999999999999]", "[0]"), "/actions/0"},
        {T("\"a\"", "[[0,1],[2,3]]", "[true]", "[0]"), "/actions/0"},
        {T("\"a\"", "[[0,1],[2,3]]", "[2]", "[1,2]"), "/rewards"},
        {T("\"a\"", "[[0,1],[2,3]]", "[2]", "[-1e999]"), "/rewards/0"},
        {T("\"a\"", "[[0,1]]", "[]", "[]"), "/actions"},
        {T("\"a\"", "[[0,1],[2,3]]", "null", "[0]"), "/actions"},
        {T("\"a\"", "[[0,0],[0,0],[0,0],[0,0],[0,0],[0,0]]", "[0,0,0,0,0]", "[0,0,0,0,0]"),
         "/states"},
        {"{\"expert\":\"a\"}", "/states"},
        {"{}", "/expert"},
        {"{\"expert\":\"a\",\"expert\":\"b\"}", "/expert"},
        {"{\"a/b~c\":[{\"x\":[1,\"y\",null,true]}]}", "/a~1b~0c"},
        {"{\"states\":[[0,1],[2,3]],\"actions\":[2],\"rewards\":[0],\"expert\":\"a\","
         "\"terminated\":1,\"truncated\":false}",
         "/terminated"},
        {"{\"states\":[[0,1],[2,3]],\"actions\":[2],\"rewards\":[0],\"expert\":\"a\","
         "\"terminated\":false,\"truncated\":false}",
         "/truncated"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct faults faults;
        char text[1024], pointer[64];
        size_t size = (size_t)snprintf(text, sizeof text, GOOD "\n%s\n" GOOD "\n", cases[i].text);
        cr_assert_eq(read_text(text, size, 0, &faults), 2, "%s", cases[i].text);
        cr_assert(faults.count > 0);
        cr_assert_str_eq(faults.fault[0].pointer, cases[i].pointer, "%s", cases[i].text);
        cr_assert_eq(faults.fault[0].line, 2);
        size = (size_t)snprintf(text, sizeof text, "[" GOOD ",\n%s\n," GOOD "\n]", cases[i].text);
        cr_assert_eq(read_text(text, size, 1, &faults), 2, "%s", cases[i].text);
        snprintf(pointer, sizeof pointer, "/1%s", cases[i].pointer);
        cr_assert_str_eq(faults.fault[0].pointer, pointer);
    }
}

Test(json_stream, refuses_what_is_not_json)
{
    static const char *const cases[] = {
        "{\"expert\":\"\xFF\"}",
        "{\"expert\":\"\xC0\x80\"}",
        "{\"expert\":\"\\ud800\"}",
        "{\"expert\":\"\\ud800\\u0041\"}",
        "{\"expert\":\"\\u0000\"}",
        "{\"expert\":\"\\x\"}",
        "{\"expert\":\"a",
        "{\"expert\":\"a\tb\"}",
        "{\"expert\" \"a\"}",
        "{expert:1}",
        "{\"x\":NaN}",
        "{\"x\":Infinity}",
        "{\"x\":-}",
        "{\"x\":01}",
        "{\"x\":1.}",
        "{\"x\":.5}",
        "{\"x\":1e}",
        "{\"x\":+1}",
        "{\"x\":0x10}",
        "{\"x\":tru}",
        "{\"x\":[1,]}",
        "{\"x\":1,}",
        "{\"x\":[1 2]}",
        "{\"states\":[[1,]]}",
        "{\"states\":[[1 2]]}",
        "{\"states\":[[NaN,1]]}",
        "{\"actions\":[nope]}",
        "{\"x\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct faults faults;
        char text[512];
        size_t size = (size_t)snprintf(text, sizeof text, "%s\n" GOOD, cases[i]);
        cr_assert_eq(read_text(text, size, 0, &faults), 1, "%s", cases[i]);
        cr_assert_eq(faults.fault[faults.count - 1].line, 1);
        cr_assert_str_eq(faults.fault[faults.count - 1].pointer, "", "%s: %s", cases[i],
                         faults.fault[0].pointer);
    }
    static const char nul[] = "{\"expert\":\0\"a\"}\n" GOOD;
    struct faults faults;
    cr_assert_eq(read_text(nul, sizeof nul - 1, 0, &faults), 1);
    cr_assert_eq(faults.count, 1);
}

Test(json_stream, says_when_the_bytes_stop_coming)
{
    for (size_t cut = 0; cut < sizeof GOOD; cut++) {
        struct source source = {.bytes = GOOD, .size = cut, .step = 3, .broken = true};
        struct faults faults = {0};
        struct json_stream *stream = json_stream_new(&shape, source_reader(&source),
                                                     (struct json_stream_faults){&faults, report});
        struct trajectory t;
        const char *expert;
        cr_assert_eq(json_stream_next(stream, &t, &expert), JSON_STREAM_GONE);
        json_stream_free(stream);
    }
}

/* Every float that a text can mean, as strtof (correctly rounded in glibc) reads it. */
Test(json_stream, rounds_numbers_correctly)
{
    uint64_t state = 88172645463325252u;
    char text[256], number[96];
    for (int i = 0; i < 200000; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        uint32_t bits = (uint32_t)(state >> 32);
        float f;
        memcpy(&f, &bits, sizeof f);
        if (!isfinite(f))
            continue;
        /* Few digits, many, and the very middle of two floats with a digit far behind. */
        double middle = ((double)f + (double)nextafterf(f, INFINITY)) / 2;
        switch (i % 4) {
        case 0: snprintf(number, sizeof number, "%.9g", (double)f); break;
        case 1: snprintf(number, sizeof number, "%.17g", (double)f * 1.0000000001); break;
        case 2: snprintf(number, sizeof number, "%.17g", middle); break;
        default: snprintf(number, sizeof number, "%.30e", middle * (1 + (i % 3 - 1) * 1e-16));
        }
        float expected = strtof(number, NULL);
        if (!isfinite(expected))
            continue;
        int size = snprintf(text, sizeof text, T("\"a\"", "[[0,%s],[2,3]]", "[2]", "[0]"), number);
        struct source source = {.bytes = text, .size = (size_t)size};
        struct faults faults = {0};
        struct json_stream *stream = json_stream_new(&shape, source_reader(&source),
                                                     (struct json_stream_faults){&faults, report});
        struct trajectory t;
        const char *expert;
        cr_assert_eq(json_stream_next(stream, &t, &expert), JSON_STREAM_TRAJECTORY, "%s", number);
        cr_assert(memcmp(&t.states[1], &expected, sizeof expected) == 0, "%s", number);
        json_stream_free(stream);
    }
}

Test(json_stream, reads_across_its_buffer)
{
    /* White space and digits of every length around the end of the buffer. */
    for (size_t pad = 65536 - 140; pad < 65536 + 4; pad++) {
        char *text = malloc(70000);
        struct faults faults;
        memset(text, ' ', pad);
        strcpy(text + pad,
               GOOD "\n" T("\"b\"", "[[0.12345678901234567890,1],[2,3]]", "[2]", "[0.5]"));
        cr_assert_eq(read_text(text, strlen(text), 0, &faults), 2, "%zu: %s", pad,
                     faults.fault[0].detail);
        free(text);
    }
    char *digits = malloc(3000);
    struct faults faults;
    strcpy(digits, "{\"x\":");
    memset(digits + 5, '1', 2000);
    strcpy(digits + 2005, "}");
    cr_assert_eq(read_text(digits, strlen(digits), 0, &faults), 0);
    cr_assert(strstr(faults.fault[0].detail, "too many digits") != NULL);
    free(digits);
}
