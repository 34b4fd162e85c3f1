/* A file that `tacet experts` or `tacet import` writes: plain or compressed, new or resumed. */
#ifndef TACET_CLI_EXPERT_OUTPUT_H
#define TACET_CLI_EXPERT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/wire/inflate.h"

struct expert_output {
    const char *name; /* borrowed; for messages */
    int handle;       /* -1: none */
    bool regular;     /* a file on a disk: it can be resumed, and must be synced */
    uint64_t size;    /* bytes of it so far */
    char error[512];  /* why the last function failed: one line */
};

/* True when PATH is, or would become, a file on a disk. */
bool expert_output_is_regular(const char *path);

/* True when A and B name one file on a disk, or are the same text. */
bool expert_output_is_same(const char *a, const char *b);

/* Opens PATH; NULL: standard output. A regular file is cut to its first KEEP bytes, because an
 * earlier run may have left the rest half written. False when it has fewer bytes. */
bool expert_output_open(struct expert_output *output, const char *path, uint64_t keep);

/* Appends SIZE bytes, compressed by ENCODING unless that is INFLATE_IDENTITY. For a regular file it
 * waits until they are on disk. Without an open file (handle -1) it does nothing. */
bool expert_output_write(struct expert_output *output, enum inflate_encoding encoding,
                         const char *bytes, size_t size);

/* Closes the file, also after a failure. Without an open file (handle -1) it does nothing. */
bool expert_output_close(struct expert_output *output);

#endif
