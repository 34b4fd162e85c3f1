/* The output of `tacet epsilon`: named figures, as one JSON object or as lines for people. */
#ifndef TACET_CLI_EPSILON_LINES_H
#define TACET_CLI_EPSILON_LINES_H

#include <stdbool.h>

#define EPSILON_LINES_MAX 16

enum epsilon_bound {
    EPSILON_EXACT, /* rounded to the nearest when it is shown to people */
    EPSILON_UPPER, /* an upper bound: rounded up, so that it stays an upper bound */
    EPSILON_LOWER, /* a lower bound: rounded down */
};

struct epsilon_lines {
    struct epsilon_line {
        const char *name;    /* "epsilon_lower" */
        double value;        /* finite; where there is no text */
        const char *text;    /* NULL: a number */
        const char *meaning; /* for people */
        enum epsilon_bound bound;
    } line[EPSILON_LINES_MAX];
    unsigned count;
};

/* Adds a figure; one that is not finite is left out. All texts are borrowed. */
void epsilon_lines_number(struct epsilon_lines *lines, enum epsilon_bound bound, const char *name,
                          double value, const char *meaning);

/* Adds a figure that is a word instead of a number. */
void epsilon_lines_text(struct epsilon_lines *lines, const char *name, const char *text,
                        const char *meaning);

/* Writes the figures to standard output; false when that failed. */
bool epsilon_lines_print(const struct epsilon_lines *lines, bool json);

#endif
