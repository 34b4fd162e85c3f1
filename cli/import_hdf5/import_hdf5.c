/* Opens an HDF5 file and finds out whose form it has. */
#include "cli/import_hdf5/import_hdf5.h"

#include <stdlib.h>
#include <string.h>

#include "cli/import/flat_steps.h"
#include "cli/import_hdf5/hdf5_array.h"
#include "cli/import_hdf5/minari_steps.h"
#include "memory/memory.h"

struct hdf5_hand {
    struct import_source *source; /* borrowed */
    hid_t file;
    struct hdf5_array arrays[FLAT_ARRAY_COUNT];
    struct flat_steps *flat; /* one of the two */
    struct minari_steps *minari;
};

/* ---- flat arrays */

static const char *hdf5_name(const struct hdf5_hand *hand, enum flat_array which)
{
    return flat_name(&hand->source->request, which);
}

static bool hdf5_fault(struct hdf5_hand *hand, const char *name, const char *problem)
{
    return import_failed(hand->source, "%s: the array %s %s", hand->source->request.path, name,
                         problem);
}

static bool hdf5_next(void *context, enum flat_array which, double *out)
{
    struct hdf5_hand *hand = context;
    return hdf5_array_next(&hand->arrays[which], out) ||
           hdf5_fault(hand, hdf5_name(hand, which), "is damaged");
}

static bool hdf5_next_name(void *context, char out[EXPERT_NAME_MAX + 2])
{
    struct hdf5_hand *hand = context;
    return hdf5_array_next_text(&hand->arrays[FLAT_EXPERTS], out, EXPERT_NAME_MAX + 2) ||
           hdf5_fault(hand, hdf5_name(hand, FLAT_EXPERTS), "is damaged");
}

static bool hdf5_open_role(struct hdf5_hand *hand, enum flat_array which)
{
    struct hdf5_array *array = &hand->arrays[which];
    const char *name = hdf5_name(hand, which);
    const char *problem = name ? hdf5_array_open(hand->file, name, array) : NULL;
    if (!problem && array->is_text && which != FLAT_EXPERTS)
        problem = "holds texts, not numbers";
    return !problem || hdf5_fault(hand, name, problem);
}

static bool hdf5_open_flat(struct hdf5_hand *hand)
{
    struct flat_arrays arrays = {.context = hand, .next = hdf5_next, .next_name = hdf5_next_name};
    for (unsigned a = 0; a < FLAT_ARRAY_COUNT; a++) {
        if (!hdf5_open_role(hand, a))
            return false;
        arrays.of[a].there = hand->arrays[a].there;
        arrays.of[a].is_text = hand->arrays[a].is_text;
        arrays.of[a].rows = hand->arrays[a].rows;
        arrays.of[a].width = hand->arrays[a].width;
    }
    hand->flat = flat_steps_new(hand->source, &arrays);
    return hand->flat;
}

/* ---- the file */

static bool hdf5_open(struct import_source *source)
{
    struct hdf5_hand *hand = memory_new(1, sizeof *hand);
    source->hand = hand;
    hand->source = source;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* its own messages are for programmers */
    H5PLset_loading_state(0);
    hand->file = H5Fopen(source->request.path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (hand->file < 0)
        return import_failed(source, "%s: the HDF5 file is damaged or cut short",
                             source->request.path);
    if (H5Lexists(hand->file, "observations", H5P_DEFAULT) > 0)
        return hdf5_open_flat(hand);
    hand->minari = minari_steps_new(source, hand->file);
    return hand->minari;
}

static enum json_stream_status hdf5_next_trajectory(struct import_source *source,
                                                    struct trajectory *out, const char **out_expert)
{
    struct hdf5_hand *hand = source->hand;
    if (hand->flat)
        return flat_steps_next(hand->flat, out, out_expert);
    return minari_steps_next(hand->minari, out, out_expert);
}

static void hdf5_close(struct import_source *source)
{
    struct hdf5_hand *hand = source->hand;
    if (!hand)
        return;
    flat_steps_free(hand->flat);
    minari_steps_free(hand->minari);
    for (unsigned a = 0; a < FLAT_ARRAY_COUNT; a++)
        hdf5_array_close(&hand->arrays[a]);
    if (hand->file >= 0)
        H5Fclose(hand->file);
    free(hand);
    source->hand = NULL;
}

const struct import_kind import_hdf5 = {.name = "HDF5",
                                        .place = "step",
                                        .magic = "\x89HDF\r\n\x1a\n",
                                        .magic_size = 8,
                                        .open = hdf5_open,
                                        .next = hdf5_next_trajectory,
                                        .close = hdf5_close};
