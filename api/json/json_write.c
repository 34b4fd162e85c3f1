/* Writing JSON. Our own writer instead of json_dumps because numbers must be short (0.1, not
 * 0.10000000000000001) and, for what is signed, canonical by RFC 8785. */
#include "api/json/json_text.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "memory/buffer.h"
#include "memory/memory.h"

/* Writes TEXT[SIZE] escaped, with quotes; OUT holds 6 * SIZE + 2 bytes. Gives the length. */
static size_t escape_text(const char *text, size_t size, char *out)
{
    static const char hex[] = "0123456789abcdef", named[] = "\"\\\b\f\n\r\t";
    char *to = out;
    *to++ = '"';
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x20 && c != '"' && c != '\\') {
            *to++ = (char)c;
            continue;
        }
        const char *at = c != 0 ? strchr(named, c) : NULL;
        if (at) {
            *to++ = '\\';
            *to++ = "\"\\bfnrt"[at - named];
        } else {
            const char unicode[] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
            memcpy(to, unicode, sizeof unicode);
            to += sizeof unicode;
        }
    }
    *to++ = '"';
    return (size_t)(to - out);
}

static void put_string(struct buffer *text, const char *bytes, size_t size)
{
    char *room = size < SIZE_MAX / 8 ? buffer_reserve(text, 6 * size + 2) : NULL;
    if (room)
        text->size += escape_text(bytes, size, room);
}

static void put_value(struct buffer *text, const json_t *value, bool sorted);

static void put_member(struct buffer *text, const char *name, const json_t *value, bool sorted)
{
    put_string(text, name, strlen(name));
    buffer_add(text, ":", 1);
    put_value(text, value, sorted);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Members in the order of their names: byte order, which is RFC 8785's UTF-16 order for every name
 * below U+E000. */
static void put_sorted_members(struct buffer *text, const json_t *object)
{
    size_t count = json_object_size(object), i = 0;
    const char **names = memory_new(count, sizeof *names);
    const char *name;
    json_t *member;
    json_object_foreach((json_t *)object, name, member)
    {
        names[i++] = name;
    }
    assert(i == count);
    qsort(names, count, sizeof *names, compare_names);
    for (i = 0; i < count; i++) {
        if (i > 0)
            buffer_add(text, ",", 1);
        put_member(text, names[i], json_object_get(object, names[i]), true);
    }
    free(names);
}

static void put_object(struct buffer *text, const json_t *object, bool sorted)
{
    buffer_add(text, "{", 1);
    if (sorted) {
        put_sorted_members(text, object);
    } else {
        bool first = true;
        const char *name;
        json_t *member;
        json_object_foreach((json_t *)object, name, member)
        {
            if (!first)
                buffer_add(text, ",", 1);
            first = false;
            put_member(text, name, member, false);
        }
    }
    buffer_add(text, "}", 1);
}

static void put_value(struct buffer *text, const json_t *value, bool sorted)
{
    char number[32];
    switch (json_typeof(value)) {
    case JSON_OBJECT: put_object(text, value, sorted); return;
    case JSON_ARRAY:
        buffer_add(text, "[", 1);
        for (size_t i = 0; i < json_array_size(value); i++) {
            if (i > 0)
                buffer_add(text, ",", 1);
            put_value(text, json_array_get(value, i), sorted);
        }
        buffer_add(text, "]", 1);
        return;
    case JSON_STRING: put_string(text, json_string_value(value), json_string_length(value)); return;
    case JSON_INTEGER:
        buffer_add_format(text, "%lld", (long long)json_integer_value(value));
        return;
    case JSON_REAL:
        buffer_add(text, number, json_text_number(json_real_value(value), number));
        return;
    case JSON_TRUE: buffer_add(text, "true", 4); return;
    case JSON_FALSE: buffer_add(text, "false", 5); return;
    case JSON_NULL: buffer_add(text, "null", 4); return;
    }
}

char *json_text_write(const json_t *value, bool sorted, size_t *out_size)
{
    struct buffer text;
    buffer_init(&text, SIZE_MAX / 4);
    buffer_reserve(&text, 512);
    put_value(&text, value, sorted);
    return memory_must(buffer_take(&text, out_size));
}

size_t json_text_string(const char *text, char *out, size_t size)
{
    size_t length = strlen(text);
    if (length > SIZE_MAX / 8 || size < 6 * length + 2)
        return 0;
    return escape_text(text, length, out);
}

json_t *json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *json_time(int64_t ms)
{
    const int64_t end = 253402300800000; /* the year 10000 */
    if (ms <= 0 || ms >= end)
        return json_null();
    time_t seconds = (time_t)(ms / 1000);
    struct tm utc;
    char text[40];
    gmtime_r(&seconds, &utc);
    size_t length = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text + length, sizeof text - length, ".%03dZ", (int)(ms % 1000));
    return json_string(text);
}

json_t *json_text_or_null(const char *text)
{
    if (!text || *text == '\0')
        return json_null();
    return json_string(text);
}

void json_list_add(json_t **list, json_t *value)
{
    (void)json_array_append_new(*list, value);
}

void json_member_add(json_t **object, const char *name, json_t *value)
{
    (void)json_object_set_new(*object, name, value);
}

json_t *json_texts(const char *const *texts, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        if (texts[i])
            (void)json_array_append_new(list, json_string(texts[i]));
    return list;
}

void json_members_add(json_t **object, json_t *more)
{
    (void)json_object_update_missing(*object, more);
}
