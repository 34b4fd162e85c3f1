/* Lines of the log as JSON, and what a line says about a request. */
#include <criterion/criterion.h>
#include <string.h>

#include "server/os/log.h"
#include "server/request_log.h"

Test(log, a_line_becomes_one_object)
{
    static const struct {
        const char *line, *json;
    } cases[] = {
        {"level=info event=ready url=http://[::1]:80",
         "{\"level\":\"info\",\"event\":\"ready\",\"url\":\"http://[::1]:80\"}"},
        {"status=404 us=-1 code=007 big=12345678901234567 neg=- empty= x=1e5",
         "{\"status\":404,\"us\":-1,\"code\":\"007\",\"big\":\"12345678901234567\",\"neg\":\"-\","
         "\"empty\":\"\",\"x\":\"1e5\"}"},
        {"why=\"no file \"a b\" at C:\\x\" next=\"1\"",
         "{\"why\":\"no file \\\"a b\\\" at C:\\\\x\",\"next\":\"1\"}"},
        {"why=\"cut off", "{\"why\":\"cut off\"}"},
        {"event=cut wor", "{\"event\":\"cut\"}"},
        {"note=\"caf\xc3\xa9\"", "{\"note\":\"caf??\"}"},
        {"", "{}"},
        {"  a=b  ", "{\"a\":\"b\"}"},
        {"why=\"blanks behind\" ", "{\"why\":\"blanks behind\"}"},
        {"why=\"\" b=c", "{\"why\":\"\",\"b\":\"c\"}"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[LOG_JSON_SIZE];
        cr_expect_eq(log_json(cases[i].line, out), strlen(cases[i].json));
        cr_expect_str_eq(out, cases[i].json);
    }
}

/* Whatever a line of 1,024 bytes holds, its object has room: quotes double, and each pair of three
 * bytes gets four quotes, a colon and a comma. */
Test(log, the_longest_line_has_room)
{
    static const char *const fills[] = {"\"", "\\", "a= ", "a=1 ", "=", "= ", "a=\" "};
    for (unsigned i = 0; i < sizeof fills / sizeof fills[0]; i++) {
        char line[1025] = "", out[LOG_JSON_SIZE];
        size_t each = strlen(fills[i]);
        for (size_t at = 0; at + each < sizeof line; at += each)
            memcpy(line + at, fills[i], each + 1);
        cr_expect_lt(log_json(line, out), LOG_JSON_SIZE, "%s", fills[i]);
    }
}

#define REQUEST "req_0123456789abcdef01234567"

Test(log, a_trace_goes_on_where_the_header_is_well_formed)
{
    static const char trace[] = "0af7651916cd43dd8448eb211c80319c";
    static const char *const good[] = {
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-comes",
    };
    static const char *const bad[] = {
        NULL,
        "",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        "00-0AF7651916CD43DD8448EB211C80319C-B7AD6B7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0x",
        "00-tct_secret__________________________-b7ad6b7169203331-01",
        "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.x",
    };
    char out[LOG_TRACEPARENT_SIZE];
    for (unsigned i = 0; i < sizeof good / sizeof good[0]; i++) {
        request_log_trace(good[i], REQUEST, out);
        cr_expect_eq(strncmp(out + 3, trace, 32), 0, "%s", out);
        cr_expect_str_eq(out + 35, "-0123456789abcdef-01");
    }
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        request_log_trace(bad[i], REQUEST, out);
        cr_expect_str_eq(out, "00-0123456789abcdef0123456701234567-0123456789abcdef-00", "%s",
                         bad[i]);
    }
}

Test(log, a_resource_is_an_id_and_nothing_else_of_a_path)
{
    static const struct {
        const char *path, *resource;
    } cases[] = {
        {"/v1/datasets/ds_0123456789abcdefghjk", "ds_0123456789abcdefghjk"},
        {"/v1/datasets/ds_0123456789abcdefghjk:seal", "ds_0123456789abcdefghjk"},
        {"/v1/teachers/tch_0123456789abcdefghjk/queries/qry_0123456789abcdefghjk",
         "tch_0123456789abcdefghjk"},
        {"/v1/clients/me/x/pol_0123456789abcdefghjk", "pol_0123456789abcdefghjk"},
        {"/v1/datasets/tct_0123456789abcdefghjk", "-"},
        {"/v1/datasets/ds_0123456789abcdefghjkm", "-"},
        {"/v1/datasets/ds_0123456789abcdefghil", "-"},
        {"/v1/datasets/ds-0123456789abcdefghjk", "-"},
        {"/v1/policies/ward_seven", "-"},
        {"/v1/datasets/%64s_0123456789abcdefghjk", "-"},
        {"/", "-"},
        {"", "-"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[API_ID_SIZE];
        request_log_resource(cases[i].path, out);
        cr_expect_str_eq(out, cases[i].resource, "%s", cases[i].path);
    }
}
