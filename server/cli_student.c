/* `tacet student`: flags and summary; the life between them is in student_life.c. */
#include "server/cli_student.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/http_out.h"
#include "server/student_life.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

static const char HELP[] =
    "usage: tacet student --environment NAME [--server URL --teacher ID] [flags]\n\n"
    "Learns in a world of its own (PPO, two hidden layers of 32) and asks a teacher over HTTP "
    "what\n"
    "it would do. Without --teacher it learns alone. The student's token is in TACET_TOKEN.\n\n"
    "  --server URL       the service                                       TACET_SERVER\n"
    "  --teacher ID       whom to ask\n"
    "  --environment NAME the student's world\n"
    "  --transitions N    steps to play (100000)\n"
    "  --questions N      states to ask about in each roll-out of 512 (32)\n"
    "  --lambda X         follow an answer only where it is further away than X times the radius "
    "of\n"
    "                     its noise (0.5); 0 takes noise for advice\n"
    "  --learning-rate X  of Adam at the start; it falls to 0 (0.001)\n"
    "  --seed N           of weights and world (drawn)\n"
    "  --json             the summary, with the learning curve, as one JSON object\n\n"
    "A call whose answer did not come is repeated under the same Idempotency-Key, so it is "
    "charged\n"
    "once. When no budget pays for answers any more the student goes on alone.\n";

struct options {
    const char *server, *environment;
    struct student_plan plan;
    uint64_t questions;
    bool json, help;
};

__attribute__((format(printf, 2, 3))) static int complain(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("tacet student: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return status;
}

/* ---- flags */

static int read_count(const char *flag, const char *text, uint64_t least, uint64_t most,
                      uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    unsigned long long x = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || x < least || x > most)
        return complain(EXIT_USAGE, "%s: \"%s\" is not an integer from %" PRIu64 " to %" PRIu64,
                        flag, text, least, most);
    *out = x;
    return 0;
}

static int read_number(const char *flag, const char *text, double least, double most, double *out)
{
    char *end = NULL;
    double x = strtod(text, &end);
    if (end == text || *end != '\0' || !(x >= least && x <= most))
        return complain(EXIT_USAGE, "%s: \"%s\" is not a number from %g to %g", flag, text, least,
                        most);
    *out = x;
    return 0;
}

static int read_value(const char *flag, const char *text, struct options *o)
{
    struct student_plan *plan = &o->plan;
    uint64_t rollout = (uint64_t)plan->settings.worlds * plan->settings.steps;
    if (strcmp(flag, "--server") == 0)
        o->server = text;
    else if (strcmp(flag, "--teacher") == 0)
        plan->teacher = text;
    else if (strcmp(flag, "--environment") == 0)
        o->environment = text;
    else if (strcmp(flag, "--transitions") == 0)
        return read_count(flag, text, 1, 1000000000, &plan->transitions);
    else if (strcmp(flag, "--questions") == 0)
        return read_count(flag, text, 1, rollout, &o->questions);
    else if (strcmp(flag, "--lambda") == 0)
        return read_number(flag, text, 0, 1000, &plan->lambda);
    else if (strcmp(flag, "--learning-rate") == 0)
        return read_number(flag, text, 1e-9, 1, &plan->learning_rate);
    else if (strcmp(flag, "--seed") == 0)
        return read_count(flag, text, 0, UINT64_MAX, &plan->seed);
    else
        return complain(EXIT_USAGE, "%s: no such flag; --help lists them", flag);
    return 0;
}

static int check_options(struct options *o)
{
    const char *teacher = o->plan.teacher;
    o->plan.questions = (uint32_t)o->questions;
    o->plan.env = o->environment == NULL ? NULL : env_find(o->environment);
    if (o->plan.env == NULL)
        return complain(EXIT_USAGE, "--environment: \"%s\" is not a world of this program",
                        o->environment == NULL ? "" : o->environment);
    o->plan.settings.step_limit = o->plan.env->max_episode_steps;
    if (teacher != NULL &&
        (strlen(teacher) > 40 ||
         strspn(teacher, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(teacher)))
        return complain(EXIT_USAGE, "--teacher: \"%s\" is no id", teacher);
    if (teacher != NULL && o->server == NULL)
        return complain(EXIT_USAGE, "--server is missing");
    if (teacher != NULL && getenv("TACET_TOKEN") == NULL)
        return complain(EXIT_USAGE, "TACET_TOKEN must hold the student's token");
    return 0;
}

static int read_flags(int argc, char **argv, struct options *o)
{
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            o->help = true;
            return 0;
        }
        if (strcmp(argv[i], "--json") == 0) {
            o->json = true;
            continue;
        }
        if (i + 1 >= argc)
            return complain(EXIT_USAGE, "%s: no such flag, or its value is missing", argv[i]);
        int status = read_value(argv[i], argv[i + 1], o);
        if (status != 0)
            return status;
        i++;
    }
    return check_options(o);
}

/* ---- the summary */

static void tell_json(const struct student_report *r)
{
    printf("{\"states_asked\":%" PRIu64 ",\"repeats\":%" PRIu64
           ",\"spent\":{\"epsilon\":%.17g,\"delta\":%.17g},\"alone_since\":",
           r->asked, r->repeats, r->at.spent_epsilon, r->at.spent_delta);
    if (r->alone_since > 0)
        printf("%" PRIu64, r->alone_since);
    else
        fputs("null", stdout);
    fputs(",\"curve\":[", stdout);
    for (uint64_t i = 0; i < r->points; i++)
        printf("%s{\"transitions\":%" PRIu64 ",\"mean_return\":%.17g}", i > 0 ? "," : "",
               r->curve[i].transitions, r->curve[i].mean_return);
    puts("]}");
}

static void tell(const struct student_report *r)
{
    double last = r->points > 0 ? r->curve[r->points - 1].mean_return : 0.0;
    printf("%" PRIu64 " roll-outs, mean return %.1f; %" PRIu64
           " states asked for epsilon %.4g at delta %g",
           r->points, last, r->asked, r->at.spent_epsilon, r->at.spent_delta);
    if (r->alone_since > 0)
        printf("; alone since step %" PRIu64 ": %s", r->alone_since, r->refusal);
    putchar('\n');
}

static int live(struct options *o)
{
    char why[PROBLEM_LINE_SIZE];
    const struct http_out_settings settings = {
        .base = o->server, .token = getenv("TACET_TOKEN"), .patience_s = HTTP_OUT_PATIENCE_S};
    if (o->plan.teacher != NULL) {
        const char *problem = http_out_open(&settings, &o->plan.door);
        if (problem != NULL)
            return complain(EXIT_USAGE, "--server: %s", problem);
        if (!student_check_teacher(&o->plan, why))
            return complain(EXIT_FAILED, "%s", why);
    }
    struct student_report report;
    student_run(&o->plan, &report);
    if (o->json)
        tell_json(&report);
    else
        tell(&report);
    int status = report.failure[0] == '\0' ? 0 : complain(EXIT_FAILED, "%s", report.failure);
    student_report_clear(&report);
    return status;
}

int cli_student(int argc, char **argv)
{
    struct options options = {.server = getenv("TACET_SERVER"),
                              .questions = 32,
                              .plan = {.settings = ppo_defaults(),
                                       .transitions = 100000,
                                       .lambda = 0.5,
                                       .learning_rate = 1e-3}};
    struct ppo_settings *settings = &options.plan.settings;
    settings->hidden[0] = settings->hidden[1] = 32;
    settings->normalize_observations = settings->normalize_rewards = true;
    randombytes_buf(&options.plan.seed, sizeof options.plan.seed);
    int status = read_flags(argc, argv, &options);
    if (options.help) {
        fputs(HELP, stdout);
        return 0;
    }
    if (status == 0)
        status = live(&options);
    http_out_close(options.plan.door);
    return status;
}
