/* A file of settings: `name = value` a line, and lines that begin with #. */
#ifndef TACET_SERVER_OS_FLAG_FILE_H
#define TACET_SERVER_OS_FLAG_FILE_H

#include <stdbool.h>
#include <stdio.h>

struct flag_file {
    char *
        text; /* all of it; the caller wipes and frees it after the last use of a name or a value */
    char *next;
    unsigned line; /* of NAME, from 1 on */
    char *name;    /* of the present line, in TEXT, without blanks around it */
    char *value;   /* NULL: the line has no "=" */
    bool exposed;  /* it is a file that everybody on the machine may read or write */
};

/* Reads TEXT, or the file PATH, at most 256 KiB, when TEXT is NULL. NULL, or why it is no file of
 * settings (static text). */
const char *flag_file_open(const char *path, const char *text, struct flag_file *out);

/* As flag_file_open, from an open file, which it closes. */
const char *flag_file_take(FILE *file, struct flag_file *out);

/* Goes on to the next line that is neither empty nor a comment. False: there is none. */
bool flag_file_next(struct flag_file *file);

#endif
