/* `tacet student`: reads flags and prints the summary. student_life.c trains the student. */
#include <assert.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/http_out.h"
#include "cli/student_life.h"

struct student_options {
    const char *server, *ca_file, *teacher, *environment;
    uint64_t transitions, questions, seed;
    double lambda, learning_rate;
    bool json;
    struct student_plan plan; /* made of them */
};

#define ROLLOUT      512 /* transitions, as ppo_defaults has them */
#define FLAG_OPTIONS struct student_options

static const struct flag TABLE[] = {
    {"server", AS_ANY_TEXT(server), NULL, "URL", "the service", FLAG_ENVIRONMENT},
    HTTP_OUT_FLAG_CA(ca_file),
    {"teacher", AS_ID(teacher), NULL, "ID", "the teacher to ask; none: learn alone", 0},
    {"environment", AS_ANY_TEXT(environment), NULL, "NAME", "the student's world", FLAG_REQUIRED},
    {"transitions", AS_COUNT(transitions, 1, 1000000000), "100000", "N", "steps to play", 0},
    {"questions", AS_COUNT(questions, 1, ROLLOUT), "32", "N",
     "states to ask about in each roll-out of 512 steps", 0},
    {"lambda", AS_NUMBER(lambda, 0, 1000), "0.5", "X",
     "follow an answer only where it is further away than X times the radius of its noise; 0 takes "
     "noise for advice",
     0},
    {"learning-rate", AS_NUMBER(learning_rate, 1e-9, 1), "0.001", "X",
     "learning rate of Adam at the start; it falls to 0", 0},
    {"seed", AS_COUNT(seed, 0, UINT64_MAX), NULL, "N", "seed of weights and world (drawn)", 0},
    {"json", AS_SWITCH(json), NULL, "", "the summary, with the learning curve, as one JSON object",
     0},
};

static const struct flags FLAGS = {
    .program = "tacet student",
    .usage =
        "usage: tacet student --environment NAME [--server URL --teacher ID] [flags]\n\n"
        "Learns in a world of its own (PPO, two hidden layers of 32) and asks a teacher over HTTP\n"
        "what it would do. Without --teacher it learns alone. The student's token is in "
        "TACET_TOKEN.\n\n",
    FLAG_TABLE(TABLE),
    .notes =
        "A call whose answer did not come is repeated under the same Idempotency-Key, so it is\n"
        "charged once. When no budget pays for answers any more the student goes on alone.\n",
};

static int make_plan(struct student_options *o)
{
    const struct env *env = env_find(o->environment);
    if (!env)
        return cli_complain(&FLAGS, CLI_USAGE,
                            "--environment: \"%s\" is not a world of this program", o->environment);
    if (o->teacher && !o->server)
        return cli_complain(&FLAGS, CLI_USAGE, "--server is missing");
    if (o->teacher && !getenv("TACET_TOKEN"))
        return cli_complain(&FLAGS, CLI_USAGE, "TACET_TOKEN must hold the student's token");
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
    return CLI_GO_ON;
}

/* ---- the summary */

static void student_print_json(const struct student_report *r)
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

static void student_print_text(const struct student_report *r)
{
    double last = r->points > 0 ? r->curve[r->points - 1].mean_return : 0.0;
    printf("%" PRIu64 " roll-outs, mean return %.1f; %" PRIu64
           " states asked for epsilon %.4g at delta %g",
           r->points, last, r->asked, r->at.spent_epsilon, r->at.spent_delta);
    if (r->alone_since > 0)
        printf("; alone since step %" PRIu64 ": %s", r->alone_since, r->refusal);
    putchar('\n');
}

static int run_student(struct student_options *o)
{
    char why[PROBLEM_LINE_SIZE];
    if (o->plan.teacher) {
        const char *problem =
            http_out_open_simple(o->server, getenv("TACET_TOKEN"), o->ca_file, &o->plan.door);
        if (problem)
            return cli_complain(&FLAGS, CLI_USAGE, "--server: %s", problem);
        if (!student_check_teacher(&o->plan, why))
            return cli_complain(&FLAGS, CLI_FAILED, "%s", why);
    }
    struct student_report report;
    student_run(&o->plan, &report);
    if (o->json)
        student_print_json(&report);
    else
        student_print_text(&report);
    int status =
        report.failure[0] == '\0' ? 0 : cli_complain(&FLAGS, CLI_FAILED, "%s", report.failure);
    free(report.curve);
    return status;
}

int cli_student(int argc, char **argv)
{
    struct student_options options = {.json = false};
    struct flags_found found;
    randombytes_buf(&options.seed, sizeof options.seed);
    int status = cli_read_flags(&FLAGS, argc, argv, &options, &found);
    if (status == CLI_GO_ON)
        status = make_plan(&options);
    if (status == CLI_GO_ON)
        status = run_student(&options);
    http_out_close(options.plan.door);
    return status;
}
