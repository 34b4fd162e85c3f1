/* A file that `tacet experts` writes: plain or compressed, new or resumed. */
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

/* Opens PATH; NULL: standard output. A regular file keeps its first KEEP bytes and loses the rest,
 * which an earlier run may have left half written; false when it has not so many. */
bool expert_output_open(struct expert_output *output, const char *path, uint64_t keep);

/* Appends SIZE bytes, compressed by ENCODING unless it is INFLATE_IDENTITY, and waits until they
 * are on disk where there is one. Without an open one (handle -1) it does nothing. */
bool expert_output_write(struct expert_output *output, enum inflate_encoding encoding,
                         const char *bytes, size_t size);

/* Closes it, also after a failure or without an open one (handle -1). */
bool expert_output_close(struct expert_output *output);

#endif
