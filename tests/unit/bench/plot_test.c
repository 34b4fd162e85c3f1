/* What plots ask of gnuplot. A program that keeps what it is told stands in its place. */
#include "bench/plot/plot.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The commands for a plot of one line through the COUNT values at Y; NAN: none. */
static const char *commands_for(const double *y, size_t count, bool band)
{
    static char text[8192];
    char folder[] = "/tmp/plot-XXXXXX", program[64], kept[64], path[256];
    struct plot_point points[8];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(program, sizeof program, "%s/gnuplot", folder);
    snprintf(kept, sizeof kept, "%s/kept", folder);
    snprintf(path, sizeof path, "%s:%s", folder, getenv("PATH"));
    FILE *file = fopen(program, "w");
    fprintf(file, "#!/bin/sh\nexec cat >%s\n", kept);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(chmod(program, 0700), 0);
    cr_assert_eq(setenv("PATH", path, 1), 0);
    for (size_t i = 0; i < count; i++)
        points[i] = (struct plot_point){(double)i, y[i], NAN, NAN};
    const struct plot_line line = {.label = "one", .points = points, .count = count, .band = band};
    const struct plot plot = {
        .title = "t", .x_label = "x", .y_label = "y", .lines = &line, .line_count = 1};
    cr_assert(plot_write("unused.svg", &plot));
    file = fopen(kept, "r");
    size_t size = fread(text, 1, sizeof text - 1, file);
    text[size] = '\0';
    (void)fclose(file);
    (void)unlink(kept);
    (void)unlink(program);
    (void)rmdir(folder);
    return text;
}

/* The data block NAME is ROWS. */
static void expect_block(const char *commands, const char *name, const char *rows)
{
    char block[256];
    snprintf(block, sizeof block, "$%s << END\n%sEND\n", name, rows);
    cr_expect(strstr(commands, block), "%s in %s", block, commands);
}

Test(plot, a_point_without_neighbours_is_a_mark_and_no_line)
{
    for (int band = 0; band < 2; band++) {
        const char *commands = commands_for((double[]){1, NAN, 3}, 3, band);
        expect_block(commands, "alone0", "0 1\n2 3\n");
        cr_expect(!strstr(commands, "$line0 using"), "%s", commands);
        cr_expect(strstr(commands, "$alone0 using 1:2 with points"), "%s", commands);
        cr_expect(strstr(commands, "title label0"), "%s", commands);
        commands = commands_for((double[]){5}, 1, band);
        expect_block(commands, "alone0", "0 5\n");
        cr_expect(!strstr(commands, "$line0 using"), "%s", commands);
    }
}

Test(plot, neighbours_are_joined_and_the_label_stands_once)
{
    const char *commands = commands_for((double[]){1, 2, NAN, 4, NAN, 6, 7}, 7, false);
    expect_block(commands, "line0", "0 1\n1 2\n\n\n\n5 6\n6 7\n");
    expect_block(commands, "alone0", "3 4\n");
    cr_expect(strstr(commands, "$line0 using 1:2 with linespoints"), "%s", commands);
    cr_expect(strstr(commands, "$alone0 using 1:2 with points"), "%s", commands);
    const char *title = strstr(commands, " title label0");
    cr_assert(title, "%s", commands);
    cr_expect(!strstr(title + 1, " title label0"), "%s", commands);
    commands = commands_for((double[]){1, 2, 3}, 3, false);
    expect_block(commands, "alone0", "");
    cr_expect(!strstr(commands, "$alone0 using"), "%s", commands);
}
