/* The short way to a state reads what the parser reads, to the same bits, and leaves the rest. */
#include "api/call/state_scan.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double numbers[4096];

static bool scan(const char *text, struct state_scan *out)
{
    /* In memory of exactly its size, so that a sanitizer sees a byte too far. */
    size_t size = strlen(text);
    unsigned char *bytes = malloc(size + (size == 0));
    cr_assert_not_null(bytes);
    memcpy(bytes, text, size);
    out->numbers = numbers;
    memset(numbers, 0, sizeof numbers);
    cr_assert_leq(STATE_SCAN_ROOM(size), sizeof numbers / sizeof numbers[0]);
    bool read = state_scan(bytes, size, out);
    free(bytes);
    return read;
}

/* Scans TEXT and says whether it read what jansson does. */
static void agrees(const char *text)
{
    struct state_scan scanned;
    cr_assert(scan(text, &scanned), "%s", text);
    json_t *tree = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    const json_t *state = json_object_get(tree, scanned.batch ? "states" : "state");
    cr_assert_eq(json_object_size(tree), 1, "%s", text);
    cr_assert_eq(json_array_size(state), scanned.batch ? scanned.count : scanned.dim, "%s", text);
    cr_assert(scanned.batch || scanned.count == 1);
    for (uint32_t i = 0; i < scanned.count * scanned.dim; i++) {
        const json_t *row = scanned.batch ? json_array_get(state, i / scanned.dim) : state;
        double wanted = json_number_value(json_array_get(row, i % scanned.dim));
        cr_assert_eq(json_array_size(row), scanned.dim);
        cr_assert_eq(memcmp(&wanted, &scanned.numbers[i], sizeof wanted), 0, "%s: %.17g, not %.17g",
                     text, scanned.numbers[i], wanted);
    }
    json_decref(tree);
}

Test(state_scan, reads_what_the_parser_reads)
{
    static const char *const texts[] = {
        "{\"state\":[0.0123,-0.0345,0.0211,0.1042]}",
        " { \"state\" :\t[ 1 , -2.5e-3,\r\n0.0 ] } ",
        "{\"state\":[0,-0,-0.0,0e5,1E+2,1e-7]}",
        "{\"state\":[0.1234567890123456789,123456789012345,1.7976931348623157e308,5e-324]}",
        "{\"state\":[1e22,1e23,1e-22,1e-23,123456789012345e22,999999999999999e-22,2e-400]}",
        "{\"state\":[0.000000000000000000000000000001,3.402823466385289e38]}",
        /* Half way between two doubles, and one digit to either side; 15 to 20 digits. */
        "{\"state\":[9007199254740993.0,9007199254740993.1,9007199254740992.9,-9007199254740995.0]"
        "}",
        "{\"state\":[900719925474099.25,4503599627370497.5,4503599627370498.5,0.12345678901234567]"
        "}",
        "{\"state\":[0.9999999999999999999,9.999999999999999999e-1,18014398509481990.0e-1]}",
        "{\"state\":[0.0000000000000000001234567890123456789,1234567890123456789e-19,-1e-19]}",
        "{\"states\":[[1,2.5,-3e-1]]}",
        " {\"states\" : [ [1,2] , [3.25,4] ,[0,0.1]]}\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        agrees(texts[i]);
}

Test(state_scan, random_numbers_have_the_same_bits)
{
    uint64_t word = 88172645463325252u;
    for (int i = 0; i < 200000; i++) {
        char text[120];
        word ^= word << 13, word ^= word >> 7, word ^= word << 17;
        int digits = (int)(word % 18), power = (int)(word >> 8) % 30;
        double value = ((double)(word >> 11) / 9007199254740992.0 - 0.5) * (double)(word % 1000);
        snprintf(text, sizeof text, "{\"state\":[%.*e,%.*f,%.*fe%d]}", digits, value, digits, value,
                 digits, value, power);
        agrees(text);
    }
}

Test(state_scan, leaves_everything_else)
{
    static const char *const texts[] = {
        "",
        "{",
        "{}",
        "[]",
        "{\"state\":[]}",
        "{\"state\":[1]",
        "{\"state\":[1",
        "{\"state\":[1]}x",
        "{\"state\":[1]}{}",
        "{\"state\":[1,]}",
        "{\"state\":[,1]}",
        "{\"state\":[1 2]}",
        "{\"state\":[01]}",
        "{\"state\":[-]}",
        "{\"state\":[+1]}",
        "{\"state\":[.5]}",
        "{\"state\":[1.]}",
        "{\"state\":[1.e5]}",
        "{\"state\":[1e]}",
        "{\"state\":[1e+]}",
        "{\"state\":[0x10]}",
        "{\"state\":[NaN]}",
        "{\"state\":[Infinity]}",
        "{\"state\":[1e999]}",
        "{\"state\":[\"1\"]}",
        "{\"state\":[null]}",
        "{\"state\":[[1]]}",
        "{\"state\":{}}",
        "{\"states\":[]}",
        "{\"states\":[[]]}",
        "{\"states\":[[1],[1,2]]}",
        "{\"states\":[[1,2],[1]]}",
        "{\"states\":[[1],]}",
        "{\"states\":[[1]",
        "{\"states\":[[1]}",
        "{\"states\":[1]}",
        "{\"states\":[[[1]]]}",
        "{\"states\":[[1]],\"reuse\":\"exact\"}",
        "{\"STATE\":[1]}",
        "{\"state\":[1],\"max_epsilon\":1}",
        "{\"state\":[1],\"state\":[2]}",
        "{\"st\\u0061te\":[1]}",
        "\xef\xbb\xbf{\"state\":[1]}",
        "{\"state\":[12345678901234567890]}",
        "{\"state\":[1234567890123456]}",
    };
    struct state_scan scanned;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        cr_assert_not(scan(texts[i], &scanned), "%s", texts[i]);
    scanned.numbers = numbers;
    cr_assert_not(state_scan((const unsigned char *)"{\"state\":[1]}\0", 14, &scanned));
    cr_assert_not(state_scan((const unsigned char *)"{\"state\":[1\0]}", 14, &scanned));
}

Test(state_scan, never_reads_past_the_end)
{
    static const char whole[] = "{\"states\":[[-12.5e-3,0.25],[1,2]]}";
    struct state_scan scanned;
    for (size_t size = 0; size < sizeof whole - 1; size++) {
        char part[sizeof whole];
        memcpy(part, whole, size);
        part[size] = '\0';
        cr_assert_not(scan(part, &scanned), "%zu", size);
    }
}

Test(state_scan, a_body_never_holds_more_numbers_than_there_is_room_for)
{
    char text[2100] = "{\"state\":[0";
    struct state_scan scanned;
    for (int i = 1; i < 1000; i++)
        strcat(text, ",7"); /* as dense as they can be */
    strcat(text, "]}");
    cr_assert(scan(text, &scanned));
    cr_assert_eq(scanned.dim, 1000);
    cr_assert_leq(scanned.dim, STATE_SCAN_ROOM(strlen(text)));
}
