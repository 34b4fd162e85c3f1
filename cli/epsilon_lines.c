/* Figures to text. Names and texts are ours and need no escape. */
#include "cli/epsilon_lines.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

void epsilon_lines_number(struct epsilon_lines *lines, enum epsilon_bound bound, const char *name,
                          double value, const char *meaning)
{
    assert(lines->count < EPSILON_LINES_MAX);
    if (isfinite(value))
        lines->line[lines->count++] = (struct epsilon_line){name, value, NULL, meaning, bound};
}

void epsilon_lines_text(struct epsilon_lines *lines, const char *name, const char *text,
                        const char *meaning)
{
    assert(lines->count < EPSILON_LINES_MAX);
    lines->line[lines->count++] = (struct epsilon_line){name, 0.0, text, meaning, EPSILON_EXACT};
}

/* The fewest digits that read back as the same double. */
static void print_exactly(double value)
{
    char text[32];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    /* A whole number of steps is written out. */
    if (value == floor(value) && fabs(value) < 1e15)
        snprintf(text, sizeof text, "%.0f", value);
    fputs(text, stdout);
}

static void print_json(const struct epsilon_lines *lines)
{
    for (unsigned i = 0; i < lines->count; i++) {
        const struct epsilon_line *line = &lines->line[i];
        printf("%s\"%s\":", i == 0 ? "{" : ",", line->name);
        if (line->text)
            printf("\"%s\"", line->text);
        else
            print_exactly(line->value);
    }
    puts("}");
}

/* Six digits, rounded so that a bound remains one. */
static void shorten_value(const struct epsilon_line *line, char out[32])
{
    double value = line->value;
    bool whole = value == floor(value) && fabs(value) < 1e15;
    double unit = value > 0.0 ? pow(10.0, floor(log10(value)) - 5.0) : 0.0;
    if (!whole && line->bound != EPSILON_EXACT && unit > 0.0) {
        double units = value / unit;
        value = unit * (line->bound == EPSILON_UPPER ? ceil(units) : floor(units));
    }
    snprintf(out, 32, whole ? "%.0f" : "%.6g", value);
}

static void print_lines(const struct epsilon_lines *lines)
{
    for (unsigned i = 0; i < lines->count; i++) {
        const struct epsilon_line *line = &lines->line[i];
        char number[32];
        shorten_value(line, number);
        printf("%-17s %-13s %s\n", line->name, line->text ? line->text : number, line->meaning);
    }
}

bool epsilon_lines_print(const struct epsilon_lines *lines, bool json)
{
    if (json)
        print_json(lines);
    else
        print_lines(lines);
    return fflush(stdout) == 0 && !ferror(stdout);
}
