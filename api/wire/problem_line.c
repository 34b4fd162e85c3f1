/* problem+json as one line of a terminal. A hostile or broken server must not be able to send
 * escape sequences or pages of text there: control characters become blanks, length has a lid. */
#include "api/wire/problem_line.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/json/json_member.h"
#include "api/json/json_text.h"
#include "api/json/text.h"

#define ERRORS_SHOWN 3

/* A line that is being built. */
struct line {
    char *text;
    size_t used, size;
};

__attribute__((format(printf, 2, 3))) static void line_add(struct line *line, const char *format,
                                                           ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line->text + line->used, line->size - line->used, format, arguments);
    va_end(arguments);
    size_t left = line->size - 1 - line->used;
    if (length > 0)
        line->used += (size_t)length < left ? (size_t)length : left;
}

/* Takes control characters away and marks a cut, without leaving half a UTF-8 character. */
static void line_finish(struct line *line)
{
    bool cut = line->used + 1 == line->size;
    if (cut) {
        size_t end = line->size - 1 - strlen("...");
        while (end > 0 && ((unsigned char)line->text[end] & 0xc0) == 0x80)
            end--;
        memcpy(line->text + end, "...", sizeof "...");
    }
    text_clean(line->text, ' ');
}

/* "/problems/not-found", or the same as a whole address: the last part, if it is made as ours are.
 */
static void read_slug(const json_t *problem, char out[PROBLEM_SLUG_SIZE])
{
    static const char folder[] = "/problems/";
    const char *at = strstr(json_member_text(problem, "type"), folder);
    out[0] = '\0';
    if (!at)
        return;
    at += sizeof folder - 1;
    size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789-");
    if (length == 0 || length >= PROBLEM_SLUG_SIZE || at[length] != '\0')
        return;
    memcpy(out, at, length + 1);
}

/* " (/name is missing; line 3: /states/2 must be a number; and 5 more)" */
static void add_errors(struct line *line, const json_t *problem)
{
    const json_t *errors = json_object_get(problem, "errors");
    size_t count = json_array_size(errors);
    for (size_t i = 0; i < count && i < ERRORS_SHOWN; i++) {
        const json_t *error = json_array_get(errors, i), *where = json_object_get(error, "line");
        const char *pointer = json_member_text(error, "pointer");
        line_add(line, i == 0 ? " (" : "; ");
        if (json_is_integer(where))
            line_add(line, "line %lld: ", (long long)json_integer_value(where));
        line_add(line, "%s%s%s", pointer, pointer[0] == '\0' ? "" : " ",
                 json_member_text(error, "detail"));
    }
    if (count > ERRORS_SHOWN)
        line_add(line, "; and %zu more", count - ERRORS_SHOWN);
    if (count > 0)
        line_add(line, ")");
}

void problem_line_read(long status, const char *body, size_t size, struct problem_line *out)
{
    struct json_fault fault;
    struct line line = {.text = out->text, .size = sizeof out->text};
    json_t *problem = NULL;
    out->slug[0] = out->text[0] = '\0';
    if (json_text_parse(body, size, &problem, &fault) != JSON_TEXT_GOOD)
        problem = NULL;
    const char *detail = json_member_text(problem, "detail"),
               *title = json_member_text(problem, "title");
    line_add(&line, "%ld", status);
    if (detail[0] == '\0' && title[0] == '\0') {
        line_add(&line, ", without an explanation");
    } else {
        read_slug(problem, out->slug);
        const char *colon = out->slug[0] == '\0' ? "" : ": ";
        line_add(&line, " %s%s%s", out->slug, colon, detail[0] == '\0' ? title : detail);
        add_errors(&line, problem);
    }
    line_finish(&line);
    json_decref(problem);
}

bool answer_text(const char *body, size_t body_size, const char *name, char *out, size_t size)
{
    struct json_fault fault;
    json_t *answer = NULL;
    out[0] = '\0';
    if (json_text_parse(body, body_size, &answer, &fault) != JSON_TEXT_GOOD)
        return false;
    const char *text = json_member_text(answer, name);
    size_t length = strlen(text);
    bool fits = length > 0 && length < size;
    for (size_t i = 0; i < length; i++)
        fits = fits && (unsigned char)text[i] >= ' ' && text[i] != 0x7f;
    if (fits)
        memcpy(out, text, length + 1);
    json_decref(answer);
    return fits;
}

double answer_real(const char *body, size_t body_size, const char *name)
{
    struct json_fault fault;
    json_t *answer = NULL;
    if (json_text_parse(body, body_size, &answer, &fault) != JSON_TEXT_GOOD)
        return NAN;
    double number = json_member_number(answer, name);
    json_decref(answer);
    return number;
}
