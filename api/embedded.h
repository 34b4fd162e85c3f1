/* Files of the repository that are part of the program. */
#ifndef TACET_API_EMBEDDED_H
#define TACET_API_EMBEDDED_H

#include <stdbool.h>
#include <stddef.h>

#define EMBEDDED_FILES 4

struct embedded_file {
    const char *bytes; /* lives as long as the process */
    size_t size;
    const char *content_type;
    unsigned index; /* of 0 .. EMBEDDED_FILES - 1 */
    bool is_home;   /* the status page */
};

/* The file that PATH ("/status.js") serves; of any other path the status page. */
struct embedded_file embedded_file(const char *path);

/* The file at INDEX. */
struct embedded_file embedded_at(unsigned index);

#endif
