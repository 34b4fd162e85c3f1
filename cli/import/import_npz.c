/* NPZ: a ZIP file of arrays in NumPy's format. Each array that is needed is read by a reader of its
 * own on the same file, a row at a time, so that files of any size fit. */
#include <minizip/unzip.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/import/flat_steps.h"
#include "cli/import/npy_header.h"
#include "memory/memory.h"

#define BLOCK_BYTES  65536U
#define ROW_BYTES    (1U << 20) /* most bytes of one row */
#define NAME_SIZE    300
#define IGNORED_SIZE 512
#define RATIO_MAX    1100 /* DEFLATE cannot exceed 1032 */

/* One array. */
struct npz_array {
    unzFile zip; /* NULL: it is not there */
    struct npy_header header;
    unsigned char *block; /* owned */
    size_t at, end;       /* of what is left of it */
    uint64_t left;        /* bytes of the array that were not read yet */
};

struct npz_hand {
    struct import_source *source; /* borrowed */
    struct npz_array arrays[FLAT_ARRAY_COUNT];
    struct flat_steps *steps;
    char ignored[IGNORED_SIZE];
};

/* ---- an array */

static bool npz_fault(struct npz_hand *hand, const char *name, const char *problem)
{
    return import_failed(hand->source, "%s: the array %s %s", hand->source->request.path, name,
                         problem);
}

/* Reads exactly SIZE bytes. */
static bool npz_bytes(struct npz_array *array, void *out, size_t size)
{
    unsigned char *bytes = out;
    while (size > 0) {
        int got = unzReadCurrentFile(array->zip, bytes, (unsigned)size);
        if (got <= 0)
            return false;
        bytes += got;
        size -= (size_t)got;
    }
    return true;
}

/* Reads the header; the sizes that the ZIP file declares must be those of the array. */
static const char *npz_header(struct npz_array *array)
{
    unz_file_info64 info;
    unsigned char prefix[NPY_PREFIX_SIZE];
    size_t start, size;
    if (unzGetCurrentFileInfo64(array->zip, &info, NULL, 0, NULL, 0, NULL, 0) != UNZ_OK ||
        unzOpenCurrentFile(array->zip) != UNZ_OK)
        return "is damaged, encrypted or compressed in a way that is not read";
    if (info.uncompressed_size > 1024 && info.uncompressed_size / RATIO_MAX > info.compressed_size)
        return "says that it decodes to over 1000 times its size";
    if (!npz_bytes(array, prefix, sizeof prefix))
        return "is cut short";
    const char *problem = npy_prefix_read(prefix, &start, &size);
    if (problem)
        return problem;
    size_t known = NPY_PREFIX_SIZE - start; /* bytes of the text that are here already */
    if (size < known)
        return "has a damaged description";
    char *text = memory_new(1, size);
    memcpy(text, prefix + start, known);
    problem = "is cut short";
    if (npz_bytes(array, text + known, size - known))
        problem = npy_header_read(text, size, &array->header);
    free(text);
    if (!problem && info.uncompressed_size != start + size + array->header.bytes)
        problem = "has not as many bytes as its shape says: is it cut short?";
    return problem;
}

/* Opens the array NAME. False: something is wrong with it; true, without a zip, when it is not
 * there. */
static bool npz_open_array(struct npz_hand *hand, struct npz_array *array, const char *name)
{
    char member[NAME_SIZE];
    snprintf(member, sizeof member, "%s.npy", name);
    array->zip = unzOpen64(hand->source->request.path);
    if (!array->zip)
        return import_failed(hand->source, "%s: the ZIP file is damaged or cut short",
                             hand->source->request.path);
    if (strlen(name) + 5 > sizeof member || unzLocateFile(array->zip, member, 1) != UNZ_OK) {
        unzClose(array->zip);
        array->zip = NULL;
        return true;
    }
    const char *problem = npz_header(array);
    const struct npy_header *header = &array->header;
    if (!problem && header->width * header->size > ROW_BYTES)
        problem = "has rows of more than 1 MiB";
    if (problem)
        return npz_fault(hand, name, problem);
    array->block = memory_new(1, BLOCK_BYTES + ROW_BYTES);
    array->left = header->bytes;
    return true;
}

/* The next row, or NULL: it cannot be read. */
static const unsigned char *npz_row(struct npz_array *array)
{
    size_t size = (size_t)array->header.width * array->header.size;
    if (array->end - array->at < size) {
        memmove(array->block, array->block + array->at, array->end - array->at);
        array->end -= array->at;
        array->at = 0;
        size_t more = array->left < BLOCK_BYTES + ROW_BYTES - array->end
                          ? (size_t)array->left
                          : BLOCK_BYTES + ROW_BYTES - array->end;
        if (!npz_bytes(array, array->block + array->end, more))
            return NULL;
        array->end += more;
        array->left -= more;
        /* The checksum is compared when all is read. */
        if (array->left == 0 && unzCloseCurrentFile(array->zip) != UNZ_OK)
            return NULL;
    }
    array->at += size;
    return array->block + array->at - size;
}

/* ---- rows */

static const char *npz_name(const struct npz_hand *hand, enum flat_array which)
{
    return flat_name(&hand->source->request, which);
}

static bool npz_next(void *context, enum flat_array which, double *out)
{
    struct npz_hand *hand = context;
    struct npz_array *array = &hand->arrays[which];
    const unsigned char *row = npz_row(array);
    if (!row)
        return npz_fault(hand, npz_name(hand, which), "is damaged");
    for (uint64_t i = 0; i < array->header.width; i++)
        out[i] = npy_number(&array->header, row + i * array->header.size);
    return true;
}

static bool npz_next_name(void *context, char out[EXPERT_NAME_MAX + 2])
{
    struct npz_hand *hand = context;
    struct npz_array *array = &hand->arrays[FLAT_EXPERTS];
    const unsigned char *row = npz_row(array);
    if (!row)
        return npz_fault(hand, npz_name(hand, FLAT_EXPERTS), "is damaged");
    npy_text(&array->header, row, out, EXPERT_NAME_MAX + 2);
    return true;
}

/* ---- the file */

/* Adds an array's shape to ARRAYS. False: its type is of no use there. */
static bool npz_describe(struct npz_hand *hand, enum flat_array which, struct flat_arrays *arrays)
{
    const struct npz_array *array = &hand->arrays[which];
    const struct npy_header *header = &array->header;
    bool is_text = header->kind == 'S' || header->kind == 'U';
    arrays->of[which].there = array->zip;
    if (!array->zip)
        return true;
    if (is_text && which != FLAT_EXPERTS)
        return npz_fault(hand, npz_name(hand, which), "holds texts, not numbers");
    bool states = which == FLAT_OBSERVATIONS || which == FLAT_NEXT_OBSERVATIONS;
    if (header->dimensions > 2 || (states && header->dimensions != 2))
        return npz_fault(hand, npz_name(hand, which),
                         states ? "must have two dimensions, steps and features"
                                : "has too many dimensions");
    if (header->width == 0 || header->width > DESCRIPTION_DIM_MAX)
        return npz_fault(hand, npz_name(hand, which), "must have 1 to 1024 numbers in a row");
    arrays->of[which].is_text = is_text;
    arrays->of[which].rows = header->rows;
    arrays->of[which].width = (uint32_t)header->width;
    return true;
}

static bool npz_open_role(struct npz_hand *hand, enum flat_array which)
{
    struct npz_array *array = &hand->arrays[which];
    const char *name = npz_name(hand, which);
    return !name || npz_open_array(hand, array, name);
}

static bool npz_is_named(const struct npz_hand *hand, enum flat_array which, const char *member)
{
    const char *name = npz_name(hand, which);
    return name && strcmp(name, member) == 0;
}

/* Notes the names of the members that are not read. */
static void npz_note_ignored(struct npz_hand *hand)
{
    unzFile zip = unzOpen64(hand->source->request.path);
    size_t used = 0;
    char member[NAME_SIZE];
    for (int at = zip ? unzGoToFirstFile(zip) : UNZ_END_OF_LIST_OF_FILE;
         at == UNZ_OK && used < IGNORED_SIZE; at = unzGoToNextFile(zip)) {
        if (unzGetCurrentFileInfo64(zip, NULL, member, sizeof member - 1, NULL, 0, NULL, 0) !=
            UNZ_OK)
            break;
        member[sizeof member - 1] = '\0';
        member[strcspn(member, ".")] = '\0';
        bool read = false;
        for (unsigned a = 0; a < FLAT_ARRAY_COUNT; a++)
            read |= npz_is_named(hand, a, member);
        if (!read)
            used += (size_t)snprintf(hand->ignored + used, IGNORED_SIZE - used, "%s%s",
                                     used > 0 ? ", " : "", member);
    }
    if (zip)
        unzClose(zip);
    hand->source->ignored = hand->ignored;
}

static bool npz_open(struct import_source *source)
{
    struct npz_hand *hand = memory_new(1, sizeof *hand);
    struct flat_arrays arrays = {.context = hand, .next = npz_next, .next_name = npz_next_name};
    source->hand = hand;
    hand->source = source;
    for (unsigned a = 0; a < FLAT_ARRAY_COUNT; a++)
        if (!npz_open_role(hand, a) || !npz_describe(hand, a, &arrays))
            return false;
    if (!arrays.of[FLAT_OBSERVATIONS].there)
        return import_failed(source,
                             "%s: there is no array \"observations\" in this ZIP file; if it is a "
                             "spreadsheet, save that as CSV",
                             source->request.path);
    npz_note_ignored(hand);
    hand->steps = flat_steps_new(source, &arrays);
    return hand->steps;
}

static enum json_stream_status npz_next_trajectory(struct import_source *source,
                                                   struct trajectory *out, const char **out_expert)
{
    struct npz_hand *hand = source->hand;
    return flat_steps_next(hand->steps, out, out_expert);
}

static void npz_close(struct import_source *source)
{
    struct npz_hand *hand = source->hand;
    if (!hand)
        return;
    flat_steps_free(hand->steps);
    for (unsigned a = 0; a < FLAT_ARRAY_COUNT; a++) {
        if (hand->arrays[a].zip)
            unzClose(hand->arrays[a].zip);
        free(hand->arrays[a].block);
    }
    free(hand);
    source->hand = NULL;
}

const struct import_kind import_npz = {.name = "NPZ",
                                       .place = "step",
                                       .magic = "PK\x03\x04",
                                       .magic_size = 4,
                                       .open = npz_open,
                                       .next = npz_next_trajectory,
                                       .close = npz_close};
