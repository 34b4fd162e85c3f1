/* One trajectory and its byte form. Stored chunks are these records back to back. */
#ifndef TACET_ALGOS_DATA_TRAJECTORY_H
#define TACET_ALGOS_DATA_TRAJECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Borrowed views; LENGTH steps, LENGTH + 1 states. */
struct trajectory {
    uint32_t expert; /* number of the expert within its upload or dataset */
    uint32_t length;
    bool terminated, truncated;
    const float *states;     /* (length + 1) x state_dim, row major */
    const uint16_t *actions; /* length */
    const float *rewards;    /* length */
};

/* The size of the record of a trajectory with LENGTH steps: a multiple of 4, or 0 when the record
 * would not fit in memory. */
size_t trajectory_record_size(uint32_t length, uint32_t state_dim);

/* Writes the record (little endian; header 16 bytes: expert, length, flags, checksum) to BYTES of
 * that size. */
void trajectory_record_write(const struct trajectory *trajectory, uint32_t state_dim,
                             unsigned char *bytes);

/* Reads the record at BYTES (4-byte aligned); views point into it. Gives the record's size, or 0
 * when the bytes are not a whole valid record for that state_dim. */
size_t trajectory_record_read(const unsigned char *bytes, size_t size, uint32_t state_dim,
                              struct trajectory *out);

#endif
