/* tacet replay: reads files of recorded episodes, plays them again in our worlds, and says how far
 * they are apart. A file that cannot be read is one line on standard error and exit code 2; the
 * others are compared all the same. */
#include "cli/cli_replay.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/wire/replay_file.h"
#include "api/wire/replay_json.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

#define FILE_MAX       ((size_t)64 << 20) /* bytes */
#define LINE_MAX_BYTES 1200

struct options {
    bool json, help, given; /* given: --tolerance */
    double tolerance;
    char **files;
    int file_count;
};

/* What all files came to. */
struct tally {
    size_t agree, differ, skipped;
    bool begun; /* an object of JSON has been printed */
};

static void print_help(void)
{
    puts(
        "usage: tacet replay [flags] FILE...\n\n"
        "Plays recorded episodes again and compares every state, reward and flag with the\n"
        "recording. Each step starts from the recorded state before it; the lunar lander's\n"
        "episodes are played from their start. Exit code 0: all agree, 1: one does not, 2: a file\n"
        "cannot be read. FILE is JSON as in tests/golden/environments; - reads standard input.\n\n"
        "  --tolerance X   largest error that agrees, instead of the world's own:");
    unsigned count;
    const struct replay_world *all = replay_all(&count);
    for (unsigned i = 0; i < count; i++)
        printf("                    %-13s %g%s (%s)\n", all[i].env->name, all[i].tolerance,
               all[i].tolerance_at ? " and more in later steps" : "", all[i].error_meaning);
    puts("  --json          print one JSON object\n"
         "  --help          this text");
}

/* One line on standard error, whatever the bytes of names and files are; gives STATUS. */
__attribute__((format(printf, 2, 3))) static int complain(int status, const char *format, ...)
{
    char line[LINE_MAX_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (char *c = line; *c != '\0'; c++)
        *c = iscntrl((unsigned char)*c) ? '?' : *c;
    fprintf(stderr, "tacet replay: %s\n", line);
    return status;
}

/* ---- flags */

static int read_tolerance(const char *text, struct options *out)
{
    char *end = NULL;
    double x = text ? strtod(text, &end) : NAN;
    if (!text || end == text || *end != '\0' || !isfinite(x) || x < 0.0)
        return complain(EXIT_USAGE, "--tolerance: \"%s\" is not a number from 0 on",
                        text ? text : "");
    out->given = true;
    out->tolerance = x;
    return 0;
}

static int read_options(int argc, char **argv, struct options *out)
{
    int status = 0;
    for (int i = 0; i < argc && status == 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            out->help = true;
        else if (strcmp(argv[i], "--json") == 0)
            out->json = true;
        else if (strcmp(argv[i], "--tolerance") == 0)
            status = read_tolerance(argv[++i], out);
        else if (strncmp(argv[i], "--tolerance=", 12) == 0)
            status = read_tolerance(argv[i] + 12, out);
        else if (argv[i][0] == '-' && argv[i][1] != '\0')
            status = complain(EXIT_USAGE, "unknown flag \"%s\" (try --help)", argv[i]);
        else
            out->files[out->file_count++] = argv[i];
    if (status == 0 && !out->help && out->file_count == 0)
        return complain(EXIT_USAGE, "no file is named (try --help)");
    return status;
}

/* ---- files */

/* All of FILE, malloc'ed; NULL after one line. */
static char *read_file(const char *name, size_t *out_size)
{
    bool standard = strcmp(name, "-") == 0;
    FILE *file = standard ? stdin : fopen(name, "rb");
    char *bytes = NULL;
    size_t used = 0, room = 0;
    bool good = file != NULL;
    while (good && !feof(file)) {
        if (used == room) {
            room = room > 0 ? 2 * room : (size_t)1 << 16;
            char *more = room <= 2 * FILE_MAX ? realloc(bytes, room) : NULL;
            good = more != NULL;
            bytes = more ? more : bytes;
            if (!good)
                break;
        }
        used += fread(bytes + used, 1, room - used, file);
        good = !ferror(file);
    }
    if (!file || (!good && ferror(file)))
        complain(EXIT_USAGE, "%s: cannot be read: %s", name, strerror(errno));
    else if (!good || used > FILE_MAX)
        good = complain(0, "%s: larger than 64 MiB, or out of memory", name) != 0;
    if (file && !standard)
        fclose(file);
    *out_size = used;
    if (good)
        return bytes;
    free(bytes);
    return NULL;
}

/* ---- one file */

static bool agrees(const struct replay_result *r)
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
    printf("%s: %s, played from %s, errors up to %g", name, world->env->name,
           world->from_start ? "the start" : "each recorded state",
           tolerance ? *tolerance : world->tolerance);
    if (world->tolerance_at && !tolerance)
        printf(" at first and %g in the end", world->tolerance_at(SIZE_MAX));
    printf(" (%s)\n", world->error_meaning);
    for (size_t i = 0; i < file->count; i++)
        print_case(&file->cases[i], &results[i]);
}

/* Replays every case that is for this world. 0, or after one line the exit code. */
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
        case REPLAY_DONE:
            break;
        case REPLAY_NO_MEMORY:
            return complain(EXIT_FAILED, "out of memory");
        case REPLAY_NO_SUCH_STATE:
            return complain(EXIT_USAGE, "%s: /cases/%zu has a start or a state that is none of %s",
                            name, i, file->world->env->name);
        }
    }
    return compared > 0 ? 0
                        : complain(EXIT_USAGE, "%s: no case is of our %s; the first: %s", name,
                                   file->world->env->name, file->cases[0].reason);
}

/* Prints what came out; false when memory or standard output ends. */
static bool show(const struct options *options, const char *name, const struct replay_file *file,
                 const struct replay_result *results, struct tally *tally)
{
    const double *tolerance = options->given ? &options->tolerance : NULL;
    for (size_t i = 0; i < file->count; i++)
        ++*(file->cases[i].reason[0] != '\0' ? &tally->skipped
            : agrees(&results[i])            ? &tally->agree
                                             : &tally->differ);
    if (!options->json) {
        print_file(name, file, results, tolerance);
        return true;
    }
    char *text = replay_json_of_file(name, file, results, tolerance);
    if (!text)
        return false;
    printf("%s%s", tally->begun ? "," : "{\"files\":[", text);
    tally->begun = true;
    free(text);
    return true;
}

/* 0, or the exit code after one line. */
static int replay_one(const struct options *options, const char *name, struct tally *tally)
{
    char fault[REPLAY_FAULT_SIZE];
    struct replay_file file = {0};
    struct replay_result *results = NULL;
    size_t size = 0;
    char *bytes = read_file(name, &size);
    if (!bytes)
        return EXIT_USAGE;
    int status = 0;
    if (!replay_file_read(bytes, size, &file, fault)) {
        status = complain(EXIT_USAGE, "%s: %s", name, fault);
        goto cleanup;
    }
    results = calloc(file.count, sizeof *results);
    if (!results) {
        status = complain(EXIT_FAILED, "out of memory");
        goto cleanup;
    }
    status = replay_cases(name, &file, options->given ? &options->tolerance : NULL, results);
    if (status == 0 && !show(options, name, &file, results, tally))
        status = complain(EXIT_FAILED, "out of memory");
cleanup:
    free(results);
    replay_file_clear(&file);
    free(bytes);
    return status;
}

/* ---- the command */

static int replay_all_files(const struct options *options)
{
    struct tally tally = {0};
    int status = 0;
    for (int i = 0; i < options->file_count; i++) {
        int one = replay_one(options, options->files[i], &tally);
        status = one > status ? one : status;
    }
    if (options->json)
        printf("%s],\"agree\":%zu,\"differ\":%zu,\"not_compared\":%zu}\n",
               tally.begun ? "" : "{\"files\":[", tally.agree, tally.differ, tally.skipped);
    else if (tally.agree + tally.differ > 0)
        printf("%zu cases agree, %zu differ, %zu not compared\n", tally.agree, tally.differ,
               tally.skipped);
    if (fflush(stdout) != 0 || ferror(stdout))
        return complain(EXIT_FAILED, "cannot write to standard output");
    return status > 0 ? status : tally.differ > 0 ? EXIT_FAILED : 0;
}

int cli_replay(int argc, char **argv)
{
    struct options options = {.files = calloc((size_t)argc + 1, sizeof(char *))};
    if (!options.files)
        return complain(EXIT_FAILED, "out of memory");
    int status = read_options(argc, argv, &options);
    if (status == 0 && options.help)
        print_help();
    else if (status == 0)
        status = replay_all_files(&options);
    free(options.files);
    return status;
}
