/* How many jobs a dataset's account pays for: docs/results/budgets.md.
 *
 * reproduce_budgets FOLDER [MIXES]   writes FOLDER/budgets.tsv and FOLDER/budgets.svg and prints
 *                                    the tables of the page */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/budgets/paid.h"
#include "bench/cpu_clock.h"
#include "bench/plot/plot.h"

#define SEED  24
#define SIZES 11 /* of a job, in the plot */

/* Jobs of one kind on one account. */
struct kind {
    const char *says;
    uint32_t batch;
    uint64_t steps;
};

static const struct kind kinds[] = {{"one release of everybody", EXPERTS, 1},
                                    {"1,000 steps, sampling rate 0.1", EXPERTS / 10, 1000},
                                    {"1,000 steps, sampling rate 0.01", EXPERTS / 100, 1000}};

#define KINDS (sizeof kinds / sizeof kinds[0])

/* Jobs of KIND that cost (EPSILON, EPSILON / 1e6) each, on an account of (10, 1e-5). */
static bool pay_kind(const struct kind *kind, double epsilon, struct paid *out)
{
    struct budget_job job;
    struct mix mix = {0};
    bool good = job_find(epsilon, epsilon * 1e-6, kind->batch, kind->steps, 0, &job) &&
                mix_of(10, 1e-5, &job, &mix);
    if (good)
        *out = paid_of(&mix);
    mix.kinds = 0; /* the job is freed once */
    mix_clear(&mix);
    job_clear(&job);
    return good;
}

static bool print_example(void)
{
    printf(
        "| jobs at (1, 1e-6) on (10, 1e-5) | adding | Rényi | fixed plan |\n|---|---|---|---|\n");
    for (size_t k = 0; k < KINDS; k++) {
        struct paid paid;
        if (!pay_kind(&kinds[k], 1, &paid))
            return false;
        printf("| %s | %llu | %llu | %llu |\n", kinds[k].says, (unsigned long long)paid.adding,
               (unsigned long long)paid.renyi, (unsigned long long)paid.fixed);
    }
    return true;
}

/* ---- the plot */

static bool draw_plot(const char *path)
{
    static const double ticks[] = {0.33, 0.5, 1, 2, 3.3};
    struct plot_point points[KINDS][3][SIZES];
    struct plot_line lines[KINDS][3];
    struct plot panels[KINDS];
    for (size_t k = 0; k < KINDS; k++) {
        for (int i = 0; i < SIZES; i++) {
            const double epsilon = 10.0 / 30.0 * pow(10.0, (double)i / (SIZES - 1));
            struct paid paid;
            if (!pay_kind(&kinds[k], epsilon, &paid))
                return false;
            const uint64_t counts[3] = {paid.fixed, paid.renyi, paid.adding};
            for (int line = 0; line < 3; line++)
                points[k][line][i] = (struct plot_point){epsilon, (double)counts[line], NAN, NAN};
        }
        static const char *const labels[3] = {"plan fixed in advance", "adding divergences",
                                              "adding epsilons"};
        for (int line = 0; line < 3; line++)
            lines[k][line] = (struct plot_line){.label = labels[line],
                                                .points = points[k][line],
                                                .count = SIZES,
                                                .dashed = line == 0};
        panels[k] = (struct plot){.title = kinds[k].says,
                                  .x_label = "ε of one job",
                                  .y_label = "jobs paid",
                                  .log_x = true,
                                  .log_y = true,
                                  .x_low = 0.3,
                                  .x_high = 3.7,
                                  .x_ticks = ticks,
                                  .x_tick_count = sizeof ticks / sizeof ticks[0],
                                  .lines = lines[k],
                                  .line_count = 3};
    }
    return plot_write_panels(path,
                             "Jobs that an account of ε = 10, δ = 1e-5 pays for\n"
                             "each job has δ = ε / 1e6; nothing here is random",
                             panels, KINDS);
}

/* ---- random mixes */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void write_line(FILE *file, const struct mix *mix, const struct paid *paid)
{
    fprintf(file, "%.3g\t%.2e\t%llu\t%llu\t%llu\t", mix->epsilon, mix->delta,
            (unsigned long long)paid->adding, (unsigned long long)paid->renyi,
            (unsigned long long)paid->fixed);
    for (unsigned k = 0; k < mix->kinds; k++)
        fprintf(file, "%s%.3g %.3g %.3g %llu", k ? ", " : "", mix->job[k].epsilon,
                mix->job[k].sampling_rate, mix->job[k].noise_multiplier,
                (unsigned long long)mix->job[k].steps);
    fprintf(file, "\n");
    fflush(file);
}

/* In RATIO, which it sorts, DONE parts of the fixed plan. */
static void print_ratios(const char *title, double *ratio, unsigned done)
{
    double sum = 0;
    unsigned good = 0;
    for (unsigned i = 0; i < done; i++) {
        sum += ratio[i];
        good += ratio[i] >= 0.85;
    }
    qsort(ratio, done, sizeof *ratio, ascending);
    printf("| %s | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.0f %% |\n", title, sum / done,
           ratio[0], ratio[done / 100], ratio[done / 20], ratio[done / 2], ratio[done - 1],
           100.0 * good / done);
}

static bool run_mixes(FILE *file, unsigned mixes)
{
    struct rng rng;
    double *renyi = calloc(mixes, sizeof *renyi), *adding = calloc(mixes, sizeof *adding);
    double slowest = 0;
    unsigned done = 0;
    rng_seed(&rng, SEED, 0);
    fprintf(file, "epsilon\tdelta\tadding\trenyi\tfixed\tkinds: epsilon, sampling rate, noise, "
                  "steps\n");
    for (unsigned i = 0; renyi && adding && i < mixes; i++) {
        struct mix mix;
        if (mix_draw(&rng, &mix)) {
            const struct paid paid = paid_of(&mix);
            if (paid.fixed > 0) {
                renyi[done] = (double)paid.renyi / (double)paid.fixed;
                adding[done++] = (double)paid.adding / (double)paid.fixed;
            }
            slowest = fmax(slowest, paid.seconds);
            write_line(file, &mix, &paid);
        }
        mix_clear(&mix);
    }
    if (done > 0) {
        printf("\n| part of the fixed plan, %u mixes of seed %d | mean | least | 1 %% | 5 %% | "
               "median | most | at least 0.85 |\n|---|---|---|---|---|---|---|---|\n",
               done, SEED);
        print_ratios("adding epsilons", adding, done);
        print_ratios("adding divergences", renyi, done);
        printf("\nslowest price: %.2f ms of CPU time\n", 1e3 * slowest);
    }
    free(renyi);
    free(adding);
    return done > 0;
}

int main(int argc, char **argv)
{
    const unsigned mixes = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1000;
    char path[2][1024];
    if (argc < 2 || mixes < 1) {
        fprintf(stderr, "reproduce_budgets FOLDER [MIXES]\n");
        return 2;
    }
    snprintf(path[0], sizeof path[0], "%s/budgets.tsv", argv[1]);
    snprintf(path[1], sizeof path[1], "%s/budgets.svg", argv[1]);
    if (!print_example() || !draw_plot(path[1])) {
        fprintf(stderr, "reproduce_budgets: the example or %s failed\n", path[1]);
        return 1;
    }
    fflush(stdout);
    FILE *file = fopen(path[0], "w");
    bool good = file && run_mixes(file, mixes);
    good = file && fclose(file) == 0 && good;
    printf("%.1f minutes of CPU time\n", cpu_seconds() / 60);
    return good ? 0 : 1;
}
