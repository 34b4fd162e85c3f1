/* Another program as a child process that answers lines by lines: one question, one answer, never
 * out of turn. Whatever the program does, the caller gets an answer or a reason within a time that
 * it chose, and at the end the program is gone.
 *
 * The program runs under /bin/sh -c within limits, without network unless it is given one, with an
 * environment of PATH and LANG alone and with no descriptor but its three pipes. It writes no core
 * file, and is the first to go when the machine's memory ends. At its end nothing is left of it,
 * whatever it started. A child belongs to one thread at a time. */
#ifndef TACET_PROGRAMS_CHILD_H
#define TACET_PROGRAMS_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/keeper.h"

#define CHILD_LINE_MAX       65536 /* bytes of an answer, without the newline */
#define CHILD_COMPLAINTS_MAX 20    /* lines of its standard error that are passed on */
#define CHILD_COMPLAINT_SIZE 240   /* bytes of one such line, with the NUL */

enum child_status {
    CHILD_OK,
    CHILD_NOT_STARTED, /* a process, pipe or descriptor could not be had */
    CHILD_NOT_SEALED,  /* the limits seal it, and this system cannot do that: nothing was started */
    CHILD_LATE,        /* no answer within answer_ms, or the question was not read */
    CHILD_ENDED,       /* the program ended, or closed its output, before it answered */
    CHILD_TOO_LONG,    /* more than CHILD_LINE_MAX bytes without a newline */
    CHILD_OUT_OF_TURN, /* bytes that were not asked for */
    CHILD_STOPPED,     /* GO_ON returned false */
};

struct child_settings {
    const struct keeper *keeper; /* starts it; outlives it */
    const char *command;         /* a shell command line; the caller of the server wrote it */
    /* The file /world of a program that LIMITS seal (sealed.h); NULL for others. Used by
     * child_start alone. */
    const char *source;
    size_t source_size;
    unsigned answer_ms; /* how long an answer may take */
    struct program_limits limits;
    /* Asked about once a second, also during the wait for an answer. NULL: always true. */
    bool (*go_on)(void *context);
    /* Called with a line of the program's standard error, printable ASCII. Lines after the first
     * CHILD_COMPLAINTS_MAX are discarded. NULL: all lines are discarded. */
    void (*said)(void *context, const char *line);
    void *context;
};

struct child;

/* Starts the program. SETTINGS is copied, its command too. End with child_end. On anything but
 * CHILD_OK (CHILD_NOT_STARTED, CHILD_NOT_SEALED) there is no child. A command that the shell does
 * not find shows as CHILD_ENDED at the first question. */
enum child_status child_start(const struct child_settings *settings, struct child **out);

/* Sends QUESTION[size], which ends in a newline, and waits for one line. *OUT_ANSWER[*OUT_SIZE] is
 * the line without its newline, with a NUL after it, and is valid until the next call. After any
 * result but CHILD_OK, only child_end may be called. */
enum child_status child_ask(struct child *child, const char *question, size_t size,
                            const char **out_answer, size_t *out_size);

/* Ends the program with all its descendants; takes NULL. Closes the program's input, waits a second
 * for a child that always answered well, then kills. */
void child_end(struct child *child);

#endif
