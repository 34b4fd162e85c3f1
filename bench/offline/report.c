/* Means over seeds, beside the published figures. */
#include "bench/offline/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/offline/results.h"

#define METHODS  5
#define EPSILONS 4
#define SIZES    8 /* numbers of experts */

static const char *const methods[METHODS] = {"none", "dpsgd", "selective", "selective_paper",
                                             "consensus"};
static const char *const labels[METHODS] = {"not private", "DP-SGD", "selective DP-SGD",
                                            "selective, published thresholds", "consensus labels"};
static const char *const colors[METHODS] = {"#555555", "#0072b2", "#d55e00", "#cc79a7", "#009e73"};
static const double epsilons[EPSILONS] = {2.5, 5, 7.5, 10};

/* Sharma et al. 2025: best private figure and plain DP-SGD, as fractions of the non-private run,
 * under their own accounting; 0: not stated as a number. */
static const struct {
    const char *world, *algorithm;
    double epsilon, best, dpsgd;
} published[] = {
    {"cartpole", "cql", 10, 1.03, .92},    {"cartpole", "bcq", 10, .99, .67},
    {"cartpole", "bcq", 5, 0, .60},        {"cartpole", "bcq", 2.5, 0, .58},
    {"acrobot", "bcq", 2.5, 0, .95},       {"lunar_lander", "cql", 10, .75, .67},
    {"lunar_lander", "bcq", 10, .57, .54},
};

struct estimate {
    unsigned count; /* seeds */
    unsigned infeasible;
    double mean, deviation; /* of returns over seeds */
    double random, certified, cpu_seconds;
};

/* 97.5 % point of Student's t. */
static double student(unsigned freedom)
{
    static const double t[] = {0,     12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
                               2.306, 2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131};
    return freedom < sizeof t / sizeof t[0] ? t[freedom] : 2.131; /* wider than it need be */
}

static struct estimate estimate_of(const struct results *all, uint32_t experts, const char *world,
                                   const char *algorithm, const char *method, double epsilon)
{
    struct estimate e = {0};
    double squares = 0.0;
    for (size_t i = 0; i < all->count; i++) {
        const struct result *r = &all->all[i];
        if (strcmp(r->world, world) != 0 || strcmp(r->algorithm, algorithm) != 0 ||
            strcmp(r->method, method) != 0 || r->epsilon != epsilon || r->experts != experts ||
            strcmp(r->options, "-") != 0)
            continue;
        if (!r->feasible) {
            e.infeasible++;
            continue;
        }
        double before = e.mean;
        e.count++;
        e.mean += (r->mean_return - e.mean) / e.count;
        squares += (r->mean_return - before) * (r->mean_return - e.mean);
        e.random = r->random_return;
        e.certified = fmax(e.certified, r->certified_epsilon);
        e.cpu_seconds += r->cpu_seconds;
    }
    e.deviation = e.count > 1 ? sqrt(squares / (e.count - 1)) : 0.0;
    return e;
}

/* The quotient of two means and half its interval, by the delta method; NaN with one seed. */
static double fraction_of(const struct estimate *e, const struct estimate *plain, double *half)
{
    double top = e->mean - e->random, bottom = plain->mean - plain->random;
    double quotient = top / bottom;
    unsigned fewer = e->count < plain->count ? e->count : plain->count;
    double a = e->deviation * e->deviation / e->count;
    double b = plain->deviation * plain->deviation / plain->count * quotient * quotient;
    *half = fewer > 1 ? student(fewer - 1) * sqrt(a + b) / fabs(bottom) : NAN;
    return quotient;
}

/* ---- the table */

static void write_cell(FILE *out, const struct estimate *e, const struct estimate *plain)
{
    double half = NAN, quotient;
    if (e->count == 0) {
        fprintf(out, " %s |", e->infeasible > 0 ? "cannot be paid" : "not run");
        return;
    }
    quotient = plain->count > 0 ? fraction_of(e, plain, &half) : NAN;
    if (isnan(quotient))
        fprintf(out, " (%.0f) |", e->mean);
    else if (isnan(half))
        fprintf(out, " %.2f (%.0f), 1 seed |", quotient, e->mean);
    else
        fprintf(out, " %.2f ± %.2f (%.0f) |", quotient, half, e->mean);
}

static void write_published(FILE *out, const char *world, const char *algorithm)
{
    fprintf(out, "| *published, DP-SGD / best* |");
    for (int e = 0; e < EPSILONS; e++) {
        bool found = false;
        for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
            if (strcmp(published[i].world, world) != 0 ||
                strcmp(published[i].algorithm, algorithm) != 0 ||
                published[i].epsilon != epsilons[e])
                continue;
            found = true;
            fprintf(out, " %.2f / ", published[i].dpsgd);
            if (published[i].best > 0)
                fprintf(out, "%.2f |", published[i].best);
            else
                fprintf(out, "– |");
        }
        if (!found)
            fprintf(out, " – |");
    }
    fprintf(out, "\n");
}

static void write_table(FILE *out, const struct results *all, uint32_t experts, const char *world,
                        const char *algorithm)
{
    struct estimate plain = estimate_of(all, experts, world, algorithm, "none", 0);
    double cpu = plain.cpu_seconds;
    fprintf(out, "## %s, %s, %" PRIu32 " experts\n\n", world, algorithm, experts);
    fprintf(out, "Random play %.1f; not private %.1f, %u seed%s.\n\n", plain.random, plain.mean,
            plain.count, plain.count == 1 ? "" : "s");
    fprintf(out, "| | ε = 2.5 | 5 | 7.5 | 10 |\n|---|---|---|---|---|\n");
    for (int m = 1; m < METHODS; m++) {
        struct estimate cells[EPSILONS];
        unsigned known = 0;
        for (int e = 0; e < EPSILONS; e++) {
            cells[e] = estimate_of(all, experts, world, algorithm, methods[m], epsilons[e]);
            known += cells[e].count + cells[e].infeasible;
            cpu += cells[e].cpu_seconds;
        }
        if (known == 0)
            continue;
        fprintf(out, "| %s |", labels[m]);
        for (int e = 0; e < EPSILONS; e++)
            write_cell(out, &cells[e], &plain);
        fprintf(out, "\n");
    }
    write_published(out, world, algorithm);
    fprintf(out, "\n%.0f s of CPU time together.\n\n![%s, %s](offline-%s-%s-%" PRIu32 ".svg)\n\n",
            cpu, world, algorithm, world, algorithm, experts);
}

/* ---- the plot: fraction over epsilon, a line for each method */

enum { WIDTH = 520, HEIGHT = 300, LEFT = 52, RIGHT = 180, TOP = 20, BOTTOM = 40 };

static double at_x(double epsilon)
{
    return LEFT + (epsilon - 2.0) / 8.5 * (WIDTH - LEFT - RIGHT);
}

static double at_y(double fraction)
{
    double bounded = fmin(fmax(fraction, -0.2), 1.4);
    return TOP + (1.4 - bounded) / 1.6 * (HEIGHT - TOP - BOTTOM);
}

static void write_axes(FILE *out)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"11\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            WIDTH, HEIGHT);
    for (int i = 0; i <= 6; i++) {
        double y = at_y(0.2 * i);
        fprintf(out,
                "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.1f</text>\n",
                LEFT, WIDTH - RIGHT, y, y, i == 5 ? "#555555" : "#dddddd", LEFT - 6, y + 4,
                0.2 * i);
    }
    for (int e = 0; e < EPSILONS; e++)
        fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
                at_x(epsilons[e]), HEIGHT - BOTTOM + 16, epsilons[e]);
    fprintf(
        out,
        "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">ε</text>\n"
        "<text x=\"14\" y=\"%d\" transform=\"rotate(-90 14 %d)\" text-anchor=\"middle\">return, "
        "fraction of the non-private</text>\n",
        (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, HEIGHT / 2, HEIGHT / 2);
}

static void write_line(FILE *out, const struct results *all, uint32_t experts, const char *world,
                       const char *algorithm, int method, const struct estimate *plain)
{
    double last_x = 0.0, last_y = 0.0, half;
    bool begun = false;
    for (int i = 0; i < EPSILONS; i++) {
        struct estimate e =
            estimate_of(all, experts, world, algorithm, methods[method], epsilons[i]);
        if (e.count == 0)
            continue;
        double quotient = fraction_of(&e, plain, &half);
        double x = at_x(epsilons[i]) + 3.0 * (method - 2), y = at_y(quotient);
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", x, y,
                colors[method]);
        if (!isnan(half))
            fprintf(out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n",
                    x, x, at_y(quotient - half), at_y(quotient + half), colors[method]);
        if (begun)
            fprintf(out,
                    "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
                    "stroke-width=\"1.5\"/>\n",
                    last_x, x, last_y, y, colors[method]);
        last_x = x;
        last_y = y;
        begun = true;
    }
    if (begun)
        fprintf(out, "<text x=\"%d\" y=\"%d\" fill=\"%s\">%s</text>\n", WIDTH - RIGHT + 8,
                TOP + 20 * method, colors[method], labels[method]);
}

static bool write_plot(const struct results *all, uint32_t experts, const char *world,
                       const char *algorithm, const char *directory)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/offline-%s-%s-%" PRIu32 ".svg", directory, world, algorithm,
             experts);
    struct estimate plain = estimate_of(all, experts, world, algorithm, "none", 0);
    FILE *out = fopen(path, "w");
    if (!out) {
        fprintf(stderr, "%s: cannot be written\n", path);
        return false;
    }
    write_axes(out);
    for (int m = 1; m < METHODS; m++)
        write_line(out, all, experts, world, algorithm, m, &plain);
    fprintf(out, "</svg>\n");
    return fclose(out) == 0;
}

/* Numbers of experts that WORLD has a non-private run of, growing; gives how many. */
static unsigned sizes_of(const struct results *all, const char *world, const char *algorithm,
                         uint32_t sizes[SIZES])
{
    unsigned count = 0;
    uint32_t last = 0;
    while (count < SIZES) {
        uint32_t next = UINT32_MAX;
        for (size_t i = 0; i < all->count; i++) {
            const struct result *r = &all->all[i];
            if (strcmp(r->world, world) == 0 && strcmp(r->algorithm, algorithm) == 0 &&
                strcmp(r->method, "none") == 0 && strcmp(r->options, "-") == 0 &&
                r->experts > last && r->experts < next)
                next = r->experts;
        }
        if (next == UINT32_MAX)
            break;
        sizes[count++] = last = next;
    }
    return count;
}

static bool write_all(FILE *out, const struct results *all, const char *world,
                      const char *algorithm, const char *directory)
{
    uint32_t sizes[SIZES];
    bool good = true;
    unsigned count = sizes_of(all, world, algorithm, sizes);
    for (unsigned i = 0; good && i < count; i++) {
        write_table(out, all, sizes[i], world, algorithm);
        good = write_plot(all, sizes[i], world, algorithm, directory);
    }
    return good;
}

bool report_write(const char *path, const char *directory)
{
    static const char *const worlds[] = {"cartpole", "acrobot", "lunar_lander", "hiv"};
    static const char *const algorithms[] = {"cql", "bcq"};
    struct results all;
    unsigned line;
    char name[4096];
    snprintf(name, sizeof name, "%s/offline-tables.md", directory);
    if (!results_load(path, &all, &line)) {
        fprintf(stderr, "%s: unreadable, or line %u is no result\n", path, line);
        return false;
    }
    FILE *out = fopen(name, "w");
    bool good = out != NULL;
    if (good)
        fprintf(out, "# Tables of the offline reproduction\n\nWritten by `make reproduce-offline` "
                     "from offline.tsv; [offline.md](offline.md) says what the numbers are.\n\n");
    for (int w = 0; good && w < 4; w++) {
        for (int a = 0; good && a < 2; a++)
            good = write_all(out, &all, worlds[w], algorithms[a], directory);
    }
    if (out && fclose(out) != 0)
        good = false;
    if (!good)
        fprintf(stderr, "%s: cannot be written\n", name);
    results_free(&all);
    return good;
}
