/* `tacet student`: flags and summary; the life between them is in student_life.c. */
#include "cli/cli_student.h"

#include <assert.h>
#include <inttypes.h>
#include <sodium.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli_flags.h"
#include "cli/http_out.h"
#include "cli/student_life.h"

struct options {
    const char *server, *teacher, *environment;
    uint64_t transitions, questions, seed;
    double lambda, learning_rate;
    bool json;
    struct student_plan plan; /* made of them */
};

#define ROLLOUT    512 /* transitions, as ppo_defaults has them */
#define AT(MEMBER) offsetof(struct options, MEMBER)

/* clang-format off */
static const struct cli_flag table[] = {
    {"server", CLI_TEXT, AT(server), 0, 0, 0, 0, "URL", "the service (TACET_SERVER)"},
    {"teacher", CLI_ID, AT(teacher), 0, 0, 0, 0, "ID", "whom to ask"},
    {"environment", CLI_TEXT, AT(environment), 0, 0, 0, 0, "NAME", "the student's world"},
    {"transitions", CLI_COUNT, AT(transitions), 1, 1000000000, 0, 0, "N", "steps to play (100000)"},
    {"questions", CLI_COUNT, AT(questions), 1, ROLLOUT, 0, 0, "N", "states to ask about in each roll-out of 512 (32)"},
    {"lambda", CLI_NUMBER, AT(lambda), 0, 0, 0, 1000, "X", "follow an answer only where it is further away than X times the\nradius of its noise (0.5); 0 takes noise for advice"},
    {"learning-rate", CLI_NUMBER, AT(learning_rate), 0, 0, 1e-9, 1, "X", "of Adam at the start; it falls to 0 (0.001)"},
    {"seed", CLI_COUNT, AT(seed), 0, UINT64_MAX, 0, 0, "N", "of weights and world (drawn)"},
    {"json", CLI_SWITCH, AT(json), 0, 0, 0, 0, "", "the summary, with the learning curve, as one JSON object"},
};
/* clang-format on */

static const struct cli_flags flags = {"tacet student", table, sizeof table / sizeof table[0]};

static void help(void)
{
    puts(
        "usage: tacet student --environment NAME [--server URL --teacher ID] [flags]\n\n"
        "Learns in a world of its own (PPO, two hidden layers of 32) and asks a teacher over HTTP\n"
        "what it would do. Without --teacher it learns alone. The student's token is in "
        "TACET_TOKEN.\n");
    cli_flags_help(&flags);
    puts("\nA call whose answer did not come is repeated under the same Idempotency-Key, so it is\n"
         "charged once. When no budget pays for answers any more the student goes on alone.");
}

static int make_plan(struct options *o)
{
    if (!o->environment)
        return cli_complain(&flags, CLI_USAGE, "--environment is missing");
    const struct env *env = env_find(o->environment);
    if (!env)
        return cli_complain(&flags, CLI_USAGE,
                            "--environment: \"%s\" is not a world of this program", o->environment);
    if (o->teacher && !o->server)
        return cli_complain(&flags, CLI_USAGE, "--server is missing");
    if (o->teacher && !getenv("TACET_TOKEN"))
        return cli_complain(&flags, CLI_USAGE, "TACET_TOKEN must hold the student's token");
    struct ppo_settings settings = ppo_defaults();
    assert(settings.worlds * settings.steps == ROLLOUT);
    settings.hidden[0] = settings.hidden[1] = 32;
    settings.normalize_observations = settings.normalize_rewards = true;
    settings.step_limit = env->max_episode_steps;
    o->plan = (struct student_plan){.teacher = o->teacher,
                                    .env = env,
                                    .settings = settings,
                                    .questions = (uint32_t)o->questions,
                                    .lambda = o->lambda,
                                    .transitions = o->transitions,
                                    .learning_rate = o->learning_rate,
                                    .seed = o->seed};
    return 0;
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
    if (o->plan.teacher) {
        const char *problem = http_out_open(&settings, &o->plan.door);
        if (problem)
            return cli_complain(&flags, CLI_USAGE, "--server: %s", problem);
        if (!student_check_teacher(&o->plan, why))
            return cli_complain(&flags, CLI_FAILED, "%s", why);
    }
    struct student_report report;
    student_run(&o->plan, &report);
    if (o->json)
        tell_json(&report);
    else
        tell(&report);
    int status =
        report.failure[0] == '\0' ? 0 : cli_complain(&flags, CLI_FAILED, "%s", report.failure);
    student_report_clear(&report);
    return status;
}

int cli_student(int argc, char **argv)
{
    struct options options = {.server = getenv("TACET_SERVER"),
                              .transitions = 100000,
                              .questions = 32,
                              .lambda = 0.5,
                              .learning_rate = 1e-3};
    bool wants_help = false;
    randombytes_buf(&options.seed, sizeof options.seed);
    int status = cli_flags_read(&flags, argc, argv, &options, &wants_help);
    if (wants_help) {
        help();
        return 0;
    }
    if (status == 0)
        status = make_plan(&options);
    if (status == 0)
        status = live(&options);
    http_out_close(options.plan.door);
    return status;
}
