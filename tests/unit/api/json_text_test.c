/* JSON in and out: what is refused, and numbers and texts as RFC 8785 wants them. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json_text.h"

TestSuite(json_text);

/* Samples of RFC 8785, appendix B, and a few of our own kind. */
Test(json_text, writes_numbers_as_ecmascript_does)
{
    const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0, "0"},
        {5e-324, "5e-324"},
        {-5e-324, "-5e-324"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {9007199254740992, "9007199254740992"},
        {-9007199254740992, "-9007199254740992"},
        {295147905179352830000.0, "295147905179352830000"},
        {9.999999999999997e22, "9.999999999999997e+22"},
        {1e23, "1e+23"},
        {1.0000000000000001e23, "1.0000000000000001e+23"},
        {999999999999999700000.0, "999999999999999700000"},
        {999999999999999900000.0, "999999999999999900000"},
        {1e21, "1e+21"},
        {9.999999999999997e-7, "9.999999999999997e-7"},
        {0.000001, "0.000001"},
        {333333333.3333332, "333333333.3333332"},
        {333333333.33333325, "333333333.33333325"},
        {-0.0000033333333333333333, "-0.0000033333333333333333"},
        {1424953923781206.2, "1424953923781206.2"},
        {0.1, "0.1"},
        {20, "20"},
        {1e-5, "0.00001"},
        {1e-7, "1e-7"},
        {0.1 + 0.2, "0.30000000000000004"},
        {-12.5, "-12.5"},
        {100, "100"},
        {1e20, "100000000000000000000"},
        {999999999999999.9, "999999999999999.9"}, /* both sides of where the layout's way changes */
        {1e15, "1000000000000000"},
        {1000000000000000.1, "1000000000000000.1"},
        {1.0000000000000002e-6, "0.0000010000000000000002"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[32];
        size_t size = json_text_number(cases[i].value, text);
        cr_expect_str_eq(text, cases[i].text);
        cr_expect_eq(size, strlen(text));
    }
}

/* What we write we read, as a body and from storage: RFC 8785 gives numbers below 1e21 no exponent,
 * and those from 2^63 on are no integers of jansson's. */
Test(json_text, large_numbers_without_an_exponent_are_read)
{
    static const double values[] = {
        0x1p63, -0x1p63, 1e19, -1e20, 18446744073709551615.0, 999999999999999900000.0};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        json_t *list = json_pack("[f, s, f]", values[i], "\"1e99999999999999999999", 0.5), *back;
        struct json_fault fault;
        size_t size;
        char *text = json_text_write(list, false, &size);
        cr_assert_eq(json_text_parse(text, size, &back, &fault), JSON_TEXT_GOOD, "%s: %s", text,
                     fault.detail);
        cr_expect(json_number_value(json_array_get(back, 0)) == values[i], "%s", text);
        cr_expect_str_eq(json_string_value(json_array_get(back, 1)), "\"1e99999999999999999999");
        json_decref(back);
        back = json_text_stored(text);
        cr_expect(json_number_value(json_array_get(back, 0)) == values[i], "%s", text);
        json_decref(back);
        json_decref(list);
        free(text);
    }
}

/* The largest integer stays one, and a fault behind a wide one is found where it is. */
Test(json_text, wide_integers_change_nothing_else)
{
    static const char text[] = "{\"a\":9223372036854775807,\"b\":9223372036854775808}",
                      wrong[] = "{\"a\":[9223372036854775808,1e999]}";
    struct json_fault fault;
    json_t *json;
    cr_assert_eq(json_text_parse(text, strlen(text), &json, &fault), JSON_TEXT_GOOD);
    cr_expect_eq(json_integer_value(json_object_get(json, "a")), INT64_MAX);
    cr_expect(json_real_value(json_object_get(json, "b")) == 0x1p63);
    json_decref(json);
    cr_assert_eq(json_text_parse(wrong, strlen(wrong), &json, &fault), JSON_TEXT_INVALID);
    cr_expect_str_eq(fault.pointer, "/a/1");
}

Test(json_text, every_number_reads_back_as_itself)
{
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < 200000; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        double value;
        memcpy(&value, &state, sizeof value);
        if (i % 3 == 1)
            value = (double)(int64_t)(state >> 20) / 1e9;
        else if (i % 3 == 2)
            value = (float)((double)(state >> 11) / 9007199254740992.0);
        if (!isfinite(value))
            continue;
        char text[32];
        json_text_number(value, text);
        cr_assert(strtod(text, NULL) == value, "%.17g became %s", value, text);
    }
}

Test(json_text, canonical_form_sorts_and_escapes)
{
    json_t *value = json_loads("{\"b\":[1,2.50,true,null,{}],\"a\":\"\\u20ac$\\u000f\\nA'\\\"\\\\/"
                               "\",\"B\":{\"z\":1e2,\"y\":[]}}",
                               0, NULL);
    size_t size;
    char *text = json_text_write(value, true, &size);
    cr_expect_str_eq(text,
                     "{\"B\":{\"y\":[],\"z\":100},\"a\":\"\xe2\x82\xac$\\u000f\\nA'\\\"\\\\/\","
                     "\"b\":[1,2.5,true,null,{}]}");
    cr_expect_eq(size, strlen(text));
    free(text);
    text = json_text_write(value, false, &size);
    cr_expect(text[2] == 'b', "insertion order is kept: %s", text);
    free(text);
    json_decref(value);
}

static enum json_text_status parse(const char *text, size_t size)
{
    json_t *value = NULL;
    struct json_fault fault;
    enum json_text_status problem = json_text_parse(text, size, &value, &fault);
    cr_assert((problem == JSON_TEXT_GOOD) == (value != NULL));
    cr_assert((problem == JSON_TEXT_GOOD) == (fault.detail[0] == '\0'));
    json_decref(value);
    return problem;
}

/* COUNT copies of ITEM in one array. */
static enum json_text_status parse_many(const char *item, size_t count)
{
    size_t item_size = strlen(item), size = 1;
    char *text = malloc(count * (item_size + 1) + 2);
    cr_assert_not_null(text);
    text[0] = '[';
    for (size_t i = 0; i < count; i++) {
        memcpy(text + size, item, item_size);
        size += item_size;
        text[size++] = ',';
    }
    text[size - 1] = ']';
    enum json_text_status problem = parse(text, size);
    free(text);
    return problem;
}

Test(json_text, refuses_more_values_than_memory_should_hold)
{
    /* The array itself counts as 8; the commas of n elements are n - 1, and a last value is 1. */
    cr_expect_eq(parse_many("0", JSON_VALUES_MAX - 8), JSON_TEXT_GOOD);
    cr_expect_eq(parse_many("0", JSON_VALUES_MAX - 7), JSON_TEXT_TOO_LARGE);
    cr_expect_eq(parse_many("\",[{\\\",\"", JSON_VALUES_MAX / 2), JSON_TEXT_GOOD);
    cr_expect_eq(parse_many("{}", JSON_VALUES_MAX / 9), JSON_TEXT_TOO_LARGE);
    cr_expect_eq(parse_many("[[[]]]", JSON_VALUES_MAX / 24), JSON_TEXT_TOO_LARGE);
}

Test(json_text, refuses_what_is_not_json)
{
    const char *bad[] = {"",
                         " ",
                         "{",
                         "{\"a\":1",
                         "{\"a\":1,}",
                         "[1,]",
                         "{'a':1}",
                         "{a:1}",
                         "{\"a\":1}{",
                         "{\"a\":1} x",
                         "NaN",
                         "{\"a\":NaN}",
                         "{\"a\":Infinity}",
                         "{\"a\":-Infinity}",
                         "{\"a\":01}",
                         "{\"a\":+1}",
                         "{\"a\":.5}",
                         "{\"a\":1.}",
                         "{\"a\":0x10}",
                         "{\"a\":1,\"a\":2}",
                         "\"\xff\"",
                         "\"\xc0\xaf\"",
                         "\"\xed\xa0\x80\"",
                         "\"\\ud800\"",
                         "\"\\x\"",
                         "\"a\nb\"",
                         "tru",
                         "// c\n1",
                         "\xef\xbb\xbf{}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_expect(parse(bad[i], strlen(bad[i])) == JSON_TEXT_MALFORMED, "%s", bad[i]);
    cr_expect(parse("{}\0{}", 5) == JSON_TEXT_MALFORMED);
    cr_expect(parse("[\0]", 3) == JSON_TEXT_MALFORMED);
}

Test(json_text, refuses_bytes_of_zero_anywhere)
{
    static const char *const texts[] = {"1_", "[1_]", "[1,_2]", "{\"a\":0.5_}", "\"_\"", "_"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[32];
        size_t size = strlen(texts[i]);
        for (size_t at = 0; at < size; at++)
            text[at] = (char)(texts[i][at] == '_' ? '\0' : texts[i][at]);
        cr_expect(parse(text, size) == JSON_TEXT_MALFORMED, "%s", texts[i]);
    }
}

Test(json_text, refuses_json_that_no_double_holds)
{
    char digits[400]; /* an integer beyond every double */
    memset(digits, '9', sizeof digits - 1);
    digits[sizeof digits - 1] = '\0';
    const char *bad[] = {"1e999", "[-1e400]", digits, "{\"a\":\"\\u0000\"}", "{\"\\u0000\":1}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_expect(parse(bad[i], strlen(bad[i])) == JSON_TEXT_INVALID, "%s", bad[i]);
}

Test(json_text, points_at_what_no_double_holds)
{
    static const char *const cases[][2] = {
        {"1e999", ""},
        {"[-1e400]", "/0"},
        {"{\"a\":1e999}", "/a"},
        {"{\"a\":\"b\",\"c\" : [1,[2,{}], {\"d\":[],\"e\":1e999}]}", "/c/2/e"},
        {"{\"budget\":{\"epsilon\":-1e999 ,\"delta\":1}}", "/budget/epsilon"},
        {"{\"a\":{\"b\":1},\"c\":[\"]},[{\\\"\",1e999]}", "/c/1"},
        {"{\"a/b~\\u0063\":1e999}", "/a~1b~0c"},
        {"{\"a\":[\"x\",\"\\u0000\"]}", "/a/1"},
        {"{\"a\":{\"\\u0000\":1}}", "/a"},
        {"{\"a\":{\"01234567890123456789012345678901234567890123456789012345678901234\":1e999}}",
         "/a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *value = NULL;
        struct json_fault fault;
        enum json_text_status problem =
            json_text_parse(cases[i][0], strlen(cases[i][0]), &value, &fault);
        cr_expect_eq(problem, JSON_TEXT_INVALID, "%s", cases[i][0]);
        cr_expect_str_eq(fault.pointer, cases[i][1], "%s", cases[i][0]);
    }
    /* As deep as a body may be, with names as long as are shown: the pointer has an end. */
    char text[8192] = "", name[65];
    memset(name, '~', 64);
    name[64] = '\0';
    for (int i = 0; i < JSON_DEPTH_MAX; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "{\"%s\":", name);
    strcat(text, "1e999");
    json_t *value = NULL;
    struct json_fault fault;
    cr_expect_eq(json_text_parse(text, strlen(text), &value, &fault), JSON_TEXT_INVALID);
    cr_expect_lt(strlen(fault.pointer), (size_t)JSON_PLACE_SIZE);
    cr_expect_gt(strlen(fault.pointer), (size_t)128);
}

/* As long as a double written exactly to the last place may be, and longer. */
Test(json_text, reads_long_numbers)
{
    static char text[20000];
    struct json_fault fault;
    json_t *value = NULL;
    snprintf(text, sizeof text, "{\"a\":[1,%.1074f]}", -DBL_MAX);
    cr_assert_eq(json_text_parse(text, strlen(text), &value, &fault), JSON_TEXT_GOOD);
    cr_assert_eq(json_real_value(json_array_get(json_object_get(value, "a"), 1)), -DBL_MAX);
    json_decref(value);
    snprintf(text, sizeof text, "[0.5%0*d]", 10000, 5);
    cr_assert_eq(json_text_parse(text, strlen(text), &value, &fault), JSON_TEXT_GOOD);
    cr_assert_eq(json_real_value(json_array_get(value, 0)), 0.5);
    json_decref(value);
}

Test(json_text, bounds_the_depth)
{
    char text[2 * 100000 + 1];
    for (size_t depth = 1; depth <= 100000; depth = depth < 40 ? depth + 1 : depth * 10) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        enum json_text_status want = depth <= JSON_DEPTH_MAX ? JSON_TEXT_GOOD : JSON_TEXT_MALFORMED;
        cr_expect(parse(text, 2 * depth) == want, "depth %zu", depth);
    }
    const char *brackets = "[\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"[[[[[[[[[[[[[\"]";
    cr_expect(parse(brackets, strlen(brackets)) == JSON_TEXT_GOOD,
              "brackets in a text do not nest");
}

Test(json_text, times_are_rfc_3339)
{
    json_t *time = json_time(1800000000123);
    cr_expect_str_eq(json_string_value(time), "2027-01-15T08:00:00.123Z");
    json_decref(time);
    time = json_time(0);
    cr_expect(json_is_null(time));
    json_decref(time);
}
