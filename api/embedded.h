/* Files of the repository that are part of the program. */
#ifndef TACET_API_EMBEDDED_H
#define TACET_API_EMBEDDED_H

#include <stddef.h>

enum embedded {
    EMBEDDED_HOME,    /* web/index.html */
    EMBEDDED_SCRIPT,  /* web/status.js */
    EMBEDDED_STYLE,   /* web/status.css */
    EMBEDDED_OPENAPI, /* openapi.yaml */
    EMBEDDED_COUNT
};

struct embedded_file {
    const char *bytes; /* lives as long as the process */
    size_t size;
    const char *content_type;
};

/* Its bytes live as long as the process. */
struct embedded_file embedded_file(enum embedded which);

#endif
