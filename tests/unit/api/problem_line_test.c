/* Refusals as one line, whatever a server sends. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/wire/problem_line.h"

static struct problem_line line_of(long status, const char *body)
{
    struct problem_line line;
    problem_line_read(status, body, strlen(body), &line);
    return line;
}

Test(problem_line, a_problem_is_its_status_slug_and_detail)
{
    struct problem_line line =
        line_of(404, "{\"type\":\"/problems/not-found\",\"title\":\"T\",\"status\":404,"
                     "\"detail\":\"There is no such dataset.\"}");
    cr_expect_str_eq(line.slug, "not-found");
    cr_expect_str_eq(line.text, "404 not-found: There is no such dataset.");
    line = line_of(401, "{\"type\":\"https://x/problems/unauthorized\",\"title\":\"A title\"}");
    cr_expect_str_eq(line.text, "401 unauthorized: A title");
}

Test(problem_line, errors_are_named_and_the_rest_is_counted)
{
    struct problem_line line = line_of(
        422,
        "{\"type\":\"/problems/validation\",\"detail\":\"No.\",\"errors\":["
        "{\"pointer\":\"/budget/epsilon\",\"detail\":\"must be positive\"},"
        "{\"line\":3,\"pointer\":\"/states/2\",\"detail\":\"is short\"},"
        "{\"pointer\":\"\",\"detail\":\"is odd\"},{\"pointer\":\"/a\"},{\"pointer\":\"/b\"}]}");
    cr_expect_str_eq(line.text, "422 validation: No. (/budget/epsilon must be positive; line 3: "
                                "/states/2 is short; is odd; and 2 more)");
}

Test(problem_line, what_is_no_problem_is_told_by_its_status)
{
    static const char *const bodies[] = {"",   "<html>Bad gateway</html>", "{\"a\":", "[]",
                                         "17", "{\"detail\":17}",          "{}"};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct problem_line line = line_of(502, bodies[i]);
        cr_expect_str_eq(line.text, "502, without an explanation", "%s", bodies[i]);
        cr_expect_str_eq(line.slug, "");
    }
    struct problem_line line = line_of(400, "{\"type\":\"about:blank\",\"title\":\"Odd\"}");
    cr_expect_str_eq(line.text, "400 Odd");
    line = line_of(400, "{\"type\":\"/problems/../etc\",\"title\":\"Odd\"}");
    cr_expect_str_eq(line.slug, "");
}

Test(problem_line, a_terminal_is_safe_from_it)
{
    struct problem_line line =
        line_of(400, "{\"title\":\"a\\u001b[2Jb\\nc\\u0007d\\u007fe\\u009b31mf \\u00e9\"}");
    cr_expect_str_eq(line.text, "400 a [2Jb c d e  31mf \xc3\xa9");
}

Test(problem_line, a_page_of_text_is_cut_between_characters)
{
    for (int shift = 0; shift < 4; shift++) {
        char body[8192] = "{\"title\":\"";
        memset(body + strlen(body), 'x', (size_t)shift);
        for (int i = 0; i < 1500; i++)
            strcat(body, "\xe2\x82\xac"); /* a euro sign: three bytes */
        strcat(body, "\"}");
        struct problem_line line = line_of(400, body);
        size_t length = strlen(line.text);
        cr_expect_lt(length, sizeof line.text);
        cr_expect_geq(length, sizeof line.text - 4);
        cr_expect_str_eq(line.text + length - 3, "...");
        cr_expect_eq((length - 3 - strlen("400 ") - (size_t)shift) % 3, 0, "half a character");
    }
}

Test(problem_line, a_member_of_an_answer)
{
    char id[8];
    static const char body[] = "{\"id\":\"ds_1\",\"n\":3,\"long\":\"12345678\",\"odd\":\"a\\nb\"}";
    cr_expect(answer_text(body, strlen(body), "id", id, sizeof id));
    cr_expect_str_eq(id, "ds_1");
    static const char *const none[] = {"n", "long", "odd", "absent"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        cr_expect_not(answer_text(body, strlen(body), none[i], id, sizeof id), "%s", none[i]);
        cr_expect_str_eq(id, "");
    }
    cr_expect_not(answer_text("{", 1, "id", id, sizeof id));
    cr_expect_eq(answer_real(body, strlen(body), "n"), 3);
    cr_expect(isnan(answer_real(body, strlen(body), "id")));
    cr_expect(isnan(answer_real(body, strlen(body), "absent")));
    cr_expect(isnan(answer_real("{", 1, "n")));
}
