/* `tacet import`: the order of its steps. The file is read twice: first all of it is checked, then,
 * when nothing is wrong, it is written or sent. import_source.c finds the kind of the file,
 * import_report.c says what was understood, import_send.c sends. */
#include "cli/import/cli_import.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/import/import_flags.h"
#include "cli/import/import_report.h"
#include "cli/import/import_send.h"
#include "memory/memory.h"

#define DESCRIPTION_BYTES_MAX ((size_t)1 << 20)
#define FAULTS_SHOWN          100
#define FAULT_KINDS_MAX       32
#define FAULTS_OF_KIND_SHOWN  5
#define DEFAULT_MAX_STEPS     1000000
#define HDF5_PROGRAM          "tacet-import-hdf5"

/* Faults of one column with the same words. */
struct fault_kind {
    char column[300], detail[400];
    uint64_t count;
};

struct import_run {
    struct import_options options;
    const struct import_kind *more;
    char *text; /* owned: of the description */
    struct description *description;
    struct table_tally tally;
    struct import_source source;
    struct import_summary summary;
    struct fault_kind kinds[FAULT_KINDS_MAX];
    unsigned kind_count;
    uint64_t hidden; /* faults of a kind that was shown often enough */
    crypto_generichash_state state;
    unsigned char digest[IMPORT_DIGEST_SIZE]; /* of all trajectories */
};

/* ---- the description */

static int import_description(struct import_run *run)
{
    char error[CLI_ERROR_SIZE];
    struct json_fault fault;
    size_t size;
    const char *path = run->options.description;
    run->text = cli_read_file(path, DESCRIPTION_BYTES_MAX, &size, error);
    if (!run->text)
        return cli_complain(&import_flags, CLI_FAILED, "%s", error);
    run->description = run->options.to.dataset ? description_parse(run->text, &fault)
                                               : description_parse_new(run->text, &fault);
    if (!run->description)
        return cli_complain(&import_flags, CLI_FAILED, "%s: %s %s", path, fault.pointer,
                            fault.detail);
    run->tally = table_tally_new(run->description);
    return 0;
}

/* ---- reading the file */

/* Writes POINTER, "/COLUMN" with RFC 6901's escapes or a plain text, as it was before. */
static void column_name(const char *pointer, char *out, size_t size)
{
    size_t used = 0;
    for (const char *c = pointer + (*pointer == '/'); *c != '\0' && used + 1 < size; c++) {
        bool escaped = *c == '~' && (c[1] == '0' || c[1] == '1');
        c += escaped;
        out[used++] = *c;
        if (escaped)
            out[used - 1] = *c == '0' ? '~' : '/';
    }
    out[used] = '\0';
}

/* Counts a fault of COLUMN. True: enough of its kind were shown. */
static bool hides_fault(struct import_run *run, const char *column, const char *detail)
{
    struct fault_kind *kind = run->kinds, *end = run->kinds + run->kind_count;
    while (kind < end && (strcmp(kind->column, column) != 0 || strcmp(kind->detail, detail) != 0))
        kind++;
    if (kind == end &&
        (run->kind_count == FAULT_KINDS_MAX || strlen(detail) >= sizeof kind->detail))
        return false;
    if (kind == end) {
        run->kind_count++;
        strcpy(kind->column, column);
        strcpy(kind->detail, detail);
    }
    bool hidden = ++kind->count > FAULTS_OF_KIND_SHOWN;
    run->hidden += hidden;
    return hidden;
}

/* Prints a fault as "FILE: line 3, lactate: must be a number". */
static void show_fault(void *context, uint64_t place, const char *pointer, const char *detail)
{
    struct import_run *run = context;
    char column[300];
    run->summary.faults++;
    column_name(pointer, column, sizeof column);
    if (hides_fault(run, column, detail) || run->summary.faults - run->hidden > FAULTS_SHOWN)
        return;
    cli_complain(&import_flags, 0, "%s: %s %" PRIu64 "%s%s: %s", run->options.path,
                 run->source.kind->place, place, column[0] != '\0' ? ", " : "", column, detail);
}

static int open_source(struct import_run *run, bool counting)
{
    const struct import_options *o = &run->options;
    struct import_request request = {.path = o->path,
                                     .description = run->description,
                                     .max_steps = o->max_steps > 0 ? (uint32_t)o->max_steps
                                                                   : DEFAULT_MAX_STEPS,
                                     .last_state = o->last_state,
                                     .faults = {run, show_fault},
                                     .tally = counting ? &run->tally : NULL};
    if (o->experts_by)
        request.experts = IMPORT_EXPERTS_BY_KEY;
    else if (o->expert_per_episode || o->episodes_per_expert > 0)
        request.experts = IMPORT_EXPERTS_OF_EPISODES;
    request.experts_key = o->experts_by;
    request.ends_by = o->ends_by;
    request.episodes_per_expert = o->episodes_per_expert > 0 ? o->episodes_per_expert : 1;
    if (import_source_open(&run->source, &request, run->more))
        return 0;
    return cli_complain(&import_flags, CLI_FAILED, "%s", run->source.error);
}

/* Hashes a trajectory, so that other data get other keys. */
static void digest_add(struct import_run *run, const struct trajectory *t, const char *expert)
{
    const uint32_t head[] = {t->length, t->terminated, (uint32_t)strlen(expert)};
    size_t states = ((size_t)t->length + 1) * run->description->dim * sizeof(float);
    crypto_generichash_state *state = &run->state;
    crypto_generichash_update(state, (const unsigned char *)head, sizeof head);
    crypto_generichash_update(state, (const unsigned char *)expert, strlen(expert));
    crypto_generichash_update(state, (const unsigned char *)t->states, states);
    crypto_generichash_update(state, (const unsigned char *)t->actions,
                              t->length * sizeof *t->actions);
    crypto_generichash_update(state, (const unsigned char *)t->rewards,
                              t->length * sizeof *t->rewards);
}

/* Checks all of the file. 0 when nothing is wrong. */
static int check_all(struct import_run *run)
{
    struct import_summary *summary = &run->summary;
    struct trajectory trajectory;
    const char *expert;
    crypto_generichash_init(&run->state, NULL, 0, sizeof run->digest);
    for (;;) {
        switch (import_source_next(&run->source, &trajectory, &expert)) {
        case JSON_STREAM_TRAJECTORY:
            if (!import_summary_add(summary, &trajectory, expert))
                return cli_complain(&import_flags, CLI_FAILED, "%s: too many experts",
                                    run->options.path);
            digest_add(run, &trajectory, expert);
            break;
        case JSON_STREAM_FAULTY: break;
        case JSON_STREAM_GONE:
            return cli_complain(&import_flags, CLI_FAILED, "%s", run->source.error);
        case JSON_STREAM_END:
            crypto_generichash_final(&run->state, run->digest, sizeof run->digest);
            return 0;
        }
    }
}

/* Says how many faults there were beyond those shown. */
static int check_outcome(const struct import_run *run)
{
    const struct import_summary *summary = &run->summary;
    const char *path = run->options.path;
    for (const struct fault_kind *kind = run->kinds; kind < run->kinds + run->kind_count; kind++)
        if (kind->count > FAULTS_OF_KIND_SHOWN)
            cli_complain(&import_flags, 0, "%s: %" PRIu64 " more %ss%s%s: %s", path,
                         kind->count - FAULTS_OF_KIND_SHOWN, run->source.kind->place,
                         kind->column[0] != '\0' ? ", " : "", kind->column, kind->detail);
    if (summary->faults - run->hidden > FAULTS_SHOWN)
        cli_complain(&import_flags, 0, "%s: and %" PRIu64 " more", path,
                     summary->faults - run->hidden - FAULTS_SHOWN);
    if (summary->faults > 0)
        return cli_complain(&import_flags, CLI_FAILED,
                            "%s: %" PRIu64 " fault%s; nothing was written or sent", path,
                            summary->faults, summary->faults == 1 ? "" : "s");
    if (summary->episodes == 0)
        return cli_complain(&import_flags, CLI_FAILED, "%s: there is no episode in it", path);
    return 0;
}

/* ---- writing */

static int send_all(struct import_run *run, struct import_send *send)
{
    struct trajectory trajectory;
    const char *expert;
    for (;;) {
        switch (import_source_next(&run->source, &trajectory, &expert)) {
        case JSON_STREAM_TRAJECTORY:
            if (import_send_add(send, &trajectory, expert))
                break;
            return cli_complain(&import_flags, CLI_FAILED, "%s", send->error);
        case JSON_STREAM_FAULTY:
            return cli_complain(&import_flags, CLI_FAILED, "%s changed while it was read",
                                run->options.path);
        case JSON_STREAM_GONE:
            return cli_complain(&import_flags, CLI_FAILED, "%s", run->source.error);
        case JSON_STREAM_END:
            if (import_send_finish(send))
                return 0;
            return cli_complain(&import_flags, CLI_FAILED, "%s", send->error);
        }
    }
}

/* Says what has arrived, and where: the id alone for a script that goes on. */
static void say_sent(const struct import_run *run, const struct import_send *send)
{
    const struct import_summary *summary = &run->summary;
    fprintf(stderr,
            "tacet import: sent %s to dataset %s: %" PRIu64 " episodes of %" PRIu32
            " experts, %" PRIu64 " actions\n",
            run->options.path, send->upload.dataset, summary->episodes,
            expert_names_count(summary->experts), summary->steps);
    printf("%s\n", send->upload.dataset);
}

/* Reads the file once more, and sends it. */
static int send_file(struct import_run *run)
{
    struct import_send send;
    int status = open_source(run, false);
    if (status != 0)
        return status;
    if (import_send_open(&send, &run->options, run->description, run->text, run->digest,
                         run->summary.longest))
        status = send_all(run, &send);
    else
        status = cli_complain(&import_flags, CLI_FAILED, "%s", send.error);
    if (status == 0 && run->options.to.url)
        say_sent(run, &send);
    import_send_close(&send);
    return status;
}

/* Warns of what is said of a new dataset. */
static void warn_of_new(const struct import_run *run, FILE *out)
{
    const struct import_options *o = &run->options;
    double delta = isnan(o->to.delta) ? UPLOAD_DEFAULT_DELTA : o->to.delta;
    if (o->to.url && !o->to.dataset)
        import_report_new(out, &run->summary, delta, o->nominal_experts);
}

static int import_file(struct import_run *run)
{
    int status = import_description(run);
    if (status == 0)
        status = open_source(run, true);
    if (status == 0)
        status = check_all(run);
    if (status == 0 && run->options.dry_run) {
        if (run->summary.faults == 0)
            warn_of_new(run, stdout);
        import_report(stdout, &run->source, &run->summary);
        status = fflush(stdout) == 0 ? 0 : CLI_FAILED;
    }
    if (status == 0)
        status = check_outcome(run);
    if (status == 0 && !run->options.dry_run) {
        warn_of_new(run, stderr);
        import_report_numbers(stderr, &run->source);
        import_report_names(stderr, &run->source, run->options.to.dataset);
    }
    import_source_close(&run->source);
    if (status == 0 && !run->options.dry_run)
        status = send_file(run);
    import_source_close(&run->source);
    return status;
}

int import_with(int argc, char **argv, const struct import_kind *more)
{
    struct import_run run = {.more = more};
    int status = import_flags_read(argc, argv, &run.options);
    if (status == CLI_GO_ON) {
        signal(SIGPIPE, SIG_IGN); /* a closed pipe is then a failed write, which is reported */
        run.summary = import_summary_new();
        status = import_file(&run);
        import_summary_free(&run.summary);
        table_tally_free(&run.tally);
        description_free(run.description);
        free(run.text);
    }
    sodium_memzero(run.options.to.token, sizeof run.options.to.token);
    return status;
}

/* ---- HDF5 */

/* The first argument that is a file of HDF5, or NULL. */
static const char *find_hdf5(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (argv[i][0] != '-' && import_is_hdf5(argv[i]))
            return argv[i];
    return NULL;
}

/* Goes on as the program that reads HDF5, which stands beside this one. Returns when it is not
 * there. */
static void become_hdf5_program(int argc, char **argv)
{
    char path[4096];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - sizeof HDF5_PROGRAM - 1);
    if (size <= 0)
        return;
    path[size] = '\0';
    char *slash = strrchr(path, '/');
    strcpy(slash ? slash + 1 : path, HDF5_PROGRAM);
    char **words = memory_new((size_t)argc + 2, sizeof *words);
    words[0] = path;
    memcpy(words + 1, argv, (size_t)argc * sizeof *words);
    execv(path, words);
    free(words);
}

int cli_import(int argc, char **argv)
{
    if (find_hdf5(argc, argv))
        become_hdf5_program(argc, argv);
    return import_with(argc, argv, NULL);
}
