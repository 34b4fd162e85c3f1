/* tacet replay: reads files of recorded episodes, replays them in our worlds, and reports the
 * differences. A file that cannot be read gives one line on standard error and exit code 2; the
 * other files are still compared. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/wire/replay_file.h"
#include "api/wire/replay_json.h"
#include "cli/cli.h"
#include "memory/memory.h"

#define REPLAY_FILE_MAX ((size_t)64 << 20) /* bytes */

struct replay_options {
    bool json;
    double tolerance; /* below 0: the world's own */
};

#define FLAG_OPTIONS struct replay_options

static const struct flag TABLE[] = {
    {"tolerance", AS_NUMBER(tolerance, 0, FLAG_UNBOUNDED), NULL, "X",
     "the largest difference that counts as equal, instead of the world's own", 0},
    {"json", AS_SWITCH(json), NULL, "", "print one JSON object", 0},
};

static void print_tolerances(FILE *out)
{
    unsigned count;
    const struct replay_world *all = replay_all(&count);
    fputs("The largest differences that count as equal, unless --tolerance says otherwise:\n\n",
          out);
    for (unsigned i = 0; i < count; i++)
        fprintf(out, "  %-13s %g%s (%s)\n", all[i].env->name, all[i].tolerance,
                all[i].tolerance_at ? " and more in later steps" : "", all[i].error_meaning);
    fputs("\n", out);
}

static const struct flags FLAGS = {
    .program = "tacet replay",
    .usage =
        "usage: tacet replay [flags] FILE...\n\n"
        "Plays recorded episodes again and compares every state, reward and flag with the\n"
        "recording. Each step starts from the recorded state before it; the lunar lander's\n"
        "episodes are played from their start. Exit code 0: all agree, 1: one does not, 2: a file\n"
        "cannot be read. FILE is JSON as in tests/golden/environments; - reads standard input.\n\n",
    .more = print_tolerances,
    FLAG_TABLE(TABLE),
    .takes_arguments = true,
};

/* The totals over all files. */
struct replay_tally {
    size_t agree, differ, skipped;
    bool begun; /* an object of JSON has been printed */
};

/* ---- one file */

static bool result_agrees(const struct replay_result *r)
{
    return r->states_agree && r->rewards_agree && r->flags_agree;
}

/* " differ at step 7" */
static void print_part(const char *name, bool good, size_t step)
{
    if (good)
        printf("  %s agree", name);
    else
        printf("  %s DIFFER at step %zu", name, step);
}

static void print_case(const struct replay_file_case *item, const struct replay_result *r)
{
    for (char *c = item->name; *c != '\0'; c++)
        *c = iscntrl((unsigned char)*c) ? '?' : *c;
    if (item->reason[0] != '\0') {
        printf("  %-40s not compared: %s\n", item->name, item->reason);
        return;
    }
    printf("  %-40s %5zu steps  largest error %.2g", item->name, item->recorded.length, r->error);
    if (r->error > 0.0)
        printf(" at step %zu", r->error_step);
    printf("%s", r->states_agree ? "" : ", TOO LARGE");
    print_part("rewards", r->rewards_agree, r->reward_step);
    print_part("flags", r->flags_agree, r->flags_step);
    putchar('\n');
}

static void print_file(const char *name, const struct replay_file *file,
                       const struct replay_result *results, const double *tolerance)
{
    const struct replay_world *world = file->world;
    const char *from = world->from_start ? "the start" : "each recorded state";
    double most = tolerance ? *tolerance : world->tolerance;
    printf("%s: %s, played from %s, errors up to %g", name, world->env->name, from, most);
    if (world->tolerance_at && !tolerance)
        printf(" at first and %g in the end", world->tolerance_at(SIZE_MAX));
    printf(" (%s)\n", world->error_meaning);
    for (size_t i = 0; i < file->count; i++)
        print_case(&file->cases[i], &results[i]);
}

/* NULL: the world's own. */
static const double *chosen_tolerance(const struct replay_options *options)
{
    return options->tolerance >= 0 ? &options->tolerance : NULL;
}

/* Replays every case that is for this world. Returns 0, or the exit code after one line on standard
 * error. */
static int replay_cases(const char *name, const struct replay_file *file, const double *tolerance,
                        struct replay_result *results)
{
    size_t compared = 0;
    for (size_t i = 0; i < file->count; i++) {
        const struct replay_file_case *item = &file->cases[i];
        if (item->reason[0] != '\0')
            continue;
        compared++;
        switch (replay_run(file->world, &item->recorded, tolerance, &results[i])) {
        case REPLAY_DONE: break;

        case REPLAY_NO_SUCH_STATE:
            return cli_complain(&FLAGS, CLI_USAGE,
                                "%s: /cases/%zu has a start or a state that is none of %s", name, i,
                                file->world->env->name);
        }
    }
    if (compared > 0)
        return 0;
    return cli_complain(&FLAGS, CLI_USAGE, "%s: no case is of our %s; the first: %s", name,
                        file->world->env->name, file->cases[0].reason);
}

static void count_results(const struct replay_file *file, const struct replay_result *results,
                          struct replay_tally *tally)
{
    for (size_t i = 0; i < file->count; i++)
        if (file->cases[i].reason[0] != '\0')
            tally->skipped++;
        else if (result_agrees(&results[i]))
            tally->agree++;
        else
            tally->differ++;
}

static int show_results(const struct replay_options *options, const char *name,
                        const struct replay_file *file, const struct replay_result *results,
                        struct replay_tally *tally)
{
    const double *tolerance = chosen_tolerance(options);
    count_results(file, results, tally);
    if (!options->json) {
        print_file(name, file, results, tolerance);
        return 0;
    }
    char *text = replay_json_of_file(name, file, results, tolerance);
    if (!text)
        return cli_complain(&FLAGS, CLI_FAILED, "%s: too large for this machine", name);
    printf("%s%s", tally->begun ? "," : "{\"files\":[", text);
    tally->begun = true;
    free(text);
    return 0;
}

/* Replays one file. Returns 0, or the exit code after one line on standard error. */
static int replay_one_file(const struct replay_options *options, const char *name,
                           struct replay_tally *tally)
{
    char fault[REPLAY_FAULT_SIZE], error[CLI_ERROR_SIZE];
    struct replay_file file = {0};
    struct replay_result *results = NULL;
    size_t size = 0;
    char *bytes = cli_read_file(name, REPLAY_FILE_MAX, &size, error);
    if (!bytes)
        return cli_complain(&FLAGS, CLI_USAGE, "%s", error);
    int status = 0;
    if (!replay_file_read(bytes, size, &file, fault)) {
        status = cli_complain(&FLAGS, CLI_USAGE, "%s: %s", name, fault);
        goto cleanup;
    }
    results = memory_new(file.count, sizeof *results);
    status = replay_cases(name, &file, chosen_tolerance(options), results);
    if (status == 0)
        status = show_results(options, name, &file, results, tally);
cleanup:
    free(results);
    replay_file_clear(&file);
    free(bytes);
    return status;
}

static int replay_all_files(const struct replay_options *options, char **files, int count)
{
    struct replay_tally tally = {0};
    int status = 0;
    for (int i = 0; i < count; i++) {
        int one = replay_one_file(options, files[i], &tally);
        status = one > status ? one : status;
    }
    if (options->json)
        printf("%s],\"agree\":%zu,\"differ\":%zu,\"not_compared\":%zu}\n",
               tally.begun ? "" : "{\"files\":[", tally.agree, tally.differ, tally.skipped);
    else if (tally.agree + tally.differ > 0)
        printf("%zu cases agree, %zu differ, %zu not compared\n", tally.agree, tally.differ,
               tally.skipped);
    if (fflush(stdout) != 0 || ferror(stdout))
        return cli_complain(&FLAGS, CLI_FAILED, "cannot write to standard output");
    if (status == 0 && tally.differ > 0)
        return CLI_FAILED;
    return status;
}

int cli_replay(int argc, char **argv)
{
    struct replay_options options = {.tolerance = -1};
    struct flags_found found;
    int status = cli_read_flags(&FLAGS, argc, argv, &options, &found);
    if (status != CLI_GO_ON)
        return status;
    if (found.arguments == 0)
        return cli_complain(&FLAGS, CLI_USAGE, "no file is named; --help shows how");
    return replay_all_files(&options, argv, found.arguments);
}
