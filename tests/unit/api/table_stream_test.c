/* The reader of tables: what it takes, what it refuses and where it says so, however the bytes
 * arrive. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/data/table_stream.h"
#include "tests/unit/api/source.h"

#define FAULTS 16
#define GOOD   16

struct fault {
    uint64_t line;
    char pointer[128], detail[400];
};

/* What a table gave. */
struct reading {
    unsigned faults, good;
    struct fault fault[FAULTS];
    struct {
        char expert[80];
        uint32_t length;
        bool terminated, truncated;
        float states[40], rewards[8];
        uint16_t actions[8];
    } got[GOOD];
    uint64_t rows;
    char ignored[64];
};

static void report(void *context, uint64_t line, const char *pointer, const char *detail)
{
    struct reading *reading = context;
    cr_assert(detail[0] != '\0');
    if (reading->faults < FAULTS) {
        struct fault *fault = &reading->fault[reading->faults];
        fault->line = line;
        snprintf(fault->pointer, sizeof fault->pointer, "%s", pointer);
        snprintf(fault->detail, sizeof fault->detail, "%s", detail);
    }
    reading->faults++;
}

static void keep(struct reading *reading, const struct trajectory *t, const char *expert,
                 uint32_t dim)
{
    cr_assert(reading->good < GOOD && t->length <= 8 && (t->length + 1) * dim <= 40);
    snprintf(reading->got[reading->good].expert, 80, "%s", expert);
    reading->got[reading->good].length = t->length;
    reading->got[reading->good].terminated = t->terminated;
    reading->got[reading->good].truncated = t->truncated;
    memcpy(reading->got[reading->good].states, t->states,
           ((size_t)t->length + 1) * dim * sizeof(float));
    memcpy(reading->got[reading->good].rewards, t->rewards, t->length * sizeof(float));
    memcpy(reading->got[reading->good].actions, t->actions, t->length * sizeof(uint16_t));
    reading->good++;
}

/* Reads TEXT by the description D with at most 4 steps an episode, STEP bytes at a time. */
static struct reading read_bytes(const char *d, const char *text, size_t size, size_t step,
                                 struct table_tally *tally)
{
    struct reading reading = {0};
    struct json_fault wrong;
    struct description *description = description_parse(d, &wrong);
    cr_assert(description != NULL, "%s %s", wrong.pointer, wrong.detail);
    struct source source = {.bytes = text, .size = size, .step = step};
    if (tally)
        *tally = table_tally_new(description);
    struct table_stream *stream =
        table_stream_new(description, 4, source_reader(&source),
                         (struct json_stream_faults){&reading, report}, tally);
    struct trajectory t;
    const char *expert;
    enum json_stream_status status;
    while ((status = table_stream_next(stream, &t, &expert)) != JSON_STREAM_END) {
        cr_assert(status != JSON_STREAM_GONE);
        if (status == JSON_STREAM_TRAJECTORY)
            keep(&reading, &t, expert, description->dim);
    }
    cr_assert_eq(table_stream_next(stream, &t, &expert), JSON_STREAM_END);
    reading.rows = table_stream_rows(stream);
    snprintf(reading.ignored, sizeof reading.ignored, "%.60s", table_stream_ignored(stream));
    table_stream_free(stream);
    description_free(description);
    return reading;
}

static struct reading read_text(const char *d, const char *text)
{
    return read_bytes(d, text, strlen(text), 0, NULL);
}

#define DESCRIBED(outside, actions, more)                                                          \
    "{\"row\":\"one hour\",\"expert\":\"the clinician\",\"features\":["                            \
    "{\"name\":\"rate\",\"low\":30,\"high\":220},"                                                 \
    "{\"name\":\"lactate\",\"low\":0.1,\"high\":100,\"scale\":\"log\"},"                           \
    "{\"name\":\"ward\",\"categories\":[\"A\",\"B\"]}],\"outside\":\"" outside "\","               \
    "\"actions\":" actions ",\"table\":{\"expert\":\"who\",\"episode\":\"stay\","                  \
    "\"time\":\"hour\",\"action\":\"act\",\"reward\":\"r\",\"terminated\":\"end\"," more "}}"
#define NAMES         "[\"wait\",\"treat\"]"
#define WARD(rule)    DESCRIBED("refuse", NAMES, "\"last_state\":\"" rule "\"")
#define MISSING(rule) DESCRIBED("refuse", NAMES, "\"last_state\":\"drop\",\"missing\":" rule)
#define HEADER        "who,stay,hour,rate,lactate,ward,act,r,end\n"

/* The one fault that TEXT has by D. */
static void refuses(const char *d, const char *text, uint64_t line, const char *pointer,
                    const char *detail)
{
    struct reading reading = read_text(d, text);
    cr_expect_eq(reading.faults, 1, "%s: %u faults", text, reading.faults);
    cr_expect_eq(reading.good, 0, "%s", text);
    cr_expect_eq(reading.fault[0].line, line, "%s: line %d", text, (int)reading.fault[0].line);
    cr_expect_str_eq(reading.fault[0].pointer, pointer, "%s", text);
    cr_expect(strstr(reading.fault[0].detail, detail), "%s: %s", text, reading.fault[0].detail);
}

/* A reward that stands in a stay's last row alone: one fault for all rows, with the cure. */
Test(table_stream, missing_rewards_are_one_fault_or_count_as_declared)
{
    static const char late[] = HEADER "a,1,0,80,1,A,treat,,0\n"
                                      "a,1,1,80,1,A,wait,,0\n"
                                      "a,1,2,80,1,A,wait,1,1\n"
                                      "b,1,0,80,1,A,wait,,0\n"
                                      "b,1,1,80,1,A,wait,2,1\n";
    refuses(WARD("repeat"), late, 2, "/r",
            "is missing here and in 2 rows further down, where there is an action; "
            "\"missing_reward\":0 in the description's table");
    struct table_tally tally;
    struct reading reading =
        read_bytes(DESCRIBED("refuse", NAMES, "\"last_state\":\"repeat\",\"missing_reward\":-0.5"),
                   late, sizeof late - 1, 0, &tally);
    cr_expect_eq(reading.faults, 0, "%s", reading.fault[0].detail);
    cr_assert_eq(reading.good, 2);
    cr_expect_eq(reading.got[0].rewards[0], -0.5F);
    cr_expect_eq(reading.got[0].rewards[1], -0.5F);
    cr_expect_eq(reading.got[0].rewards[2], 1);
    cr_expect_eq(tally.rewards_missing, 3);
    table_tally_free(&tally);
}

Test(table_stream, reads_columns_in_any_order_and_ignores_others)
{
    static const char text[] =
        "\xEF\xBB\xBF\"end\",r,note,act, rate ,lactate,ward,hour,stay,who\r\n"
        "no,0.5,\"a, \"\"b\"\"\nc\",treat,80,10,A,0,s1,ann\r\n"
        "\r\n"
        "1,-2e0,,0,90,1,B,1,s1,ann\r\n"
        ",,,,100,0.1,A,2,s1,ann\r\n"
        "0,1,,wait,80,100,A,7,s1,bob\n"
        "False,,,NA,81,100,A,8,s1,bob";
    for (size_t step = 0; step < 5; step++) {
        struct reading reading = read_bytes(WARD("own_row"), text, sizeof text - 1, step, NULL);
        cr_assert_eq(reading.faults, 0, "%s", reading.fault[0].detail);
        cr_assert_eq(reading.good, 2);
        cr_expect_eq(reading.rows, 5);
        cr_expect_str_eq(reading.ignored, "note");
        const float ann[] = {80, 1, 1, 0, 90, 0, 0, 1, 100, -1, 1, 0};
        cr_expect_str_eq(reading.got[0].expert, "ann");
        cr_expect_eq(reading.got[0].length, 2);
        cr_expect(reading.got[0].terminated && !reading.got[0].truncated);
        cr_expect_arr_eq(reading.got[0].states, ann, sizeof ann);
        cr_expect(reading.got[0].actions[0] == 1 && reading.got[0].actions[1] == 0);
        cr_expect(reading.got[0].rewards[0] == 0.5F && reading.got[0].rewards[1] == -2);
        cr_expect_str_eq(reading.got[1].expert, "bob");
        cr_expect_eq(reading.got[1].length, 1);
        cr_expect(!reading.got[1].terminated && reading.got[1].truncated);
        cr_expect_eq(reading.got[1].states[5], 2);
    }
}

#define ROWS                                                                                       \
    "a,1,0,80,1,A,treat,1,0\na,1,1,90,1,A,wait,2,1\nb,1,0,70,1,A,wait,3,0\nb,1,1,60,1,A,treat,4,"  \
    "0\n"

Test(table_stream, finds_the_last_state_by_the_declared_rule)
{
    struct reading drop = read_text(WARD("drop"), HEADER ROWS);
    cr_assert(drop.faults == 0 && drop.good == 2);
    for (unsigned i = 0; i < 2; i++) {
        cr_expect_eq(drop.got[i].length, 1);
        cr_expect(!drop.got[i].terminated && drop.got[i].truncated);
    }
    cr_expect(drop.got[0].states[4] == 90 && drop.got[0].rewards[0] == 1);

    struct reading both = read_text(WARD("repeat_or_drop"), HEADER ROWS);
    cr_assert(both.faults == 0 && both.good == 2);
    cr_expect(both.got[0].length == 2 && both.got[0].terminated && !both.got[0].truncated);
    cr_expect(both.got[0].states[4] == 90 && both.got[0].states[8] == 90);
    cr_expect(both.got[1].length == 1 && both.got[1].truncated);

    struct reading repeat = read_text(WARD("repeat"), HEADER ROWS);
    cr_assert(repeat.faults == 1 && repeat.good == 1);
    cr_expect_eq(repeat.fault[0].line, 5);
    cr_expect(strstr(repeat.fault[0].detail, "has not terminated"));

    struct reading own = read_text(WARD("own_row"), HEADER ROWS);
    cr_assert(own.faults == 2 && own.good == 0);
    cr_expect(own.fault[0].line == 3 && own.fault[1].line == 5);
    cr_expect(strstr(own.fault[0].detail, "a row without action and reward must follow"));
}

Test(table_stream, keeps_to_the_longest_episode)
{
#define FIVE(last)                                                                                 \
    HEADER "a,1,0,80,1,A,1,1,0\na,1,1,80,1,A,1,1,0\na,1,2,80,1,A,1,1,0\na,1,3,80,1,A,1,1,0\n"      \
           "a,1,4,80,1,A," last
    struct reading four = read_text(WARD("own_row"), FIVE(",,1\n"));
    cr_expect(four.faults == 0 && four.good == 1 && four.got[0].length == 4);
    struct reading dropped = read_text(WARD("drop"), FIVE("1,1,1\n"));
    cr_expect(dropped.faults == 0 && dropped.good == 1 && dropped.got[0].length == 4);
    refuses(WARD("repeat"), FIVE("1,1,1\n"), 6, "", "longer than max_episode_steps");
    refuses(WARD("own_row"), FIVE("1,1,0\na,1,5,80,1,A,,,1\n"), 7, "",
            "longer than max_episode_steps");
}

Test(table_stream, says_what_is_wrong_in_which_row_and_column)
{
    const char *ward = WARD("drop");
    refuses(ward, HEADER "a,1,0,80,1,A,treat,1\n", 2, "", "has 8 cells, and the header has 9");
    refuses(ward, HEADER "a,1,0,80,1,A,treat,1,0,\n", 2, "", "has 10 cells");
    refuses(ward, HEADER "a,1,0,\"80,5\",1,A,treat,1,0\n", 2, "/rate", "decimal comma");
    refuses(ward, HEADER "a,1,0,80,5,1,A,treat,1,0\n", 2, "", "a decimal comma");
    refuses(ward, HEADER "a,1,0,8O,1,A,treat,1,0\n", 2, "/rate", "must be a number");
    refuses(ward, HEADER "a,1,0,inf,1,A,treat,1,0\n", 2, "/rate", "must be a number");
    refuses(ward, HEADER "a,1,0,0x50,1,A,treat,1,0\n", 2, "/rate", "must be a number");
    refuses(ward, HEADER "a,1,0,1e39,1,A,treat,1,0\n", 2, "/rate", "range of a 32-bit float");
    refuses(ward, HEADER "a,1,0,29,1,A,treat,1,0\n", 2, "/rate", "below its lowest value 30");
    refuses(ward, HEADER "a,1,0,80,0,A,treat,1,0\n", 2, "/lactate", "below its lowest value 0.1");
    refuses(ward, HEADER "a,1,0,80,101,A,treat,1,0\n", 2, "/lactate", "lactate is 101");
    refuses(ward, HEADER "a,1,0,80,1,C,treat,1,0\n", 2, "/ward",
            "none of the feature's categories");
    refuses(ward, HEADER "a,1,0,80,1,,treat,1,0\n", 2, "/ward", "is missing");
    refuses(ward, HEADER "a,1,0,80,,A,treat,1,0\n", 2, "/lactate", "is missing");
    refuses(ward, HEADER "a,1,0,80,1,A,cure,1,0\n", 2, "/act", "no action. There are wait, treat");
    refuses(ward, HEADER "a,1,0,80,1,A,2,1,0\n", 2, "/act", "from 0 to 1");
    refuses(ward, HEADER "a,1,0,80,1,A,0.5,1,0\n", 2, "/act", "declare bins");
    refuses(ward, HEADER "a,1,0,80,1,A,,1,0\n", 2, "/act", "is missing");
    refuses(ward, HEADER "a,1,0,80,1,A,1,,0\n", 2, "/r", "is missing");
    refuses(ward, HEADER "a,1,0,80,1,A,1,x,0\n", 2, "/r", "must be a number");
    refuses(ward, HEADER "a,1,0,80,1,A,1,1,maybe\n", 2, "/end", "must be 0 or 1");
    refuses(ward, HEADER "a,1,0,80,1,A,1,1,\n", 2, "/end", "must be 0 or 1");
    refuses(ward, HEADER "a,1,0,80,1,A,,,0\n", 2, "", "no action and no reward");
    refuses(ward, HEADER "a b,1,0,80,1,A,1,1,0\n", 2, "/who", "letters, digits");
    refuses(ward, HEADER "a,,0,80,1,A,1,1,0\n", 2, "/stay", "1 to 256 bytes");
    refuses(ward, HEADER "a,1,x,80,1,A,1,1,0\n", 2, "/hour", "must be a number");
    refuses(ward, HEADER "a,1,1,80,1,A,1,1,0\na,1,1,80,1,A,1,1,0\n", 3, "/hour", "must be after");
    refuses(ward, HEADER "a,1,0,80,1,A,1,1,1\na,1,1,80,1,A,1,1,0\n", 3, "", "has terminated");
    refuses(ward, HEADER "a,1,0,80,1,A,1,1,0\n", 2, "", "leaves no action");
    refuses(WARD("own_row"), HEADER "a,1,0,80,1,A,,,0\n", 2, "",
            "is the episode's first: such a row comes last. Are the rows sorted");
    refuses(WARD("own_row"), HEADER "a,1,0,80,1,A,1,1,0\na,1,1,80,1,A,,,0\na,1,2,80,1,A,1,1,0\n", 4,
            "", "must be the episode's last");
}

Test(table_stream, says_what_is_wrong_with_the_file)
{
    const char *ward = WARD("drop");
    refuses(ward, "", 1, "", "a table begins with the names");
    refuses(ward, "who,stay,hour,rate,ward,act,r,end\n1\n2\n", 1, "/lactate", "is missing");
    refuses(ward, "who,stay,hour,rate,lactate,ward,act,r\n1\n", 1, "/end",
            "says where episodes end");
    refuses(ward, "who,who,stay,hour,rate,lactate,ward,act,r,end\n", 1, "/who", "two columns");
    refuses(ward, "who;stay;hour;rate;lactate;ward;act;r;end\na;1\n", 1, "", "by commas");
    refuses(ward, "who\tstay\thour\n", 1, "", "by commas");
    refuses(ward, "\x1F\x8B\x08 and so on\n", 1, "", "is compressed");
    refuses(ward, "\xFF\xFEw\n", 1, "", "UTF-16");
    refuses(ward, "PK\x03\x04\n\n", 1, "", "spreadsheet");
    refuses(ward, HEADER "a,\"1,0,80,1,A,1,1,0\n", 2, "", "a quote that is not closed");
    refuses(ward, HEADER "a,\"1\"x,0,80,1,A,1,1,0\n", 2, "", "text behind a closing quote");
    refuses(ward, HEADER "a,1\",0,80,1,A,1,1,0\n", 2, "", "a quote inside of a cell");
    refuses(ward, HEADER "a,1,0,80,1,A,1,1,0\r", 2, "", "without a line feed");
    struct reading none = read_text(ward, HEADER);
    cr_expect(none.faults == 0 && none.good == 0 && none.rows == 0);
    static const char nul[] = HEADER "a,\0,0,80,1,A,1,1,0\n";
    struct reading zero = read_bytes(ward, nul, sizeof nul - 1, 0, NULL);
    cr_expect(zero.faults == 1 && strstr(zero.fault[0].detail, "NUL byte"));
}

/* An open quote does not swallow the file: after a MiB the row is given up. */
Test(table_stream, bounds_a_row)
{
    size_t size = 3U << 20, header = strlen(HEADER);
    char *text = malloc(size);
    memset(text, 'x', size);
    memcpy(text, HEADER, header);
    text[header] = '"';
    text[size - 1] = '\n';
    struct reading reading = read_bytes(WARD("drop"), text, size, 0, NULL);
    cr_expect(reading.faults == 1 && strstr(reading.fault[0].detail, "longer than 1 MiB"));
    memset(text + header, ',', size - header);
    reading = read_bytes(WARD("drop"), text, size, 0, NULL);
    cr_expect(reading.faults == 1 && strstr(reading.fault[0].detail, "8192 cells"));
    free(text);
}

Test(table_stream, goes_on_after_a_fault_and_gives_whole_episodes_only)
{
    struct reading reading =
        read_text(WARD("drop"), HEADER "a,1,0,80,1,A,1,1,0\na,1,1,x,1,A,y,1,0\na,1,2,80,1,A,1,z,0\n"
                                       "b,1,0,80,1,A,1,1,0\nb,1,1,80,1,A,1,1,0\n"
                                       "a,1,3,80,1,A,1,1,0\n");
    cr_assert_eq(reading.faults, 4);
    cr_assert_eq(reading.good, 1);
    cr_expect_str_eq(reading.got[0].expert, "b");
    cr_expect(reading.fault[0].line == 3 && strcmp(reading.fault[0].pointer, "/rate") == 0);
    cr_expect(reading.fault[1].line == 3 && strcmp(reading.fault[1].pointer, "/act") == 0);
    cr_expect(reading.fault[2].line == 4 && strcmp(reading.fault[2].pointer, "/r") == 0);
    cr_expect(reading.fault[3].line == 7 && strcmp(reading.fault[3].pointer, "/stay") == 0);
    cr_expect(strstr(reading.fault[3].detail, "must stand together"));
}

Test(table_stream, fills_in_as_declared)
{
    struct reading reading = read_text(
        MISSING("{\"previous\":[\"lactate\",\"ward\"],\"fill\":{\"rate\":75,\"ward\":\"B\"}}"),
        HEADER "a,1,0,,10,,1,1,0\na,1,1,80,NA,A,1,1,0\na,1,2,nan,,null,1,1,0\n");
    cr_assert_eq(reading.faults, 0, "%s", reading.fault[0].detail);
    cr_assert_eq(reading.good, 1);
    const float states[] = {75, 1, 0, 1, 80, 1, 1, 0, 75, 1, 1, 0};
    cr_expect_arr_eq(reading.got[0].states, states, sizeof states);
    /* Not from another episode. */
    struct reading other = read_text(MISSING("{\"previous\":[\"lactate\"]}"),
                                     HEADER "a,1,0,80,10,A,1,1,0\na,1,1,80,10,A,1,1,0\n"
                                            "a,2,0,80,,A,1,1,0\na,2,1,80,,A,1,1,0\n");
    cr_expect(other.faults == 1 && other.good == 1);
    cr_expect(strstr(other.fault[0].detail, "a value before it in the episode"));
}

Test(table_stream, clips_as_declared_and_counts)
{
    struct table_tally tally;
    static const char text[] = HEADER "a,1,0,1000,0,A,1,1,0\na,1,1,-5,1e9,A,0,1,0\n"
                                      "a,1,2,80,1,B,treat,1,0\n";
    struct reading reading = read_bytes(DESCRIBED("clip", NAMES, "\"last_state\":\"drop\""), text,
                                        sizeof text - 1, 0, &tally);
    cr_assert(reading.faults == 0 && reading.good == 1, "%s", reading.fault[0].detail);
    const float states[] = {220, -1, 1, 0, 30, 2, 1, 0, 80, 0, 0, 1};
    cr_expect_arr_eq(reading.got[0].states, states, sizeof states);
    cr_expect(tally.features[0].values == 3 && tally.features[0].outside == 2);
    cr_expect(tally.features[0].low == -5 && tally.features[0].high == 1000);
    cr_expect(tally.features[1].outside == 2 && tally.features[1].high == 1e9);
    cr_expect(tally.features[2].categories[0] == 2 && tally.features[2].categories[1] == 1);
    cr_expect(tally.actions[0] == 1 && tally.actions[1] == 2);
    table_tally_free(&tally);
}

#define DOSES(outside)                                                                             \
    DESCRIBED(                                                                                     \
        outside,                                                                                   \
        "{\"low\":0,\"high\":100,\"edges\":[0,10],\"names\":[\"none\",\"little\",\"much\"]}",      \
        "\"last_state\":\"own_row\"")

/* Bin i holds what is above edge i - 1 and not above edge i. */
Test(table_stream, cuts_a_continuous_action_into_bins)
{
    static const char text[] = HEADER "a,1,0,80,1,A,0,1,0\na,1,1,80,1,A,0.001,1,0\n"
                                      "a,1,2,80,1,A,10,1,0\na,1,3,80,1,A,10.5,1,0\n"
                                      "a,1,4,80,1,A,,,1\n";
    struct reading reading = read_text(DOSES("refuse"), text);
    cr_assert(reading.faults == 0 && reading.good == 1, "%s", reading.fault[0].detail);
    const uint16_t actions[] = {0, 1, 1, 2};
    cr_expect_arr_eq(reading.got[0].actions, actions, sizeof actions);
    refuses(DOSES("refuse"), HEADER "a,1,0,80,1,A,101,1,0\n", 2, "/act", "outside of 0 to 100");
    refuses(DOSES("refuse"), HEADER "a,1,0,80,1,A,-1,1,0\n", 2, "/act", "outside of 0 to 100");
    refuses(DOSES("refuse"), HEADER "a,1,0,80,1,A,much,1,0\n", 2, "/act", "must be a number");
    struct reading clipped = read_text(
        DOSES("clip"), HEADER "a,1,0,80,1,A,1e9,1,0\na,1,1,80,1,A,-1,1,0\na,1,2,80,1,A,,,1\n");
    cr_assert(clipped.faults == 0 && clipped.good == 1);
    cr_expect(clipped.got[0].actions[0] == 2 && clipped.got[0].actions[1] == 0);
}

/* Where names are numbers, an index would be another action. */
Test(table_stream, takes_no_index_where_names_are_numbers)
{
    const char *d = DESCRIBED("refuse", "[\"1\",\"2\",\"3\"]", "\"last_state\":\"own_row\"");
    struct reading reading =
        read_text(d, HEADER "a,1,0,80,1,A,1,1,0\na,1,1,80,1,A,3,1,0\na,1,2,80,1,A,,,1\n");
    cr_assert(reading.faults == 0 && reading.good == 1);
    cr_expect(reading.got[0].actions[0] == 0 && reading.got[0].actions[1] == 2);
    refuses(d, HEADER "a,1,0,80,1,A,0,1,0\n", 2, "/act", "name of no action");
}

Test(table_stream, takes_dates_as_times)
{
#define AT(first, second) HEADER "a,1," first ",80,1,A,1,1,0\na,1," second ",80,1,A,1,1,0\n"
    const char *ward = WARD("drop");
    struct reading good = read_text(ward, AT("2024-05-17 13:00:00", "2024-05-17 13:00:01"));
    cr_expect(good.faults == 0 && good.good == 1, "%s", good.fault[0].detail);
    refuses(ward, AT("2024-05-17", "2024-05-16"), 3, "/hour", "must be after");
    refuses(ward, AT("2024-05-17", "2024-05-18 10:00"), 3, "/hour", "must be written as");
    refuses(ward, AT("2024-05-17", "12"), 3, "/hour", "must be written as");
    refuses(ward, AT("0", "17.05.2024"), 3, "/hour", "must be a number, or a date");
}

Test(table_stream, heeds_a_column_of_truncated)
{
    const char *d = DESCRIBED("refuse", NAMES, "\"last_state\":\"drop\",\"truncated\":\"cut\"");
#define CUT(last)                                                                                  \
    "who,stay,hour,rate,lactate,ward,act,r,end,cut\na,1,0,80,1,A,1,1,0,0\na,1,1,80,1,A,1,1," last  \
    "\n"
    struct reading good = read_text(d, CUT("0,1"));
    cr_expect(good.faults == 0 && good.good == 1 && good.got[0].truncated);
    refuses(d, CUT("0,0"), 3, "", "neither terminated nor truncated");
    refuses(d, CUT("0,1\na,1,2,80,1,A,1,1,0,1"), 4, "", "is truncated");
}
