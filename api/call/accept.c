/* Accept and Origin headers. */
#include "api/call/accept.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

static const char *skip_space(const char *c)
{
    while (*c == ' ' || *c == '\t')
        c++;
    return c;
}

/* "0.85" as 850; what is no qvalue counts as 1000, as if it had not been given. */
static int read_q(const char *c)
{
    if (*c != '0' && *c != '1')
        return 1000;
    int q = (*c - '0') * 1000;
    if (c[1] == '.') {
        int unit = 100;
        for (c += 2; isdigit((unsigned char)*c) && unit > 0; c++, unit /= 10)
            q += (*c - '0') * unit;
    }
    return q > 1000 ? 1000 : q;
}

/* The value of the parameter q between C and END, as read_q gives it. */
static int find_q(const char *c, const char *end)
{
    while (c < end && (c = memchr(c, ';', (size_t)(end - c)))) {
        c = skip_space(c + 1);
        if (c + 1 < end && (*c == 'q' || *c == 'Q') && c[1] == '=')
            return read_q(c + 2);
    }
    return 1000;
}

static bool is_word(const char *text, size_t size, const char *word)
{
    return strlen(word) == size && strncasecmp(text, word, size) == 0;
}

/* How closely RANGE fits: 3 the type itself, 2 the type with any subtype, 1 anything, 0 not at all.
 */
static int range_closeness(const char *range, size_t size, const char *type, const char *subtype)
{
    const char *slash = memchr(range, '/', size);
    if (!slash)
        return is_word(range, size, "*");
    size_t left = (size_t)(slash - range), right = size - left - 1;
    if (is_word(range, left, "*"))
        return is_word(slash + 1, right, "*");
    if (!is_word(range, left, type))
        return 0;
    if (is_word(slash + 1, right, "*"))
        return 2;
    if (is_word(slash + 1, right, subtype))
        return 3;
    return 0;
}

int accept_quality(const char *accept, const char *type, const char *subtype)
{
    if (!accept || *skip_space(accept) == '\0')
        return 1000;
    int best = 0, quality = 0;
    while (*accept != '\0') {
        accept = skip_space(accept);
        const char *end = accept + strcspn(accept, ",");
        size_t size = strcspn(accept, ",; \t");
        int near = range_closeness(accept, size, type, subtype);
        if (near > best) {
            best = near;
            quality = find_q(accept, end);
        }
        accept = end + (*end == ',');
    }
    return quality;
}

bool accept_prefers_html(const char *accept)
{
    if (!accept || !strcasestr(accept, "text/"))
        return false;
    int html = accept_quality(accept, "text", "html");
    return html > 0 && html > accept_quality(accept, "application", "json");
}

bool accept_allows_json(const char *accept)
{
    return !accept || accept_quality(accept, "application", "json") > 0 ||
           accept_quality(accept, "application", "problem+json") > 0 ||
           accept_quality(accept, "text", "html") > 0;
}

bool cors_allows(const char *list, const char *origin)
{
    if (!list || !origin || *origin == '\0')
        return false;
    while (*list != '\0') {
        list += strspn(list, ", ");
        size_t size = strcspn(list, ", ");
        if (size > 0 && is_word(list, size, origin))
            return true;
        list += size;
    }
    return false;
}
