/* A file of finished measurements: one line of tab-separated columns each, only ever appended, so
 * that a killed run loses at most the one it was in and two programs may write at once. */
#ifndef TACET_BENCH_TSV_H
#define TACET_BENCH_TSV_H

#include <stdbool.h>
#include <stddef.h>

#define TSV_LINE_BYTES 1024

/* Calls EACH with every whole line of PATH that does not begin with '#' (nothing where there is no
 * such file). False: unreadable, or EACH gave false at line *LINE (0: none). */
bool tsv_load(const char *path, bool (*each)(void *context, const char *line), void *context,
              unsigned *line);

/* Appends LINE[size], which ends in a newline, in one write; a new file begins with HEAD, a line
 * that begins with '#'. False: it may not be there. */
bool tsv_append(const char *path, const char *head, const char *line, size_t size);

#endif
