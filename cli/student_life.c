/* A student's life.
 *
 * DESIGN. A question's key is drawn once. http_out repeats the call under that key until an answer
 * comes, so that a lost answer is fetched and not bought again. A 403 for lack of budget is not a
 * failure, nor is an answer that is marked random for the same reason: every budget ends, and the
 * student goes on without the teacher. */
#include "cli/student_life.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/http_out.h"
#include "memory/memory.h"

struct student {
    const struct student_plan *plan;
    struct student_report *report;
    uint64_t transitions; /* before the present roll-out */
};

static void student_fail(struct student_report *report, const char *why)
{
    snprintf(report->failure, sizeof report->failure, "%s", why);
}

bool student_check_teacher(const struct student_plan *plan, char why[PROBLEM_LINE_SIZE])
{
    char path[80];
    struct http_out_answer answer;
    uint32_t dim = 0, actions = 0;
    snprintf(path, sizeof path, "/v2/models/%s", plan->teacher);
    const char *problem = http_out_get(plan->door, path, &answer) == HTTP_OUT_OK
                              ? student_model_read(answer.body, answer.size, &dim, &actions)
                              : answer.problem.text;
    if (!problem && (dim != plan->env->state_dim || actions != plan->env->action_count))
        problem = "the teacher answers states of another world";
    if (problem)
        snprintf(why, PROBLEM_LINE_SIZE, "%s", problem);
    return !problem;
}

/* ---- asking */

/* Notes that the teacher answers no more, and WHY. */
static enum kickstart_reply student_go_alone(struct student *student, const char *why)
{
    struct student_report *report = student->report;
    snprintf(report->refusal, sizeof report->refusal, "%s", why);
    report->alone_since = student->transitions > 0 ? student->transitions : 1;
    return KICKSTART_SILENT;
}

/* Makes one POST to WHAT below the teacher's path, under a fresh key. */
static enum kickstart_reply post_to_teacher(struct student *student, const char *what,
                                            const char *body, struct http_out_answer *answer)
{
    struct student_report *report = student->report;
    char path[96];
    snprintf(path, sizeof path, "/v1/teachers/%s/%s", student->plan->teacher, what);
    enum http_out_status status = http_out_post(student->plan->door, path, body, answer);
    report->repeats += answer->attempts > 1 ? answer->attempts - 1 : 0;
    if (status == HTTP_OUT_OK)
        return KICKSTART_ANSWERED;
    if (answer->http == 403 && (strcmp(answer->problem.slug, "budget-exhausted") == 0 ||
                                strcmp(answer->problem.slug, "no-budget") == 0 ||
                                strcmp(answer->problem.slug, "teacher-silent") == 0))
        return student_go_alone(student, answer->problem.text);
    student_fail(report, answer->problem.text);
    return KICKSTART_BROKEN;
}

static enum kickstart_reply ask_teacher(void *context, float *states, uint32_t count,
                                        double *out_probabilities, double *out_radius)
{
    struct student *student = context;
    const struct env *env = student->plan->env;
    struct http_out_answer answer;
    struct student_answer at;
    enum kickstart_reply reply = post_to_teacher(student, "rollouts", "{}", &answer);
    if (reply != KICKSTART_ANSWERED)
        return reply;
    char *body = student_query_write(states, count, env->state_dim, 0);
    reply = post_to_teacher(student, "queries", body, &answer);
    free(body);
    if (reply != KICKSTART_ANSWERED)
        return reply;
    const char *problem = student_answer_read(answer.body, answer.size, count, env->action_count,
                                              out_probabilities, &at);
    if (problem) {
        student_fail(student->report, problem);
        return KICKSTART_BROKEN;
    }
    if (at.random)
        return student_go_alone(student, "a budget is spent: the teacher answers at random");
    student->report->asked += count;
    student->report->at = at;
    *out_radius = at.radius;
    return KICKSTART_ANSWERED;
}

/* ---- learning */

static void learn_by_ppo(struct student *student, struct ppo *ppo)
{
    const struct student_plan *plan = student->plan;
    struct student_report *out = student->report;
    uint64_t rollout = (uint64_t)plan->settings.worlds * plan->settings.steps;
    uint64_t updates = (plan->transitions + rollout - 1) / rollout;
    out->curve = memory_new(updates, sizeof *out->curve);
    for (uint64_t i = 0; i < updates; i++) {
        struct ppo_report report;
        double rate = plan->learning_rate * (1.0 - (double)i / (double)updates);
        if (!ppo_update(ppo, rate, &report)) {
            if (out->failure[0] == '\0')
                student_fail(out, "the world broke");
            return;
        }
        student->transitions = report.transitions;
        out->curve[out->points++] = (struct student_point){report.transitions, report.mean_return};
    }
}

void student_run(const struct student_plan *plan, struct student_report *out)
{
    struct student student = {.plan = plan, .report = out};
    const struct kickstart_guide guide = {.context = &student,
                                          .questions = plan->questions,
                                          .lambda = plan->lambda,
                                          .ask = ask_teacher};
    double physics[ENV_MAX_PARAMETERS];
    struct rng rng;
    *out = (struct student_report){0};
    env_defaults(plan->env, physics);
    rng_seed(&rng, plan->seed, 0);
    struct ppo *ppo = NULL;
    if (memory_fits(ppo_bytes(&plan->settings, plan->env)))
        ppo = ppo_new(&plan->settings, plan->env, physics, &rng);
    if (!ppo) {
        student_fail(out, "the student's networks do not fit into memory");
        return;
    }
    if (plan->teacher)
        ppo_set_guide(ppo, &guide);
    learn_by_ppo(&student, ppo);
    ppo_free(ppo);
}
