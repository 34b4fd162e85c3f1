/* Bytes that come in pieces. */
#ifndef TACET_TESTS_UNIT_API_SOURCE_H
#define TACET_TESTS_UNIT_API_SOURCE_H

#include "api/api.h"

struct source {
    const void *bytes;
    size_t size, at, step; /* STEP bytes a read; 0: as many as fit */
    bool broken;           /* fails at the end */
};

/* A reader of SOURCE, as long as that lives. */
struct byte_reader source_reader(struct source *source);

#endif
