/* Arrays by the HDF5 library. */
#include "cli/import_hdf5/hdf5_array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/data/description.h"
#include "memory/memory.h"

#define BLOCK_NUMBERS 65536U

bool hdf5_has(hid_t place, const char *name)
{
    H5L_info_t info;
    return H5Lexists(place, name, H5P_DEFAULT) > 0 &&
           H5Lget_info(place, name, &info, H5P_DEFAULT) >= 0 && info.type == H5L_TYPE_HARD;
}

/* ---- opening */

/* True when the array's numbers are in another file. */
static bool is_stored_elsewhere(hid_t data)
{
    hid_t list = H5Dget_create_plist(data);
    bool elsewhere =
        list < 0 || H5Pget_external_count(list) != 0 || H5Pget_layout(list) == H5D_VIRTUAL;
    if (list >= 0)
        H5Pclose(list);
    return elsewhere;
}

/* NumPy's truths are an enumeration of one byte. */
static const char *check_class(struct hdf5_array *array)
{
    hid_t type = H5Dget_type(array->data);
    H5T_class_t class = H5Tget_class(type);
    size_t size = H5Tget_size(type);
    H5Tclose(type);
    array->is_text = class == H5T_STRING;
    if (class == H5T_INTEGER || class == H5T_FLOAT || class == H5T_STRING)
        return NULL;
    if (class == H5T_ENUM && size == 1)
        return NULL;
    return "is of a type that is not read: save numbers";
}

static const char *find_shape(struct hdf5_array *array)
{
    hsize_t shape[H5S_MAX_RANK] = {0};
    hid_t space = H5Dget_space(array->data);
    int dimensions = H5Sget_simple_extent_dims(space, shape, NULL);
    H5Sclose(space);
    if (dimensions < 1 || dimensions > 2)
        return "must have one or two dimensions";
    array->dimensions = (unsigned)dimensions;
    array->rows = shape[0];
    if (dimensions == 2 && (shape[1] < 1 || shape[1] > DESCRIPTION_DIM_MAX))
        return "must have 1 to 1024 numbers in a row";
    array->width = dimensions == 2 ? (uint32_t)shape[1] : 1;
    return array->is_text && dimensions > 1 ? "must have one text in a row" : NULL;
}

const char *hdf5_array_open(hid_t place, const char *name, struct hdf5_array *array)
{
    *array = (struct hdf5_array){.data = H5I_INVALID_HID};
    if (H5Lexists(place, name, H5P_DEFAULT) <= 0)
        return NULL;
    if (!hdf5_has(place, name))
        return "is a link to somewhere else, which is not followed";
    hid_t object = H5Oopen(place, name, H5P_DEFAULT);
    H5I_type_t kind = object < 0 ? H5I_BADID : H5Iget_type(object);
    if (kind != H5I_DATASET) {
        if (object >= 0)
            H5Oclose(object);
        return kind == H5I_GROUP ? "is a group of arrays: only plain arrays are read"
                                 : "is damaged";
    }
    array->there = true;
    array->data = object;
    const char *problem = check_class(array);
    if (!problem && is_stored_elsewhere(array->data))
        problem = "is stored in another file";
    if (!problem)
        problem = find_shape(array);
    if (!problem && !array->is_text)
        array->block = memory_new(BLOCK_NUMBERS, sizeof *array->block);
    return problem;
}

void hdf5_array_close(struct hdf5_array *array)
{
    if (array->there)
        H5Dclose(array->data);
    free(array->block);
    *array = (struct hdf5_array){.data = H5I_INVALID_HID};
}

/* ---- reading */

/* Reads COUNT rows from the next one on as TYPE into OUT. */
static bool hdf5_read_rows(struct hdf5_array *array, uint64_t count, hid_t type, void *out)
{
    const hsize_t start[2] = {array->next, 0}, size[2] = {count, array->width};
    hid_t space = H5Dget_space(array->data);
    hid_t memory = H5Screate_simple((int)array->dimensions, size, NULL);
    bool good = space >= 0 && memory >= 0 &&
                H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, size, NULL) >= 0 &&
                H5Dread(array->data, type, memory, space, H5P_DEFAULT, out) >= 0;
    if (space >= 0)
        H5Sclose(space);
    if (memory >= 0)
        H5Sclose(memory);
    array->next += count;
    return good;
}

/* Reads COUNT rows of truths into the block. */
static bool read_truths(struct hdf5_array *array, uint64_t count, hid_t type)
{
    size_t numbers = (size_t)count * array->width;
    unsigned char *bytes = memory_new(numbers, 1);
    bool good = hdf5_read_rows(array, count, type, bytes);
    for (size_t i = 0; i < numbers; i++)
        array->block[i] = bytes[i];
    free(bytes);
    return good;
}

/* Reads the next block. */
static bool read_block(struct hdf5_array *array)
{
    uint64_t count = array->rows - array->next;
    if (count > BLOCK_NUMBERS / array->width)
        count = BLOCK_NUMBERS / array->width;
    hid_t type = H5Dget_type(array->data);
    bool good = count > 0;
    if (good && H5Tget_class(type) == H5T_ENUM)
        good = read_truths(array, count, type);
    else if (good)
        good = hdf5_read_rows(array, count, H5T_NATIVE_DOUBLE, array->block);
    H5Tclose(type);
    array->at = 0;
    array->end = good ? count : 0;
    return good;
}

bool hdf5_array_next(struct hdf5_array *array, double *out)
{
    if (array->at == array->end && !read_block(array))
        return false;
    memcpy(out, array->block + array->at * array->width, array->width * sizeof *out);
    array->at++;
    return true;
}

/* ---- texts */

/* Copies the SIZE bytes of TEXT, which may end before them with a NUL. */
static void hdf5_copy_text(const char *text, size_t size, char *out, size_t out_size)
{
    size_t used = text ? strnlen(text, size) : 0;
    used = used < out_size ? used : out_size - 1;
    if (used > 0)
        memcpy(out, text, used);
    out[used] = '\0';
}

bool hdf5_array_next_text(struct hdf5_array *array, char *out, size_t size)
{
    hid_t type = H5Dget_type(array->data);
    bool good;
    if (H5Tis_variable_str(type) > 0) {
        char *text = NULL;
        good = array->next < array->rows && hdf5_read_rows(array, 1, type, &text);
        hdf5_copy_text(text, text ? strlen(text) : 0, out, size);
        H5free_memory(text);
    } else {
        size_t length = H5Tget_size(type);
        char *text = memory_new(1, length);
        good = array->next < array->rows && hdf5_read_rows(array, 1, type, text);
        hdf5_copy_text(text, length, out, size);
        free(text);
    }
    H5Tclose(type);
    return good;
}

/* Reads ATTRIBUTE, a text of TYPE. */
static bool attribute_text(hid_t attribute, hid_t type, char *out, size_t size)
{
    bool good;
    if (H5Tis_variable_str(type) > 0) {
        char *text = NULL;
        good = H5Aread(attribute, type, &text) >= 0 && text;
        hdf5_copy_text(text, text ? strlen(text) : 0, out, size);
        H5free_memory(text);
        return good;
    }
    size_t length = H5Tget_size(type);
    char *text = memory_new(1, length);
    good = H5Aread(attribute, type, text) >= 0;
    hdf5_copy_text(text, length, out, size);
    free(text);
    return good;
}

/* Writes ATTRIBUTE, a number of TYPE, with all its digits. False: it is no whole number of up to 64
 * bits. The library would take the nearest of those for any other. */
static bool attribute_number(hid_t attribute, hid_t type, char *out, size_t size)
{
    long long number = 0;
    unsigned long long positive = 0;
    if (H5Tget_class(type) != H5T_INTEGER || H5Tget_size(type) > sizeof number)
        return false;
    if (H5Tget_sign(type) == H5T_SGN_NONE)
        return H5Aread(attribute, H5T_NATIVE_ULLONG, &positive) >= 0 &&
               snprintf(out, size, "%llu", positive) > 0;
    return H5Aread(attribute, H5T_NATIVE_LLONG, &number) >= 0 &&
           snprintf(out, size, "%lld", number) > 0;
}

const char *hdf5_attribute(hid_t group, const char *name, char *out, size_t size)
{
    const char *problem = NULL;
    if (H5Aexists(group, name) <= 0)
        return "is missing: the episode has no such attribute";
    hid_t attribute = H5Aopen(group, name, H5P_DEFAULT);
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    if (H5Sget_simple_extent_npoints(space) != 1)
        problem = "must be one text or whole number";
    else if (H5Tget_class(type) == H5T_STRING)
        problem = attribute_text(attribute, type, out, size) ? NULL : "cannot be read";
    else if (!attribute_number(attribute, type, out, size))
        problem = "must be one text or whole number";
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(attribute);
    return problem;
}
