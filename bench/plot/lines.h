/* Files of finished runs: one line each, only ever appended, so that a killed run loses at most
 * what it was in and two programs may write at once. */
#ifndef TACET_BENCH_PLOT_LINES_H
#define TACET_BENCH_PLOT_LINES_H

#include <stdbool.h>
#include <stddef.h>

#define LINES_BYTES 2048 /* enough for any line of ours */

/* Appends LINE, which ends in a newline, in one write and waits for the disk; HEAD (likewise) goes
 * first into a new file. A last line that a killed run left without its end is ended with " (cut)".
 * False: it could not be written. */
bool lines_append(const char *path, const char *head, const char *line);

/* Shows EACH every whole line of PATH that is no comment ('#') and was not cut, without its
 * newline; nothing when there is no such file. False: unreadable, no memory, or EACH gave false;
 * *OUT_NUMBER then says where (0: nowhere). */
bool lines_each(const char *path, bool (*each)(void *context, const char *line), void *context,
                unsigned *out_number);

#endif
