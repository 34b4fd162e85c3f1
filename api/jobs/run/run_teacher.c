/* DESIGN. There is one way to a teacher's answer, and a job takes it too: the route's
 * own handler (teacher_ask.h). What a job adds is the order of things on disk. The states that it
 * asks about are in its checkpoint before anything is charged; debit and answer are then one
 * transaction; and only then does the training go on. A worker that dies between any two of them
 * asks again about the same states under the same key. A worker that has lost its lease cannot
 * store the checkpoint, and so does not ask. */
#include "api/jobs/run/run_teacher.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/online/kickstart_algorithm.h"
#include "api/call/app.h"
#include "api/json/json_text.h"
#include "api/teachers/teacher_ask.h"
#include "api/wire/student_messages.h"
#include "storage/answers/answers.h"

/* Workers in a row that a teacher gives an internal error in the same roll-out. */
#define ASKED_IN_VAIN_MAX 3
#define KEY_SIZE          80

/* ---- what was found */

/* What the request of that name in that roll-out is repeated under. */
static void write_key(const struct job_run *run, const char *what, uint64_t rollout,
                      char out[KEY_SIZE])
{
    snprintf(out, KEY_SIZE, "%s.%llu.%s", run->job.id, (unsigned long long)rollout, what);
}

/* Those that RUN saw, or where it saw none those that are stored. */
static char *findings_of(const struct job_run *run)
{
    size_t size = 0;
    if (run->finding_count == 0)
        return strdup(run->job.findings[0] == '\0' ? "{}" : run->job.findings);
    json_t *object = json_object();
    for (unsigned i = 0; i < run->finding_count; i++)
        json_member_add(&object, run->findings[i].name, json_number(run->findings[i].value));
    char *text = !object ? NULL : json_text_write(object, false, &size);
    json_decref(object);
    return text;
}

static void add_to(json_t **findings, const char *sum, double more)
{
    double before = json_number_value(json_object_get(*findings, sum));
    json_member_add(findings, sum, json_number(before + more));
}

/* Adds the answer in roll-out ROLLOUT to *FINDINGS. DB_NONE: there is none that is stored. */
static enum db_status add_stored(const struct job_run *run, uint64_t rollout, json_t **findings)
{
    const struct algorithm_request *request = &run->plan.request;
    uint32_t count = kickstart_questions(request);
    struct answer_row stored = {0};
    struct student_answer told;
    char key[KEY_SIZE];
    write_key(run, "queries", rollout, key);
    double *answers = calloc((size_t)count * request->action_count, sizeof *answers);
    enum db_status status =
        !answers ? DB_FAILED : answers_find(run->db, run->plan.payer, key, &stored);
    bool good = status == DB_OK && stored.status == 200 &&
                !student_answer_read(stored.body, stored.body_size, count, request->action_count,
                                     answers, &told);
    free(answers);
    answer_done(&stored);
    if (!good)
        return status == DB_OK ? DB_NONE : status;
    add_to(findings, KICKSTART_EPSILON, told.cost_epsilon);
    add_to(findings, KICKSTART_DELTA, told.cost_delta);
    add_to(findings, KICKSTART_ANSWERED_STATES, count);
    json_member_add(findings, KICKSTART_ACCOUNT_EPSILON, json_number(told.spent_epsilon));
    json_member_add(findings, KICKSTART_ACCOUNT_DELTA, json_number(told.spent_delta));
    return !*findings ? DB_FAILED : DB_OK;
}

char *job_teacher_all_findings(const struct job_run *run)
{
    char *text = findings_of(run);
    uint32_t count = kickstart_questions(&run->plan.request);
    if (!text || count == 0) /* a plan of which only the beginning could be read */
        return text;
    json_t *findings = json_text_stored(text);
    uint64_t rollout =
        (uint64_t)json_number_value(json_object_get(findings, KICKSTART_ANSWERED_STATES)) / count;
    enum db_status status = !findings ? DB_FAILED : DB_OK;
    for (; status == DB_OK; rollout++)
        status = add_stored(run, rollout, &findings);
    size_t size = 0;
    free(text);
    text = status == DB_NONE ? json_text_write(findings, false, &size) : NULL;
    json_decref(findings);
    return text;
}

void job_teacher_show(struct job_run *run)
{
    char *text = run->plan.teacher[0] == '\0' || run->finding_count == 0 || db_broken(run->db)
                     ? NULL
                     : findings_of(run);
    if (text)
        (void)jobs_show_findings(run->db, run->job.id, run->control->worker, text);
    free(text);
}

bool job_teacher_spent_of(const char *findings, struct job_teacher_spent *out)
{
    json_t *json = json_text_stored(findings);
    *out = (struct job_teacher_spent){
        json_number_value(json_object_get(json, KICKSTART_EPSILON)),
        json_number_value(json_object_get(json, KICKSTART_DELTA)),
        json_number_value(json_object_get(json, KICKSTART_ACCOUNT_EPSILON)),
        json_number_value(json_object_get(json, KICKSTART_ACCOUNT_DELTA))};
    json_decref(json);
    return true;
}

/* ---- asking */

static bool has_slug(const struct api_reply *reply, const char *slug)
{
    char type[80];
    json_t *json = !reply->body ? NULL : json_loadb(reply->body, reply->body_size, 0, NULL);
    const char *told = json_string_value(json_object_get(json, "type"));
    snprintf(type, sizeof type, "/problems/%s", slug);
    bool same = told && strcmp(told, type) == 0;
    json_decref(json);
    return same;
}

/* What an answer other than 200 means for the student. */
static enum algorithm_status refused(struct job_run *run, const struct api_reply *reply,
                                     struct teacher_told *out)
{
    if (db_broken(run->db)) {
        run->storage_failed = true;
        return ALGORITHM_PAUSED;
    }
    switch (reply->status) {
    case 401: /* the payer was revoked */
    case 403: /* no budget, or it is spent */
    case 404: /* the teacher is not the payer's any more */
        out->silent = true;
        return ALGORITHM_OK;
    case 409: /* held by another job, or the same call is under way */
        out->silent = has_slug(reply, "budget-reserved");
        return out->silent ? ALGORITHM_OK : ALGORITHM_NO_MEMORY;
    case 503: /* many write: later */
    case 507: /* the disk is full */
        return ALGORITHM_NO_MEMORY;
    case 500: /* the database failed, perhaps for a moment; the next worker asks again */
        if (run->job.attempts >= ASKED_IN_VAIN_MAX) {
            out->message = "The teacher failed whenever it was asked, and so did not answer; what "
                           "was paid for before is in the ledger.";
            return ALGORITHM_BAD_INPUT;
        }
        run->storage_failed = true;
        return ALGORITHM_PAUSED;
    default:
        out->message = "The teacher could not be asked as it was planned; what was paid for is in "
                       "the ledger.";
        return ALGORITHM_BAD_INPUT;
    }
}

/* Begins the payer's next roll-out, on which a vanishing teacher's concentration depends. */
static enum algorithm_status begin(struct job_run *run, uint64_t rollout, double *concentration,
                                   struct teacher_told *out)
{
    struct api_reply reply;
    char key[KEY_SIZE];
    write_key(run, "rollouts", rollout, key);
    struct teacher_ask ask = {run->plan.payer, run->plan.teacher, key, run->job.id};
    teacher_begin_rollout(run->app, run->db, &ask, &reply);
    enum algorithm_status status = ALGORITHM_OK;
    if (reply.status != 200) {
        status = refused(run, &reply, out);
    } else {
        json_t *json = json_loadb(reply.body, reply.body_size, 0, NULL);
        const json_t *most = json_object_get(json, "concentration");
        out->silent = json_is_string(json_object_get(json, "at_floor"));
        if (*concentration > 0 && json_is_number(most))
            *concentration = fmin(*concentration, json_number_value(most));
        json_decref(json);
    }
    api_reply_clear(&reply);
    return status;
}

static enum algorithm_status query(struct job_run *run, const struct teacher_question *question,
                                   double concentration, double *out_probabilities,
                                   struct teacher_told *out)
{
    struct api_reply reply;
    struct student_answer answer;
    char key[KEY_SIZE];
    uint32_t actions = run->plan.request.action_count;
    char *body = student_query_write(question->states, question->count, run->plan.request.state_dim,
                                     concentration);
    if (!body)
        return ALGORITHM_NO_MEMORY;
    write_key(run, "queries", question->rollout, key);
    struct teacher_ask ask = {run->plan.payer, run->plan.teacher, key, run->job.id};
    teacher_query(run->app, run->db, &ask, body, &reply);
    free(body);
    enum algorithm_status status = ALGORITHM_OK;
    if (reply.status != 200) {
        status = refused(run, &reply, out);
    } else if (student_answer_read(reply.body, reply.body_size, question->count, actions,
                                   out_probabilities, &answer)) {
        out->message = "The teacher's answer was not one.";
        status = ALGORITHM_BAD_INPUT;
    } else {
        out->radius = answer.radius;
        out->cost_epsilon = answer.cost_epsilon;
        out->cost_delta = answer.cost_delta;
        out->spent_epsilon = answer.spent_epsilon;
        out->spent_delta = answer.spent_delta;
    }
    api_reply_clear(&reply);
    return status;
}

enum algorithm_status job_teacher_ask(void *context, const struct teacher_question *question,
                                      double *out_probabilities, struct teacher_told *out)
{
    struct job_run *run = context;
    double concentration = question->concentration;
    *out = (struct teacher_told){0};
    if (!job_run_keep(run, question->rollout, question->checkpoint, question->checkpoint_size))
        return run->starved ? ALGORITHM_NO_MEMORY : ALGORITHM_PAUSED;
    if (!job_run_goes_on(run))
        return run->cancelled ? ALGORITHM_CANCELLED : ALGORITHM_PAUSED;
    enum algorithm_status status = begin(run, question->rollout, &concentration, out);
    if (status != ALGORITHM_OK || out->silent)
        return status;
    return query(run, question, concentration, out_probabilities, out);
}
