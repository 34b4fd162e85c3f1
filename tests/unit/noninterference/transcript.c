#include "tests/unit/noninterference/transcript.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "memory/buffer.h"

#define LID        ((size_t)1 << 30)
#define MASKS_MOST 128

struct block {
    char request[128];
    const char *who;
    unsigned scene;
    char *label;
    struct buffer lines;
};

struct identifier {
    char text[40], name[24];
};

struct transcript {
    struct block *blocks;
    size_t block_count, block_room;
    struct identifier *ids;
    size_t id_count, id_room;
    unsigned scene;
    size_t scene_ids; /* that were met before it */
    size_t mask_uses[MASKS_MOST];
    size_t of_block[MASKS_MOST], of_block_count; /* masks for who asked what in the latest block */
};

struct transcript *transcript_new(void)
{
    struct transcript *t = calloc(1, sizeof *t);
    cr_assert(t != NULL);
    return t;
}

void transcript_free(struct transcript *t)
{
    for (size_t i = 0; i < t->block_count; i++) {
        buffer_clear(&t->blocks[i].lines);
        free(t->blocks[i].label);
    }
    free(t->blocks);
    free(t->ids);
    free(t);
}

/* ---- identifiers */

#define ID_RANDOM 20 /* characters behind the kind (storage/db/id.c) */

/* Bytes of the identifier that begins at TEXT; 0: there is none. */
static size_t id_length(const char *text)
{
    size_t kind = 0, size = 0;
    while (kind < 4 && islower((unsigned char)text[kind]))
        kind++;
    if (kind < 2 || text[kind] != '_')
        return 0;
    while (isalnum((unsigned char)text[kind + 1 + size]))
        size++;
    return size == ID_RANDOM ? kind + 1 + size : 0;
}

static const char *id_name(struct transcript *t, const char *text, size_t size)
{
    for (size_t i = t->id_count; i-- > 0;)
        if (strncmp(t->ids[i].text, text, size) == 0 && t->ids[i].text[size] == '\0')
            return t->ids[i].name;
    if (t->id_count == t->id_room) {
        t->id_room = t->id_room * 2 + 64;
        t->ids = realloc(t->ids, t->id_room * sizeof *t->ids);
        cr_assert(t->ids != NULL);
    }
    struct identifier *id = &t->ids[t->id_count++];
    snprintf(id->text, sizeof id->text, "%.*s", (int)size, text);
    snprintf(id->name, sizeof id->name, "%.*s#%u.%zu", (int)strcspn(text, "_"), text, t->scene,
             t->id_count - t->scene_ids);
    return id->name;
}

const char *transcript_id(const struct transcript *t, size_t index)
{
    return index < t->id_count ? t->ids[index].text : NULL;
}

/* TEXT with the names of its identifiers. */
static void add_named(struct transcript *t, struct buffer *out, const char *text)
{
    for (const char *at = text; *at != '\0';) {
        bool inside = at > text && (isalnum((unsigned char)at[-1]) || at[-1] == '_');
        size_t size = inside ? 0 : id_length(at);
        if (size > 0) {
            buffer_add_text(out, id_name(t, at, size));
            at += size;
        } else if (*at == '\n') {
            buffer_add_text(out, "\\n");
            at++;
        } else {
            buffer_add(out, at++, 1);
        }
    }
}

/* ---- blocks */

void transcript_scene(struct transcript *t)
{
    t->scene++;
    t->scene_ids = t->id_count;
}

/* Most fields meet few masks, so the masks of a block are looked for once. */
static void find_masks(struct transcript *t, const struct block *block)
{
    size_t count;
    const struct mask *masks = mask_all(&count);
    cr_assert_leq(count, MASKS_MOST);
    t->of_block_count = 0;
    for (size_t i = 0; i < count; i++)
        if (fnmatch(masks[i].who, block->who, 0) == 0 &&
            fnmatch(masks[i].request, block->request, 0) == 0)
            t->of_block[t->of_block_count++] = i;
}

void transcript_block(struct transcript *t, const char *request, const char *who, const char *what)
{
    if (t->block_count == t->block_room) {
        t->block_room = t->block_room * 2 + 256;
        t->blocks = realloc(t->blocks, t->block_room * sizeof *t->blocks);
        cr_assert(t->blocks != NULL);
    }
    struct buffer label = {.lid = LID};
    size_t size;
    buffer_add_format(&label, "%s as %s: ", request, who);
    add_named(t, &label, what);
    struct block *block = &t->blocks[t->block_count++];
    *block = (struct block){.who = who, .scene = t->scene, .lines = {.lid = LID}};
    snprintf(block->request, sizeof block->request, "%s", request);
    block->label = buffer_take(&label, &size);
    cr_assert(block->label != NULL);
    find_masks(t, block);
}

static bool is_masked(struct transcript *t, const char *field)
{
    size_t count;
    const struct mask *masks = mask_all(&count);
    for (size_t i = 0; i < t->of_block_count; i++) {
        if (fnmatch(masks[t->of_block[i]].field, field, 0) != 0)
            continue;
        t->mask_uses[t->of_block[i]]++;
        return true;
    }
    return false;
}

static struct buffer *begin_line(struct transcript *t, const char *field, bool *out_masked)
{
    cr_assert_gt(t->block_count, 0);
    struct block *block = &t->blocks[t->block_count - 1];
    *out_masked = is_masked(t, field);
    buffer_add_format(&block->lines, "%s = ", field);
    return &block->lines;
}

void transcript_text(struct transcript *t, const char *field, const char *text)
{
    bool masked;
    struct buffer *line = begin_line(t, field, &masked);
    if (masked)
        buffer_add_format(line, "<text of %zu>", strlen(text));
    else
        add_named(t, line, text);
    buffer_add(line, "\n", 1);
}

void transcript_number(struct transcript *t, const char *field, double number)
{
    bool masked;
    struct buffer *line = begin_line(t, field, &masked);
    if (masked)
        buffer_add_text(line, "<number>\n");
    else
        buffer_add_format(line, "%.17g\n", number);
}

size_t transcript_size(const char *body, size_t size)
{
    size_t counted = 0;
    bool text = false;
    for (size_t i = 0; i < size; i++) {
        char c = body[i];
        bool escapes = text && c == '\\';
        text ^= c == '"';
        counted += escapes ? 2 : text || !strchr("0123456789+-.eE", c);
        i += escapes;
    }
    return counted;
}

static size_t hidden_size(const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT);
    cr_assert_not_null(text);
    size_t size = transcript_size(text, strlen(text));
    free(text);
    return size;
}

static void write_literal(struct transcript *t, const char *field, const json_t *value)
{
    bool masked;
    struct buffer *line = begin_line(t, field, &masked);
    const char *truth = json_is_true(value) ? "true\n" : "false\n";
    buffer_add_text(line, !value || json_is_null(value) ? "null\n" : truth);
}

size_t transcript_json(struct transcript *t, const char *field, const json_t *value)
{
    char below[512];
    const char *name;
    json_t *item;
    size_t index, hidden = 0;
    snprintf(below, sizeof below, "{}%s", field);
    if (json_is_object(value) && is_masked(t, below)) {
        struct block *block = &t->blocks[t->block_count - 1];
        buffer_add_format(&block->lines, "%s = <object>\n", field);
        hidden = hidden_size(value);
    } else if (json_is_object(value)) {
        json_object_foreach((json_t *)(uintptr_t)value, name, item)
        {
            struct buffer named = {.lid = 256};
            add_named(t, &named, name);
            snprintf(below, sizeof below, "%s/%s", field, named.bytes ? named.bytes : "");
            buffer_clear(&named);
            hidden += transcript_json(t, below, item);
        }
    } else if (json_is_array(value)) {
        json_array_foreach(value, index, item)
        {
            snprintf(below, sizeof below, "%s/%zu", field, index);
            hidden += transcript_json(t, below, item);
        }
    } else if (json_is_string(value)) {
        transcript_text(t, field, json_string_value(value));
    } else if (json_is_number(value)) {
        transcript_number(t, field, json_number_value(value));
    } else {
        write_literal(t, field, value);
    }
    return hidden;
}

/* ---- comparing */

struct report {
    size_t found, most;
    FILE *out;
};

static void tell_difference(struct report *report, const char *label, const char *one,
                            const char *two)
{
    if (report->found++ < report->most && report->out)
        fprintf(report->out, "%s\n  - %.*s\n  + %.*s\n", label, (int)strcspn(one, "\n"), one,
                (int)strcspn(two, "\n"), two);
}

static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return *line == '\n' ? line + 1 : line;
}

static void compare_blocks(struct report *report, const struct block *one, const struct block *two)
{
    const char *a = one->lines.bytes ? one->lines.bytes : "";
    const char *b = two->lines.bytes ? two->lines.bytes : "";
    for (; *a != '\0' || *b != '\0'; a = next_line(a), b = next_line(b)) {
        size_t size = strcspn(a, "\n");
        if (size != strcspn(b, "\n") || strncmp(a, b, size) != 0)
            tell_difference(report, one->label, a, b);
    }
}

/* Past the blocks of the scene that AT is in. */
static size_t next_scene(const struct transcript *t, size_t at)
{
    unsigned scene = t->blocks[at].scene;
    while (at < t->block_count && t->blocks[at].scene == scene)
        at++;
    return at;
}

/* Where other requests were made, the rest of the scene is left out. */
size_t transcript_compare(const struct transcript *one, const struct transcript *two, size_t most,
                          FILE *out)
{
    struct report report = {.most = most, .out = out};
    size_t a = 0, b = 0;
    while (a < one->block_count && b < two->block_count) {
        const struct block *x = &one->blocks[a], *y = &two->blocks[b];
        bool same = x->scene == y->scene && strcmp(x->label, y->label) == 0;
        if (same) {
            compare_blocks(&report, x, y);
            a++;
            b++;
            continue;
        }
        tell_difference(&report, "another request", x->label, y->label);
        unsigned scene = x->scene > y->scene ? x->scene : y->scene;
        a = x->scene < scene || x->scene == y->scene ? next_scene(one, a) : a;
        b = y->scene < scene || x->scene == y->scene ? next_scene(two, b) : b;
    }
    if (a < one->block_count || b < two->block_count)
        tell_difference(&report, "one has more requests", "", "");
    return report.found;
}

size_t transcript_masked(const struct transcript *t, size_t mask)
{
    return t->mask_uses[mask];
}

size_t transcript_blocks(const struct transcript *t)
{
    return t->block_count;
}

size_t transcript_lines(const struct transcript *t)
{
    size_t lines = 0;
    for (size_t i = 0; i < t->block_count; i++)
        for (const char *at = t->blocks[i].lines.bytes; at && *at != '\0'; at = next_line(at))
            lines++;
    return lines;
}
