/* `tacet experts`: the order of its steps. expert_flags.c reads flags, expert_crew.c makes experts,
 * expert_lines.c their text. The text goes to files (expert_output.c) and to a server
 * (expert_upload.c); expert_state.c records the progress. Standard output carries nothing but
 * trajectories. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/wire/deflate.h"
#include "cli/expert_crew.h"
#include "cli/expert_flags.h"
#include "cli/expert_output.h"
#include "cli/expert_state.h"
#include "cli/expert_upload.h"
#include "cli/progress.h"
#include "cli/returns_file.h"
#include "cli/returns_plot.h"
#include "cli/returns_report.h"
#include "memory/memory.h"

#define RANDOM_EPISODES 400

enum output_file { TRAJECTORIES, POLICIES };

struct run {
    struct expert_options options;
    struct expert_request request;
    char *flags;      /* owned */
    char *state_path; /* owned */
    char name[64];    /* of a dataset that was given none */
    struct expert_state state;
    struct expert_output files[EXPERT_STATE_FILES];
    struct expert_upload upload;
    struct progress progress;
    bool working; /* everything is open */
};

/* ---- the report */

/* Writes the plot to PATH, or the numbers when SORTED is NULL. */
static int write_report(const char *path, const struct returns_report *report, const double *sorted)
{
    size_t length = strlen(path);
    bool json = length > 5 && strcmp(path + length - 5, ".json") == 0;
    FILE *out = fopen(path, "w");
    if (!out)
        return cli_complain(&expert_flags, CLI_FAILED, "cannot write %s: %s", path,
                            strerror(errno));
    if (sorted)
        returns_plot(report, sorted, out);
    else if (json)
        returns_report_json(report, out);
    else
        returns_report_text(report, out);
    bool whole = !ferror(out);
    if (fclose(out) == 0 && whole)
        return 0;
    return cli_complain(&expert_flags, CLI_FAILED, "cannot write %s: %s", path, strerror(errno));
}

/* Reports and plots as the flags say. RETURNS is sorted. */
static int report_on(const struct run *run, double *returns, size_t count)
{
    struct returns_report report;
    const struct expert_request *request = &run->request;
    double random = 0;
    if (!run->options.report && !run->options.plot)
        return 0;
    if (!returns_of_random(request->env, request->max_steps, RANDOM_EPISODES, request->seed,
                           &random))
        return cli_complain(&expert_flags, CLI_FAILED, "the world cannot be played");
    returns_report_make(returns, count, random, &report);
    report.world = request->env->name;
    report.max_steps = request->max_steps;
    const char *path = run->options.report;
    int status = 0;
    if (path && path[0] == '\0')
        returns_report_text(&report, stderr);
    else if (path)
        status = write_report(path, &report, NULL);
    if (status == 0 && run->options.plot)
        status = write_report(run->options.plot, &report, returns);
    return status;
}

static int report_on_file(const struct run *run)
{
    double *returns = NULL;
    size_t count = 0;
    char error[512];
    if (!returns_file_read(run->options.from, run->request.env, &returns, &count, error))
        return cli_complain(&expert_flags, CLI_FAILED, "%s", error);
    int status = report_on(run, returns, count);
    free(returns);
    return status;
}

/* ---- beginning */

/* The path of the state file, which the caller frees. NULL: there is no state file, because the
 * output cannot be resumed. */
static char *find_state_path(const struct run *run)
{
    const struct expert_options *o = &run->options;
    unsigned char hash[8];
    char hex[2 * sizeof hash + 1];
    if (o->state)
        return memory_copy_text(o->state);
    if (o->output && expert_output_is_regular(o->output))
        return memory_format("%s.state", o->output);
    if (o->output || !o->to.url)
        return NULL;
    crypto_generichash(hash, sizeof hash, (const unsigned char *)run->flags, strlen(run->flags),
                       NULL, 0);
    sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
    return memory_format("tacet-experts-%s.state", hex);
}

static void show_waiting(void *context, const char *why, double seconds)
{
    const struct run *run = context;
    progress_clear(&run->progress);
    fprintf(stderr, "tacet experts: %s; trying again in %.1f s\n", why, seconds);
}

static int begin_experts_upload(struct run *run)
{
    const struct expert_options *o = &run->options;
    if (!o->to.url)
        return 0;
    snprintf(run->name, sizeof run->name, "%s-experts", run->request.env->name);
    const struct expert_upload_settings settings = {
        .server = {.base = o->to.url,
                   .token = o->to.token,
                   .ca_file = o->to.ca_file,
                   .patience_s = (unsigned)o->to.patience,
                   .waiting = show_waiting,
                   .context = run},
        .dataset = o->to.dataset,
        .name = o->to.name ? o->to.name : run->name,
        .epsilon = o->to.epsilon,
        .delta = isnan(o->to.delta) ? UPLOAD_DEFAULT_DELTA : o->to.delta,
        .request = &run->request,
    };
    bool complete = run->state.settings == expert_request_settings(&run->request);
    if (!expert_upload_open(&run->upload, &settings))
        return cli_complain(&expert_flags, CLI_USAGE, "--upload: %s", run->upload.to.error);
    if (http_out_in_clear(o->to.url))
        fprintf(stderr, "tacet experts: warning: plain HTTP to another machine: everybody on the "
                        "way can read the token\n");
    if (!expert_upload_begin(&run->upload, run->state.dataset, complete))
        return cli_complain(&expert_flags, CLI_FAILED, "%s", run->upload.to.error);
    if (!expert_state_dataset(&run->state, run->upload.to.dataset))
        return cli_complain(&expert_flags, CLI_FAILED, "%s", run->state.error);
    fprintf(stderr, "tacet experts: uploading to dataset %s%s\n", run->upload.to.dataset,
            run->upload.to.replayed ? ", which an earlier run of this command has made" : "");
    return 0;
}

static int open_files(struct run *run)
{
    const struct expert_options *o = &run->options;
    const char *policies = o->policies;
    if (policies && policies[0] == '\0')
        policies = o->to.url ? NULL : EXPERT_DEFAULT_POLICIES;
    const bool wanted[] = {[TRAJECTORIES] = o->output || !o->to.url, [POLICIES] = policies};
    const char *const paths[] = {[TRAJECTORIES] = o->output, [POLICIES] = policies};
    for (int f = 0; f < EXPERT_STATE_FILES; f++)
        if (wanted[f] && !expert_output_open(&run->files[f], paths[f], run->state.offset[f]))
            return cli_complain(&expert_flags, CLI_FAILED, "%s", run->files[f].error);
    return 0;
}

static int begin_run(struct run *run)
{
    run->flags = expert_flags_line(&run->options);
    run->state_path = find_state_path(run);
    enum expert_state_status status = expert_state_open(&run->state, run->state_path, run->flags);
    if (status != EXPERT_STATE_OK)
        return cli_complain(&expert_flags,
                            status == EXPERT_STATE_OTHER_RUN ? CLI_USAGE : CLI_FAILED, "%s",
                            run->state.error);
    run->request.first_setting = run->state.settings;
    int exit_status = begin_experts_upload(run);
    if (exit_status == 0)
        exit_status = open_files(run);
    run->working = exit_status == 0;
    if (run->working && run->state.settings > 0)
        fprintf(stderr, "tacet experts: going on after %zu of %" PRIu64 " experts\n",
                run->state.experts, run->request.experts);
    return exit_status;
}

/* ---- the work */

/* Writes and sends the experts of one setting. Only then the state counts them as finished. */
static int deliver_setting(struct run *run, const struct expert_text *text)
{
    struct expert_output *lines = &run->files[TRAJECTORIES], *policies = &run->files[POLICIES];
    enum inflate_encoding encoding =
        policies->handle < 0 ? INFLATE_IDENTITY : deflate_of_ending(policies->name);
    if (!expert_output_write(lines, INFLATE_IDENTITY, text->trajectories, text->trajectories_size))
        return cli_complain(&expert_flags, CLI_FAILED, "%s", lines->error);
    if (!expert_output_write(policies, encoding, text->policies, text->policies_size))
        return cli_complain(&expert_flags, CLI_FAILED, "%s", policies->error);
    if (run->options.to.url && !expert_upload_setting(&run->upload, run->state.settings, text)) {
        progress_clear(&run->progress);
        return cli_complain(&expert_flags, CLI_FAILED, "%s", run->upload.to.error);
    }
    const uint64_t sizes[EXPERT_STATE_FILES] = {lines->size, policies->size};
    if (!expert_state_add(&run->state, sizes, text->returns, (size_t)text->experts))
        return cli_complain(&expert_flags, CLI_FAILED, "%s", run->state.error);
    return 0;
}

static int work_through(struct run *run)
{
    struct expert_text text;
    const char *failure = NULL;
    int status = 0;
    struct expert_crew *crew = expert_crew_start(&run->request, (unsigned)run->options.threads);
    if (!crew)
        return cli_complain(&expert_flags, CLI_FAILED, "no thread can be started");
    progress_begin(&run->progress, "experts", run->request.experts, run->state.experts);
    while (status == 0 && expert_crew_take(crew, &text, &failure)) {
        status = deliver_setting(run, &text);
        expert_text_clear(&text);
        progress_show(&run->progress, run->state.experts);
    }
    progress_end(&run->progress, status == 0 && !failure);
    expert_crew_stop(crew);
    return failure ? cli_complain(&expert_flags, CLI_FAILED, "%s", failure) : status;
}

static int finish_run(struct run *run)
{
    for (int f = 0; f < EXPERT_STATE_FILES; f++)
        if (!expert_output_close(&run->files[f]))
            return cli_complain(&expert_flags, CLI_FAILED, "%s", run->files[f].error);
    if (run->options.to.seal) {
        if (!expert_upload_seal(&run->upload))
            return cli_complain(&expert_flags, CLI_FAILED, "%s", run->upload.to.error);
        fprintf(stderr, "tacet experts: dataset %s is sealed\n", run->upload.to.dataset);
    }
    return report_on(run, run->state.returns, run->state.experts);
}

/* A run that failed before it finished a setting leaves no state file; the next run finds the
 * dataset again by its idempotency key. */
static void end_run(struct run *run, int status)
{
    bool begun = run->state.settings > 0;
    for (int f = 0; f < EXPERT_STATE_FILES; f++)
        (void)expert_output_close(&run->files[f]);
    expert_upload_close(&run->upload);
    if (status == 0 || (!begun && run->state.error[0] == '\0'))
        expert_state_finish(&run->state);
    else if (run->state_path && begun && run->working && !run->upload.to.refused)
        fprintf(stderr, "tacet experts: the same command continues from here (%s)\n",
                run->state_path);
    expert_state_close(&run->state);
    free(run->state_path);
    free(run->flags);
}

/* A killed run can be resumed, so Ctrl-C needs nothing but a line that says so. */
static void say_how_to_go_on(int number)
{
    static const char text[] =
        "\ntacet experts: interrupted; the same command continues from here\n";
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    raise(number);
}

static int make_experts(struct run *run)
{
    int status = begin_run(run);
    if (status == 0 && run->state_path) {
        const struct sigaction once = {.sa_handler = say_how_to_go_on,
                                       .sa_flags = (int)SA_RESETHAND | SA_NODEFER};
        sigaction(SIGINT, &once, NULL);
    }
    if (status == 0)
        status = work_through(run);
    if (status == 0)
        status = finish_run(run);
    end_run(run, status);
    return status;
}

int cli_experts(int argc, char **argv)
{
    struct run run = {.state = {.handle = -1}, .files = {{.handle = -1}, {.handle = -1}}};
    int status = expert_flags_read(argc, argv, &run.options);
    if (status == CLI_GO_ON)
        status = expert_flags_request(&run.options, &run.request);
    if (status == CLI_GO_ON) {
        /* A closed pipe is then a failed write, which is reported, and does not kill the process.
         */
        signal(SIGPIPE, SIG_IGN);
        status = run.options.from ? report_on_file(&run) : make_experts(&run);
    }
    sodium_memzero(run.options.to.token, sizeof run.options.to.token);
    return status;
}
