/* What `tacet epsilon` prints: figures with names, as one JSON object or as lines for people. */
#ifndef TACET_CLI_EPSILON_LINES_H
#define TACET_CLI_EPSILON_LINES_H

#include <stdbool.h>

#define EPSILON_LINES_MAX 16

struct epsilon_lines {
    struct epsilon_line {
        const char *name;    /* "epsilon_lower" */
        double value;        /* finite; where there is no text */
        const char *text;    /* NULL: a number */
        const char *meaning; /* for people */
        int toward;          /* for people: 1 rounds up, -1 down, 0 to the nearest */
    } line[EPSILON_LINES_MAX];
    unsigned count;
};

/* All texts are borrowed. A value that is not finite is left out. */
void epsilon_lines_number(struct epsilon_lines *lines, const char *name, double value,
                          const char *meaning);

/* An upper bound: when it is shortened it remains one. */
void epsilon_lines_upper(struct epsilon_lines *lines, const char *name, double value,
                         const char *meaning);

/* A lower bound, likewise. */
void epsilon_lines_lower(struct epsilon_lines *lines, const char *name, double value,
                         const char *meaning);

/* A word instead of a number. */
void epsilon_lines_text(struct epsilon_lines *lines, const char *name, const char *text,
                        const char *meaning);

/* Writes to standard output; false when that failed. */
bool epsilon_lines_print(const struct epsilon_lines *lines, bool json);

#endif
