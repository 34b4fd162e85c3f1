/* Only addresses are compared: no byte is read that the library did not hand out. */
#include "server/head_check.h"

#include <string.h>
#include <strings.h>

#define CRLF_BYTES 2

/* A token of RFC 9110, section 5.6.2. */
static bool head_is_token(const char *text)
{
    static const char other[] = "!#$%&'*+-.^_`|~";
    const char *c = text;
    for (; *c != '\0'; c++) {
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
        if (!letter && !(*c >= '0' && *c <= '9') && !strchr(other, *c))
            return false;
    }
    return c > text;
}

/* No control character but the tab, and DEL, which changes nothing (RFC 9110, section 5.5). */
static bool head_is_value(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++)
        if (*c < ' ' && *c != '\t')
            return false;
    return true;
}

bool head_is_target(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++)
        if (*c <= ' ' || *c == 0x7f)
            return false;
    return true;
}

/* Notes that a piece lies FROM..END, GAP bytes behind the one before it. */
static void note_piece(struct head_check *check, const char *from, const char *end, size_t gap)
{
    if (check->in_place && from != check->end + gap)
        check->bad = true;
    check->end = end;
}

void head_check_begin(struct head_check *check, bool in_place, const char *const line[4])
{
    *check = (struct head_check){.in_place = in_place, .end = line[0] + strlen(line[0])};
    check->bad = !head_is_token(line[0]);
    check->old = strcmp(line[3], "HTTP/1.0") == 0;
    note_piece(check, line[1], line[2], 1);
    note_piece(check, line[3], line[3] + strlen(line[3]), 1);
}

void head_check_field(struct head_check *check, const char *name, const char *value)
{
    if (!head_is_token(name) || !head_is_value(value))
        check->bad = true;
    note_piece(check, name, value + strlen(value), CRLF_BYTES);
    if (strcasecmp(name, "Host") == 0)
        check->hosts++;
}

bool head_check_end(const struct head_check *check, const char *end)
{
    if (check->bad || check->hosts > 1 || (check->hosts == 0 && !check->old))
        return false;
    /* An empty line follows the last one. */
    return !check->in_place || check->end + 2 * CRLF_BYTES == end;
}
