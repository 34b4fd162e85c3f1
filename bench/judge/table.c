/* How often the judge's intervals hold the truth, and what it supports.
 *
 *   judge_table WORLD SEED [FIRST STEP]   judges every STEP-th policy from number FIRST on, and
 *                                         writes a line of figures for each
 *   judge_table --report < LINES          the table of docs/results/judge.md */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/offline/judge/verdict.h"
#include "bench/judge/school.h"

#define TEACHERS 300 /* experts of the data that policies are learnt from */
#define JUDGES   120 /* experts of the judge's data */
#define EACH     5   /* trajectories of an expert */

#define WORD     32

struct line {
    char world[WORD], kind[WORD], verdict[WORD];
    unsigned index;
    double truth, experts; /* true values: of the policy, and of who made the data */
    double behaviour, lowest, highest;
    struct judge_interval fitted, sampling, robust, combined;
    double effective, tried;
};

static void print_interval(const struct judge_interval *i)
{
    printf("\t%.3f\t%.3f\t%.3f", i->value, i->low, i->high);
}

static void print_line(const struct line *l)
{
    printf("%s\t%u\t%s\t%s\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f", l->world, l->index, l->kind, l->verdict,
           l->truth, l->experts, l->behaviour, l->lowest, l->highest);
    print_interval(&l->fitted);
    print_interval(&l->sampling);
    print_interval(&l->robust);
    print_interval(&l->combined);
    printf("\t%.2f\t%.4f\n", l->effective, l->tried);
    fflush(stdout);
}

static bool read_interval(const char **at, struct judge_interval *out)
{
    int used = 0;
    if (sscanf(*at, "%lf %lf %lf %n", &out->value, &out->low, &out->high, &used) != 3)
        return false;
    *at += used;
    return true;
}

static bool read_line(const char *text, struct line *l)
{
    int used = 0;
    if (sscanf(text, "%31[^\t]\t%u\t%31[^\t]\t%31[^\t]\t%lf %lf %lf %lf %lf %n", l->world,
               &l->index, l->kind, l->verdict, &l->truth, &l->experts, &l->behaviour, &l->lowest,
               &l->highest, &used) != 9)
        return false;
    text += used;
    return read_interval(&text, &l->fitted) && read_interval(&text, &l->sampling) &&
           read_interval(&text, &l->robust) && read_interval(&text, &l->combined) &&
           sscanf(text, "%lf %lf", &l->effective, &l->tried) == 2;
}

static bool table_measure(const struct env *world, uint64_t seed, unsigned first, unsigned step)
{
    struct dataset *mine = school_log(world, TEACHERS, EACH, 2 * seed + 1);
    struct dataset *judged = school_log(world, JUDGES, EACH, 2 * seed);
    const struct fitted_q_settings settings = fitted_q_defaults();
    const struct judge_pulse nobody = {NULL, NULL};
    struct line l;
    double error;
    bool good = true;
    snprintf(l.world, sizeof l.world, "%s", world->name);
    l.experts = school_truth(world, NULL, 77, &error);
    for (l.index = first; good && l.index < SCHOOL_POLICIES; l.index += step) {
        const char *kind, *message = "";
        struct judge_figures f;
        struct policy *policy = school_policy(world, l.index, mine, judged, seed, &kind);
        snprintf(l.kind, sizeof l.kind, "%s", kind);
        l.truth = school_truth(world, policy, 78, &error);
        good = judge_measure(&settings, policy, judged, SCHOOL_DISCOUNT, 1, &nobody, &f,
                             &message) == ALGORITHM_OK;
        policy_free(policy);
        if (!good) {
            fprintf(stderr, "%s %u: %s\n", world->name, l.index, message);
            break;
        }
        struct judge_verdict v = judge_decide(&f);
        snprintf(l.verdict, sizeof l.verdict, "%s", judge_verdict_name(v.verdict));
        l.behaviour = f.behaviour.value;
        l.lowest = f.lowest;
        l.highest = f.highest;
        l.fitted = f.fitted;
        l.sampling = f.sampling;
        l.robust = f.robust;
        l.combined = (struct judge_interval){(v.low + v.high) / 2, v.low, v.high};
        l.effective = f.effective;
        l.tried = f.tried;
        print_line(&l);
    }
    dataset_free(mine);
    dataset_free(judged);
    return good;
}

/* ---- the report */

struct counts {
    unsigned policies, bad, supported, weak, bad_supported, bad_weak;
    unsigned fitted, sampling, robust, combined; /* intervals that hold the truth */
    double width;
};

static bool interval_holds(const struct judge_interval *i, double truth)
{
    return i->low <= truth && truth <= i->high;
}

static void report_count(const struct line *l, struct counts *c)
{
    bool bad = l->truth < l->experts, supported = strcmp(l->verdict, "supported") == 0;
    bool weak = strcmp(l->verdict, "weak") == 0;
    c->policies++;
    c->bad += bad;
    c->supported += supported;
    c->weak += weak;
    c->bad_supported += bad && supported;
    c->bad_weak += bad && weak;
    c->fitted += interval_holds(&l->fitted, l->truth);
    c->sampling += interval_holds(&l->sampling, l->truth);
    c->robust += interval_holds(&l->robust, l->truth);
    c->combined += interval_holds(&l->combined, l->truth);
    c->width += (l->combined.high - l->combined.low) / (l->highest - l->lowest);
}

static void report_row(const struct line *l)
{
    printf("| %s | %.2f | %.2f to %.2f | %.2f to %.2f | %.2f to %.2f | %.2f to %.2f%s | %.1f | "
           "%.3f | %s |\n",
           l->kind, l->truth, l->fitted.low, l->fitted.high, l->sampling.low, l->sampling.high,
           l->robust.low, l->robust.high, l->combined.low, l->combined.high,
           interval_holds(&l->combined, l->truth) ? "" : " (missed)", l->effective, l->tried,
           l->verdict);
}

static void report_summary(const char *world, const struct counts *c)
{
    printf("| %s | %u | %u | %u | %u | %u | %u | %.0f %% | %u | %u | %u | %u |\n", world,
           c->policies, c->bad, c->combined, c->fitted, c->sampling, c->robust,
           100 * c->width / c->policies, c->supported, c->bad_supported, c->weak, c->bad_weak);
}

/* Prints a row for each policy of the ward, and a summary of each world. */
static int table_report(void)
{
    static const char *const worlds[] = {"ward", "fund", "factory"};
    struct counts counts[3] = {{0}};
    char text[1024];
    struct line l;
    printf("| policy | true value | fitted Q | importance sampling | doubly robust | combined | "
           "effective sample | tried | verdict |\n|---|---|---|---|---|---|---|---|---|\n");
    while (fgets(text, sizeof text, stdin)) {
        if (!read_line(text, &l)) {
            fprintf(stderr, "not a line of figures: %s", text);
            return 1;
        }
        for (unsigned w = 0; w < 3; w++)
            if (strcmp(l.world, worlds[w]) == 0)
                report_count(&l, &counts[w]);
        if (strcmp(l.world, worlds[0]) == 0)
            report_row(&l);
    }
    printf(
        "\n| world | policies | bad | combined holds the truth | fitted Q does | importance "
        "sampling | doubly robust | mean width of combined, of the logged range | supported | of "
        "them bad | weak | of them bad |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (unsigned w = 0; w < 3; w++)
        if (counts[w].policies > 0)
            report_summary(worlds[w], &counts[w]);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--report") == 0)
        return table_report();
    const struct env *world = argc == 3 || argc == 5 ? env_find(argv[1]) : NULL;
    if (!world) {
        fprintf(stderr, "judge_table WORLD SEED [FIRST STEP] | --report\n");
        return 2;
    }
    unsigned first = argc == 5 ? (unsigned)atoi(argv[3]) : 0;
    unsigned step = argc == 5 && atoi(argv[4]) > 0 ? (unsigned)atoi(argv[4]) : 1;
    return !table_measure(world, strtoull(argv[2], NULL, 10), first, step);
}
