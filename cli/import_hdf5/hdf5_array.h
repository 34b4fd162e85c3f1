/* An array of an HDF5 file, read row by row in blocks. Only what the file itself holds is read:
 * links to other files, arrays stored in other files and filters from plugins are refused. */
#ifndef TACET_CLI_IMPORT_HDF5_HDF5_ARRAY_H
#define TACET_CLI_IMPORT_HDF5_HDF5_ARRAY_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hdf5_array {
    bool there;
    bool is_text; /* one name in a row */
    unsigned dimensions;
    uint64_t rows;
    uint32_t width; /* numbers in a row */
    hid_t data;
    double *block;    /* owned */
    uint64_t next;    /* row of the next read */
    uint64_t at, end; /* rows of what is left of the block */
};

/* Opens the array NAME in PLACE (a file or group). Without one, ARRAY->there is false. NULL, or a
 * sentence about what is wrong with it. The caller closes ARRAY with hdf5_array_close. */
const char *hdf5_array_open(hid_t place, const char *name, struct hdf5_array *array);

/* Reads the next row into OUT[width]. False: it cannot be read. */
bool hdf5_array_next(struct hdf5_array *array, double *out);

/* Reads the next row, a text, at most SIZE - 1 bytes. False: it cannot be read. */
bool hdf5_array_next_text(struct hdf5_array *array, char *out, size_t size);

/* Closes what is open; an array that is not there is fine. */
void hdf5_array_close(struct hdf5_array *array);

/* True when PLACE has a link NAME into the same file. */
bool hdf5_has(hid_t place, const char *name);

/* Reads attribute NAME of GROUP, a text or a whole number, as a text of at most SIZE - 1 bytes.
 * NULL, or a sentence. */
const char *hdf5_attribute(hid_t group, const char *name, char *out, size_t size);

#endif
