/* Jobs that ask a teacher while they learn (kickstart). A steward may let a job ask a teacher of
 * its own, at its own standing there or at that of a client whose budget it grants and may take
 * away anyway.
 *
 * DESIGN. A job asks through the route's own handler (teacher_ask.h), with the job's id and the
 * roll-out's number as idempotency key. An answer that was paid for is thus repeated, never drawn
 * again. A job also fixes an order of writes. First its checkpoint stores the states of the
 * question; then one transaction stores debit and answer; then the training goes on. A worker that
 * dies between two of these steps asks again about the same states under the same key. A worker
 * that has lost its lease cannot store the checkpoint, and so does not ask. */
#include "api/jobs/run/job_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/online/kickstart_algorithm.h"
#include "api/call/app.h"
#include "api/json/json_text.h"
#include "api/teachers/teacher_ask.h"
#include "api/wire/student_messages.h"
#include "memory/memory.h"
#include "storage/answers/answers.h"

/* Workers in a row to which a teacher may give an internal error in the same roll-out. */
#define ASKED_IN_VAIN_MAX 3
#define KEY_SIZE          80

/* ---- what was found */

/* Writes the idempotency key of the request WHAT in that roll-out. */
static void write_key(const struct job_run *run, const char *what, uint64_t rollout,
                      char out[KEY_SIZE])
{
    snprintf(out, KEY_SIZE, "%s.%llu.%s", run->job.id, (unsigned long long)rollout, what);
}

/* The findings that RUN saw; when it saw none, the stored ones. */
static json_t *findings_of(const struct job_run *run)
{
    if (run->finding_count == 0 && run->job.findings[0] != '\0')
        return json_text_stored(run->job.findings);
    return job_findings_json(run);
}

static void add_to(json_t *findings, const char *sum, double more)
{
    double before = json_number_value(json_object_get(findings, sum));
    json_object_set_new(findings, sum, json_number(before + more));
}

/* Adds the stored answer of roll-out ROLLOUT to FINDINGS. DB_NONE: no answer is stored, or none of
 * the teacher's: a random one. */
static enum db_status add_stored(const struct job_run *run, uint64_t rollout, json_t *findings)
{
    const struct algorithm_request *request = &run->plan.request;
    uint32_t count = kickstart_questions(request);
    struct answer_row stored = {0};
    struct student_answer told;
    char key[KEY_SIZE];
    write_key(run, "queries", rollout, key);
    double *answers = memory_new((size_t)count * request->action_count, sizeof *answers);
    enum db_status status = answers_find(run->db, run->plan.payer, key, &stored);
    bool good = status == DB_OK && stored.status == 200 &&
                !student_answer_read(stored.body, stored.body_size, count, request->action_count,
                                     answers, &told) &&
                !told.random;
    free(answers);
    answer_done(&stored);
    if (status == DB_OK && !good)
        return DB_NONE;
    if (status != DB_OK)
        return status;
    add_to(findings, KICKSTART_EPSILON, told.cost_epsilon);
    add_to(findings, KICKSTART_DELTA, told.cost_delta);
    add_to(findings, KICKSTART_ANSWERED_STATES, count);
    json_object_set_new(findings, KICKSTART_ACCOUNT_EPSILON, json_number(told.spent_epsilon));
    json_object_set_new(findings, KICKSTART_ACCOUNT_DELTA, json_number(told.spent_delta));
    return DB_OK;
}

char *job_teacher_all_findings(const struct job_run *run)
{
    json_t *findings = findings_of(run);
    uint32_t count = kickstart_questions(&run->plan.request);
    enum db_status status = DB_NONE;
    char *text = NULL;
    size_t size = 0;
    if (count > 0) { /* 0: a plan of which only the beginning could be read */
        double answered = json_number_value(json_object_get(findings, KICKSTART_ANSWERED_STATES));
        uint64_t rollout = (uint64_t)answered / count;
        do
            status = add_stored(run, rollout++, findings);
        while (status == DB_OK);
    }
    if (status == DB_NONE)
        text = json_text_write(findings, false, &size);
    json_decref(findings);
    return text;
}

void job_teacher_show(struct job_run *run)
{
    size_t size = 0;
    if (run->plan.teacher[0] == '\0' || run->finding_count == 0 || db_broken(run->db))
        return;
    json_t *findings = job_findings_json(run);
    char *text = json_text_write(findings, false, &size);
    (void)jobs_show_findings(run->db, run->job.id, run->control->worker, text);
    json_decref(findings);
    free(text);
}

struct job_teacher_spent job_teacher_spent_of(const char *findings)
{
    json_t *json = json_text_stored(findings);
    struct job_teacher_spent spent = {
        json_number_value(json_object_get(json, KICKSTART_EPSILON)),
        json_number_value(json_object_get(json, KICKSTART_DELTA)),
        json_number_value(json_object_get(json, KICKSTART_ACCOUNT_EPSILON)),
        json_number_value(json_object_get(json, KICKSTART_ACCOUNT_DELTA))};
    json_decref(json);
    return spent;
}

/* ---- asking */

static json_t *reply_json(const struct api_reply *reply)
{
    if (!reply->body)
        return NULL;
    return json_loadb(reply->body, reply->body_size, 0, NULL);
}

static bool reply_is_reserved(const struct api_reply *reply)
{
    json_t *json = reply_json(reply);
    const char *told = json_string_value(json_object_get(json, "type"));
    bool same = told && strcmp(told, "/problems/budget-reserved") == 0;
    json_decref(json);
    return same;
}

/* Makes the job wait, because the disk or another call blocks the question. */
static enum algorithm_status ask_later(struct job_run *run)
{
    run->waiting = true;
    return ALGORITHM_PAUSED;
}

/* What an answer other than 200 means for the student. */
static enum algorithm_status reply_refused(struct job_run *run, const struct api_reply *reply,
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
    case 410: /* it is closed */ out->silent = true; return ALGORITHM_OK;
    case 409: /* held by another job, or the same call is under way */
        out->silent = reply_is_reserved(reply);
        if (out->silent)
            return ALGORITHM_OK;
        return ask_later(run);
    case 503: /* many write */
    case 507: /* the disk is full */ return ask_later(run);
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
static enum algorithm_status begin_payers_rollout(struct job_run *run, uint64_t rollout,
                                                  double *concentration, struct teacher_told *out)
{
    struct api_reply reply;
    char key[KEY_SIZE];
    write_key(run, "rollouts", rollout, key);
    struct teacher_ask ask = {run->plan.payer, run->plan.teacher, key, run->job.id,
                              run->control->worker};
    teacher_begin_rollout(run->app, run->db, &ask, &reply);
    enum algorithm_status status = ALGORITHM_OK;
    if (reply.status != 200) {
        status = reply_refused(run, &reply, out);
    } else {
        json_t *json = reply_json(&reply);
        const json_t *most = json_object_get(json, "concentration");
        out->silent = json_is_string(json_object_get(json, "at_floor"));
        if (*concentration > 0 && json_is_number(most))
            *concentration = fmin(*concentration, json_number_value(most));
        json_decref(json);
    }
    api_reply_clear(&reply);
    return status;
}

static enum algorithm_status ask_states(struct job_run *run,
                                        const struct teacher_question *question,
                                        double concentration, double *out_probabilities,
                                        struct teacher_told *out)
{
    struct api_reply reply;
    struct student_answer answer;
    char key[KEY_SIZE];
    uint32_t actions = run->plan.request.action_count;
    char *body = student_query_write(question->states, question->count, run->plan.request.state_dim,
                                     concentration);
    write_key(run, "queries", question->rollout, key);
    struct teacher_ask ask = {run->plan.payer, run->plan.teacher, key, run->job.id,
                              run->control->worker};
    teacher_query(run->app, run->db, &ask, body, &reply);
    free(body);
    enum algorithm_status status = ALGORITHM_OK;
    if (reply.status != 200) {
        status = reply_refused(run, &reply, out);
    } else if (student_answer_read(reply.body, reply.body_size, question->count, actions,
                                   out_probabilities, &answer)) {
        out->message = "The teacher's answer was not one.";
        status = ALGORITHM_BAD_INPUT;
    } else {
        out->silent = answer.random; /* a budget is spent, as with 403 */
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
        return ALGORITHM_PAUSED;
    if (!job_run_goes_on(run) && run->cancelled)
        return ALGORITHM_CANCELLED;
    if (run->stopping || run->lost || run->storage_failed)
        return ALGORITHM_PAUSED;
    enum algorithm_status status =
        begin_payers_rollout(run, question->rollout, &concentration, out);
    if (status != ALGORITHM_OK || out->silent)
        return status;
    return ask_states(run, question, concentration, out_probabilities, out);
}
