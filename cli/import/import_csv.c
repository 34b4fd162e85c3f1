/* A table, plain or compressed, by the same reader that serves uploads. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/data/table_stream.h"
#include "api/wire/inflate.h"
#include "cli/import/import_source.h"
#include "memory/memory.h"

struct csv_hand {
    FILE *file;
    struct inflate *inflate;
    struct table_stream *stream;
};

static long csv_read(void *context, unsigned char *buffer, size_t size)
{
    struct csv_hand *hand = context;
    size_t got = fread(buffer, 1, size, hand->file);
    return got == 0 && ferror(hand->file) ? -1 : (long)got;
}

/* The encoding that the first bytes of FILE say; the file is at its beginning again. */
static enum inflate_encoding csv_encoding(FILE *file)
{
    unsigned char magic[4] = {0};
    size_t got = fread(magic, 1, sizeof magic, file);
    rewind(file);
    if (got >= 2 && memcmp(magic, "\x1F\x8B", 2) == 0)
        return INFLATE_GZIP;
    return got == 4 && memcmp(magic, "\x28\xB5\x2F\xFD", 4) == 0 ? INFLATE_ZSTD : INFLATE_IDENTITY;
}

static bool csv_check_request(struct import_source *source)
{
    const struct import_request *request = &source->request;
    if (!request->description->has_table)
        return import_failed(source, "the description has no \"table\", which says which column of "
                                     "the CSV file is what");
    if (request->experts != IMPORT_EXPERTS_UNSAID)
        return import_failed(source, "a table has a column for the expert: leave out --experts-by "
                                     "and --episodes-per-expert");
    if (request->last_state >= 0)
        return import_failed(source, "the description's \"table\" says \"last_state\": leave out "
                                     "--last-state");
    return true;
}

static bool csv_open(struct import_source *source)
{
    const struct import_request *request = &source->request;
    if (!csv_check_request(source))
        return false;
    struct csv_hand *hand = memory_new(1, sizeof *hand);
    source->hand = hand;
    hand->file = fopen(request->path, "rb");
    if (!hand->file)
        return import_failed(source, "cannot read %s: %s", request->path, strerror(errno));
    hand->inflate =
        inflate_new(csv_encoding(hand->file), (struct byte_reader){hand, csv_read}, UINT64_MAX);
    hand->stream = table_stream_new(request->description, request->max_steps,
                                    inflate_reader(hand->inflate), request->faults, request->tally);
    return true;
}

static enum json_stream_status csv_next(struct import_source *source, struct trajectory *out,
                                        const char **out_expert)
{
    struct csv_hand *hand = source->hand;
    const char *path = source->request.path;
    enum json_stream_status status = table_stream_next(hand->stream, out, out_expert);
    source->rows = table_stream_rows(hand->stream);
    source->ignored = table_stream_ignored(hand->stream);
    if (status != JSON_STREAM_GONE)
        return status;
    switch (inflate_status(hand->inflate)) {
    case INFLATE_CORRUPT:
        import_failed(source, "%s: the compressed file is damaged or cut short", path);
        break;
    case INFLATE_TOO_LARGE:
        import_failed(source, "%s: decodes to over 1000 times its size", path);
        break;
    default: import_failed(source, "cannot read %s: %s", path, strerror(errno)); break;
    }
    return status;
}

static void csv_close(struct import_source *source)
{
    struct csv_hand *hand = source->hand;
    if (!hand)
        return;
    table_stream_free(hand->stream);
    inflate_free(hand->inflate);
    if (hand->file)
        fclose(hand->file);
    free(hand);
    source->hand = NULL;
}

const struct import_kind import_csv = {
    .name = "CSV", .place = "line", .open = csv_open, .next = csv_next, .close = csv_close};
