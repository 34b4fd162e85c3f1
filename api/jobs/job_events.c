/* A job as a stream of server-sent events (WHATWG HTML, section 9.2). A "progress" event holds the
 * job whenever its step, its state or what it waits for has changed; its id is the step. "done"
 * comes at the end.
 *
 * A stream outlives the moment in which its caller was checked. So what proved who it is stays with
 * the stream and is checked again each time, like a request's: a stream ends when the token ends,
 * or when the caller leaves the project. */
#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/call/app.h"
#include "api/call/auth.h"
#include "api/call/project.h"
#include "api/jobs/jobs.h"
#include "api/json/json_text.h"
#include "memory/memory.h"

struct follower {
    const struct route *route;
    char *authorization; /* as it came; NULL: there was none */
    bool certified;
    unsigned char certificate[32]; /* as in struct api_request */
    char job[ID_SIZE];
    int64_t step;         /* last shown; -1: none */
    int state;            /* last shown; -1: none */
    struct job_wait wait; /* last shown */
    bool over;
};

static const char *follower_header(void *context, const char *name)
{
    const struct follower *follower = context;
    return strcasecmp(name, "Authorization") == 0 ? follower->authorization : NULL;
}

static void free_follower(void *context)
{
    struct follower *follower = context;
    if (follower->authorization) {
        sodium_memzero(follower->authorization, strlen(follower->authorization));
        free(follower->authorization);
    }
    free(follower);
}

/* Finds whether a new request of the follower would still be shown what belongs to OWNER. DB_NONE:
 * it would not. */
static enum db_status check_follower(struct follower *follower, struct app *app, struct db *db,
                                     const char *owner)
{
    const struct api_request request = {
        .method = "GET",
        .path = "",
        .query = "",
        .header_context = follower,
        .header = follower_header,
        .certificate = follower->certified ? follower->certificate : NULL,
    };
    struct api_reply reply;
    struct call call;
    call_init(&call, app, db, &request, &reply);
    call.route = follower->route;
    enum problem problem = auth_check(&call);
    if (problem == PROBLEM_NONE)
        problem = project_read_all(&call);
    enum db_status status = (enum db_status)call.db_failure;
    if (status == DB_OK && (problem != PROBLEM_NONE || !call_owns(&call, owner)))
        status = DB_NONE;
    call_end(&call);
    api_reply_clear(&reply);
    return status;
}

/* The text of one event. Takes JSON; the caller frees the text. */
static char *write_event(const char *name, int64_t id, json_t *json)
{
    size_t length = 0;
    char *data = json_text_write(json, false, &length);
    json_decref(json);
    char *event = memory_format("event: %s\nid: %" PRId64 "\ndata: %s\n\n", name, id, data);
    free(data);
    return event;
}

/* The event that is due, or NULL. */
static char *show_job(struct follower *follower, struct app *app, struct db *db,
                      const struct job_row *job)
{
    struct job_wait wait = {0};
    if (job->state == JOB_QUEUED && jobs_wait(db, job->id, &wait) != DB_OK)
        wait = follower->wait;
    bool over = job_is_over(job);
    bool changed = job->step != follower->step || (int)job->state != follower->state ||
                   wait.place != follower->wait.place || wait.own != follower->wait.own;
    if (!over && !changed)
        return NULL;
    const char *name = "progress";
    if (over)
        name = "done";
    json_t *json = job_json(db, job, &wait, app->settings.now_ms());
    if (!json)
        return NULL; /* the database failed: again in a second */
    follower->step = job->step;
    follower->state = (int)job->state;
    follower->wait = wait;
    follower->over = over;
    return write_event(name, job->step, json);
}

static bool next_events(void *context, struct app *app, struct db *db, char **out)
{
    struct follower *follower = context;
    *out = NULL;
    if (follower->over)
        return false;
    struct job_row job = {0};
    enum db_status status = jobs_find(db, follower->job, &job);
    if (status == DB_OK)
        status = check_follower(follower, app, db, job.owner);
    if (status == DB_OK)
        *out = show_job(follower, app, db, &job);
    job_done(&job);
    return status == DB_OK || status == DB_RETRY;
}

enum problem api_jobs_events(struct call *call)
{
    struct job_row *job;
    enum problem problem = job_of_call(call, &job);
    if (problem != PROBLEM_NONE)
        return problem;
    struct follower *follower = memory_new(1, sizeof *follower);
    const char *authorization = call_request_header(call, "Authorization");
    follower->route = call->route;
    if (authorization)
        follower->authorization = memory_must(strdup(authorization));
    follower->certified = call->request->certificate != NULL;
    if (follower->certified)
        memcpy(follower->certificate, call->request->certificate, sizeof follower->certificate);
    memcpy(follower->job, job->id, ID_SIZE);
    follower->step = follower->state = -1;
    const char *last = call_request_header(call, "Last-Event-ID");
    char *end = NULL;
    long long step = -1;
    if (last)
        step = strtoll(last, &end, 10);
    if (last && end != last && *end == '\0' && step == job->step) {
        follower->step = job->step; /* seen already: go on behind it */
        follower->state = (int)job->state;
    }
    struct api_events events = {.context = follower, .next = next_events, .free = free_follower};
    return call_reply_events(call, events);
}
