/* Reads the document around the trajectories, lines or an array, and finds where the next
 * trajectory begins. Malformed JSON loses its line or the rest of the array. */
#include "api/data/json_stream.h"

#include <stdlib.h>

#include "api/data/json_trajectory.h"
#include "api/json/json_scan.h"
#include "memory/memory.h"
#include "memory/wipe.h"

enum form { FORM_UNKNOWN, FORM_LINES, FORM_ARRAY };

struct json_stream {
    struct json_scan scan;
    struct json_trajectory hand;
    enum form form;
    bool over; /* nothing more can be read */
};

struct json_stream *json_stream_new(const struct json_stream_shape *shape,
                                    struct byte_reader reader, struct json_stream_faults faults)
{
    struct json_stream *stream = memory_new(1, sizeof *stream);
    json_scan_open(&stream->scan, reader);
    if (!json_trajectory_open(&stream->hand, &stream->scan, shape, faults)) {
        json_scan_close(&stream->scan);
        free(stream);
        return NULL;
    }
    return stream;
}

void json_stream_free(struct json_stream *stream)
{
    if (!stream)
        return;
    json_trajectory_close(&stream->hand);
    json_scan_close(&stream->scan);
    wipe_free(stream);
}

/* ---- the document */

/* Reports malformed JSON and skips its line or the rest of the array. */
static enum json_stream_status stream_lose(struct json_stream *stream)
{
    struct json_scan *scan = &stream->scan;
    if (scan->gone)
        return JSON_STREAM_GONE;
    stream->hand.start = scan->line;
    json_trajectory_fault(&stream->hand, scan->fault);
    stream->over = stream->form == FORM_ARRAY || !json_scan_next_line(scan);
    if (scan->gone)
        return JSON_STREAM_GONE;
    return JSON_STREAM_FAULTY;
}

/* Goes to the next line that holds something; false at the end. */
static bool next_line(struct json_scan *scan)
{
    while (json_scan_peek(scan) == '\n')
        json_scan_next_line(scan);
    return !json_scan_at_end(scan);
}

/* Goes to the next element; false at the array's end or a fault. */
static bool next_element(struct json_stream *stream, bool first)
{
    struct json_scan *scan = &stream->scan;
    if (first)
        scan->at++;
    unsigned char c = json_scan_peek(scan);
    if (c == ']') {
        scan->at++;
        if (!json_scan_at_end(scan))
            json_scan_fault(scan, "Something follows the array.");
        return false;
    }
    return first || json_scan_expect(scan, ',', "A ',' or ']' was expected.");
}

#define TABLE_LINE 4096 /* bytes of a table's first line that are looked at */

/* What the body is when it is another form that is known by how it begins: the fault to give, or
 * NULL. Its bytes would give a fault for every line feed among them. */
static const char *other_form(struct json_scan *scan)
{
    if (json_scan_begins(scan, "\x1F\x8B", 2) || json_scan_begins(scan, "\x28\xB5\x2F\xFD", 4))
        return "The body is compressed: send Content-Encoding: gzip or zstd with it.";
    if (json_scan_begins(scan, "\x89HDF", 4) || json_scan_begins(scan, "PK\x03\x04", 4))
        return "The body is no JSON but an HDF5 or NPZ file: `tacet import` sends it.";
    unsigned char first = json_scan_peek(scan);
    if (first > ' ' && first != '{' && first != '[' && json_scan_line_has(scan, ',', TABLE_LINE))
        return "The body is no JSON but looks like a table: send it as text/csv to a dataset whose "
               "description has a table, or let `tacet import` make trajectories of it.";
    return NULL;
}

/* Goes to where the next trajectory must begin; false at the end or a fault. */
static bool stream_advance(struct json_stream *stream)
{
    struct json_scan *scan = &stream->scan;
    bool first = stream->form == FORM_UNKNOWN;
    const char *other = first ? other_form(scan) : NULL;
    if (other) {
        json_scan_fault(scan, other);
        stream->form = FORM_ARRAY; /* all of it is lost */
        return false;
    }
    if (first) {
        stream->form = FORM_LINES;
        if (json_scan_peek(scan) == '[')
            stream->form = FORM_ARRAY;
        stream->hand.in_array = stream->form == FORM_ARRAY;
        scan->line_is_token = stream->form == FORM_LINES;
    }
    if (stream->form == FORM_LINES)
        return next_line(scan);
    stream->hand.element += !first;
    return next_element(stream, first);
}

static bool ends_line(struct json_scan *scan)
{
    return json_scan_peek(scan) == '\n' || json_scan_at_end(scan);
}

enum json_stream_status json_stream_next(struct json_stream *stream, struct trajectory *out,
                                         const char **out_expert)
{
    struct json_scan *scan = &stream->scan;
    if (stream->over)
        return JSON_STREAM_END;
    if (!stream_advance(stream)) {
        if (!scan->fault) {
            stream->over = true;
            if (scan->gone)
                return JSON_STREAM_GONE;
            return JSON_STREAM_END;
        }
        return stream_lose(stream);
    }
    if (!json_trajectory_read(&stream->hand))
        return stream_lose(stream);
    if (stream->form == FORM_LINES && !ends_line(scan)) {
        json_scan_fault(scan, "A line holds one trajectory and nothing else.");
        return stream_lose(stream);
    }
    if (scan->gone)
        return JSON_STREAM_GONE;
    if (stream->hand.faulty)
        return JSON_STREAM_FAULTY;
    const struct json_trajectory *hand = &stream->hand;
    *out = (struct trajectory){.length = hand->actions_count,
                               .terminated = hand->terminated,
                               .truncated = hand->truncated,
                               .states = hand->states,
                               .actions = hand->actions,
                               .rewards = hand->rewards};
    *out_expert = hand->expert;
    return JSON_STREAM_TRAJECTORY;
}
