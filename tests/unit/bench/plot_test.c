/* What plots ask of gnuplot. A program that keeps what it is told stands in its place. */
#include "bench/plot/plot.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The commands for PLOT. */
static const char *commands_of(const struct plot *plot)
{
    static char text[16384];
    char folder[] = "/tmp/plot-XXXXXX", program[64], kept[64], path[8192];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(program, sizeof program, "%s/gnuplot", folder);
    snprintf(kept, sizeof kept, "%s/kept", folder);
    snprintf(path, sizeof path, "%s:%s", folder, getenv("PATH"));
    FILE *file = fopen(program, "w");
    fprintf(file, "#!/bin/sh\nexec cat >%s\n", kept);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(chmod(program, 0700), 0);
    cr_assert_eq(setenv("PATH", path, 1), 0);
    cr_assert(plot_write("unused.svg", plot));
    file = fopen(kept, "r");
    size_t size = fread(text, 1, sizeof text - 1, file);
    text[size] = '\0';
    (void)fclose(file);
    (void)unlink(kept);
    (void)unlink(program);
    (void)rmdir(folder);
    return text;
}

/* The commands for a plot of one line through the COUNT values at Y; NAN: none. */
static const char *commands_for(const double *y, size_t count, bool band)
{
    struct plot_point points[8];
    for (size_t i = 0; i < count; i++)
        points[i] = (struct plot_point){(double)i, y[i], NAN, NAN};
    const struct plot_line line = {.label = "one", .points = points, .count = count, .band = band};
    const struct plot plot = {
        .title = "t", .x_label = "x", .y_label = "y", .lines = &line, .line_count = 1};
    return commands_of(&plot);
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
        cr_expect(strstr(commands, "$alone0 using 1:2 every 1::0 with points"), "%s", commands);
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
    cr_expect(strstr(commands, "$line0 using 1:2 with lines"), "%s", commands);
    cr_expect(strstr(commands, "$alone0 using 1:2 every 1::0 with points"), "%s", commands);
    const char *title = strstr(commands, " title label0");
    cr_assert(title, "%s", commands);
    cr_expect(!strstr(title + 1, " title label0"), "%s", commands);
    commands = commands_for((double[]){1, 2, 3}, 3, false);
    expect_block(commands, "alone0", "");
    cr_expect(!strstr(commands, "$alone0 using"), "%s", commands);
}

Test(plot, what_cannot_be_paid_is_a_cross_and_has_a_name)
{
    const struct plot_point points[] = {{1, 0.5, NAN, NAN}, {2, 0.75, NAN, NAN}};
    const struct plot_line lines[] = {{.label = "one", .points = points, .count = 2},
                                      {.label = "two", .points = points, .count = 2}};
    const struct plot_unpaid unpaid = {.x = 1.5, .line = 1};
    struct plot plot = {.title = "title\nof 5 seeds, it's a caption",
                        .x_label = "x",
                        .y_label = "y",
                        .x_ticks = (const double[]){1, 2},
                        .x_tick_count = 2,
                        .lines = lines,
                        .line_count = 2,
                        .unpaid = &unpaid,
                        .unpaid_count = 1};
    const char *commands = commands_of(&plot);
    cr_expect(strstr(commands, "set label at first 1.5, graph 0.04 point pointtype 2"), "%s",
              commands);
    cr_expect(strstr(commands, "title 'cannot be paid'"), "%s", commands);
    cr_expect(strstr(commands, "'title'.\"\\n\".'of 5 seeds, it''s a caption'"), "%s", commands);
    cr_expect(strstr(commands, "set xtics ('1' 1, '2' 2)"), "%s", commands);
    cr_expect(strstr(commands, "title label1"), "%s", commands);
    struct plot_line none[] = {lines[0], {.label = "no point but the cross"}};
    plot.lines = none;
    commands = commands_of(&plot);
    cr_expect(strstr(commands, "title label1"), "%s", commands);
    plot.unpaid_count = 0;
    commands = commands_of(&plot);
    cr_expect(!strstr(commands, "cannot be paid"), "%s", commands);
    cr_expect(!strstr(commands, "title label1"), "%s", commands);
}

Test(plot, a_panel_has_five_lines_at_most)
{
    const struct plot_point point = {1, 1, NAN, NAN};
    struct plot_line lines[PLOT_LINES + 1];
    for (size_t l = 0; l <= PLOT_LINES; l++)
        lines[l] = (struct plot_line){.label = "line", .points = &point, .count = 1};
    struct plot plot = {
        .title = "t", .x_label = "x", .y_label = "y", .lines = lines, .line_count = PLOT_LINES};
    cr_expect_eq(PLOT_LINES, 5);
    cr_expect(strstr(commands_of(&plot), "title label4"));
    plot.line_count++;
    cr_expect_not(plot_write("unused.svg", &plot));
}

/* The commands for a panel from 0 to 1 with these references and a line from Y to Y. */
static const char *references_of(const double y[2], const struct plot_reference *references,
                                 size_t count)
{
    const struct plot_point points[] = {{0, y[0], NAN, NAN}, {1, y[1], NAN, NAN}};
    const struct plot_line line = {.label = "one", .points = points, .count = 2};
    const struct plot plot = {.title = "t",
                              .x_label = "x",
                              .y_label = "y",
                              .y_high = 1,
                              .x_high = 1,
                              .references = references,
                              .reference_count = count,
                              .lines = &line,
                              .line_count = 1};
    return commands_of(&plot);
}

Test(plot, a_label_stands_where_no_line_is)
{
    const struct plot_reference middle = {0.5, "level"};
    const char *commands = references_of((double[]){0.9, 0.9}, &middle, 1);
    cr_expect(strstr(commands, "set label said at graph 0.97, first 0.5 right offset 0, -0.6"),
              "%s", commands);
    commands = references_of((double[]){0.45, 0.45}, &middle, 1);
    cr_expect(strstr(commands, "graph 0.97, first 0.5 right offset 0, 0.6"), "%s", commands);
}

Test(plot, labels_stay_inside_and_apart)
{
    const struct plot_reference low = {0.02, "random play"};
    const char *commands = references_of((double[]){0.9, 0.9}, &low, 1);
    cr_expect(strstr(commands, "graph 0.97, first 0.02 right offset 0, 0.6"), "%s", commands);
    const struct plot_reference near[] = {{0.5, "first"}, {0.4, "second"}, {0.4, "third"}};
    commands = references_of((double[]){0.9, 0.9}, near, 3);
    cr_expect(strstr(commands, "graph 0.97, first 0.5 right offset 0, -0.6"), "%s", commands);
    cr_expect(strstr(commands, "graph 0.97, first 0.4 right offset 0, -0.6"), "%s", commands);
    cr_expect(strstr(commands, "graph 0.5, first 0.4 center offset 0, -0.6"), "%s", commands);
}

Test(plot, a_panel_has_three_references_at_most)
{
    const struct plot_point point = {1, 1, NAN, NAN};
    const struct plot_line line = {.label = "line", .points = &point, .count = 1};
    const struct plot_reference references[PLOT_REFERENCES + 1] = {
        {1, "a"}, {1, "b"}, {1, "c"}, {1, "d"}};
    struct plot plot = {.title = "t",
                        .x_label = "x",
                        .y_label = "y",
                        .lines = &line,
                        .line_count = 1,
                        .references = references,
                        .reference_count = PLOT_REFERENCES};
    cr_expect(strstr(commands_of(&plot), "boxed front"));
    plot.reference_count++;
    cr_expect_not(plot_write("unused.svg", &plot));
}
