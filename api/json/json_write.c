/* Writing JSON. Our own writer instead of json_dumps because numbers must be short (0.1, not
 * 0.10000000000000001) and, for what is signed, canonical by RFC 8785. */
#include "api/json/json_text.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A text that grows; after a failed allocation everything is ignored and FAILED stays. */
struct text {
    char *bytes;
    size_t size, capacity;
    bool failed;
};

static bool reserve(struct text *text, size_t more)
{
    if (text->failed || more > SIZE_MAX / 2 - text->size) {
        text->failed = true;
        return false;
    }
    if (text->capacity - text->size < more) {
        size_t capacity = text->capacity * 2;
        if (capacity < text->size + more)
            capacity = text->size + more;
        char *bytes = realloc(text->bytes, capacity);
        if (!bytes) {
            text->failed = true;
            return false;
        }
        text->bytes = bytes;
        text->capacity = capacity;
    }
    return true;
}

static void put(struct text *text, const char *bytes, size_t size)
{
    if (reserve(text, size)) {
        memcpy(text->bytes + text->size, bytes, size);
        text->size += size;
    }
}

/* Writes TEXT[SIZE] escaped, with quotes; OUT holds 6 * SIZE + 2 bytes. Gives the length. */
static size_t escape(const char *text, size_t size, char *out)
{
    static const char hex[] = "0123456789abcdef";
    char *to = out;
    *to++ = '"';
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        const char *at;
        if (c >= 0x20 && c != '"' && c != '\\') {
            *to++ = (char)c;
        } else if (c != 0 && (at = strchr("\"\\\b\f\n\r\t", c)) != NULL) {
            *to++ = '\\';
            *to++ = "\"\\bfnrt"[at - "\"\\\b\f\n\r\t"];
        } else {
            const char unicode[] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
            memcpy(to, unicode, sizeof unicode);
            to += sizeof unicode;
        }
    }
    *to++ = '"';
    return (size_t)(to - out);
}

static void put_string(struct text *text, const char *bytes, size_t size)
{
    if (size < SIZE_MAX / 8 && reserve(text, 6 * size + 2))
        text->size += escape(bytes, size, text->bytes + text->size);
    else
        text->failed = true;
}

static void put_value(struct text *text, const json_t *value, bool sorted);

static void put_member(struct text *text, const char *name, const json_t *value, bool sorted)
{
    put_string(text, name, strlen(name));
    put(text, ":", 1);
    put_value(text, value, sorted);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Members in the order of their names: byte order, which is RFC 8785's UTF-16 order for every name
 * below U+E000. */
static void put_sorted_members(struct text *text, const json_t *object)
{
    size_t count = json_object_size(object), i = 0;
    const char **names = calloc(count + 1, sizeof *names);
    if (!names) {
        text->failed = true;
        return;
    }
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
            put(text, ",", 1);
        put_member(text, names[i], json_object_get(object, names[i]), true);
    }
    free(names);
}

static void put_object(struct text *text, const json_t *object, bool sorted)
{
    put(text, "{", 1);
    if (sorted) {
        put_sorted_members(text, object);
    } else {
        bool first = true;
        const char *name;
        json_t *member;
        json_object_foreach((json_t *)object, name, member)
        {
            if (!first)
                put(text, ",", 1);
            first = false;
            put_member(text, name, member, false);
        }
    }
    put(text, "}", 1);
}

static void put_value(struct text *text, const json_t *value, bool sorted)
{
    char number[32];
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        put_object(text, value, sorted);
        return;
    case JSON_ARRAY:
        put(text, "[", 1);
        for (size_t i = 0; i < json_array_size(value); i++) {
            if (i > 0)
                put(text, ",", 1);
            put_value(text, json_array_get(value, i), sorted);
        }
        put(text, "]", 1);
        return;
    case JSON_STRING:
        put_string(text, json_string_value(value), json_string_length(value));
        return;
    case JSON_INTEGER:
        put(text, number,
            (size_t)snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value)));
        return;
    case JSON_REAL:
        put(text, number, json_text_number(json_real_value(value), number));
        return;
    case JSON_TRUE:
        put(text, "true", 4);
        return;
    case JSON_FALSE:
        put(text, "false", 5);
        return;
    case JSON_NULL:
        put(text, "null", 4);
        return;
    }
}

char *json_text_write(const json_t *value, bool sorted, size_t *out_size)
{
    struct text text = {.bytes = malloc(512), .capacity = 512};
    if (!text.bytes)
        return NULL;
    put_value(&text, value, sorted);
    put(&text, "", 1);
    if (text.failed) {
        free(text.bytes);
        return NULL;
    }
    *out_size = text.size - 1;
    return text.bytes;
}

size_t json_text_string(const char *text, char *out, size_t size)
{
    size_t length = strlen(text);
    if (length > SIZE_MAX / 8 || size < 6 * length + 2)
        return 0;
    return escape(text, length, out);
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
    return !text || *text == '\0' ? json_null() : json_string(text);
}

static void keep_whole(json_t **built, int failed)
{
    if (failed) {
        json_decref(*built);
        *built = NULL;
    }
}

void json_list_add(json_t **list, json_t *value)
{
    keep_whole(list, json_array_append_new(*list, value));
}

void json_member_add(json_t **object, const char *name, json_t *value)
{
    keep_whole(object, json_object_set_new(*object, name, value));
}

json_t *json_texts(const char *const *texts, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        if (texts[i])
            json_list_add(&list, json_string(texts[i]));
    return list;
}

void json_members_add(json_t **object, json_t *more)
{
    const char *name;
    json_t *value;
    keep_whole(object, !more);
    json_object_foreach(more, name, value)
    {
        if (*object && !json_object_get(*object, name))
            json_member_add(object, name, json_incref(value));
    }
}
