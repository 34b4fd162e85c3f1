/* The threads of a crowd. One lock guards the counters; the network is talked to outside of it. */
#include "cli/agent_crowd.h"

#include <inttypes.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/http_out.h"
#include "cli/progress.h"

#define MAKING_TRIES 5 /* lost answers in a row */

struct crowd {
    const struct agent_crowd_plan *plan;
    struct agent_crowd_report *report; /* with the next ones, under LOCK */
    pthread_mutex_t lock;
    struct progress progress;
    uint64_t next; /* agent to begin */
    double score_sum, recent[AGENT_CROWD_RECENT];
    bool done;
};

bool agent_crowd_make(struct http_out *admin, uint64_t number, char *token, size_t size,
                      char why[PROBLEM_LINE_SIZE])
{
    char body[80];
    struct http_out_answer answer = {.replayed = true};
    snprintf(body, sizeof body, "{\"name\":\"agent %" PRIu64 "\",\"role\":\"agent\"}", number);
    /* The answer to a repeat does not contain the token: another agent is then made. */
    for (int tries = 0; tries < MAKING_TRIES && answer.replayed; tries++) {
        if (http_out_post(admin, "/v1/clients", body, &answer) != HTTP_OUT_OK) {
            snprintf(why, PROBLEM_LINE_SIZE, "making an agent: %.900s", answer.problem.text);
            return false;
        }
        if (answer_text(answer.body, answer.size, "token", token, size))
            return true;
    }
    snprintf(why, PROBLEM_LINE_SIZE, "making an agent: the answer holds no token");
    return false;
}

static double mean_recent(const struct crowd *crowd)
{
    uint64_t n = crowd->report->reported;
    n = n < AGENT_CROWD_RECENT ? n : AGENT_CROWD_RECENT;
    double sum = 0.0;
    for (uint64_t i = 0; i < n; i++)
        sum += crowd->recent[i];
    return n > 0 ? sum / (double)n : 0.0;
}

/* Counts a finished report. */
static void crowd_note(struct crowd *crowd, enum agent_end end, double score, int64_t version)
{
    struct agent_crowd_report *report = crowd->report;
    const double success = crowd->plan->success;
    pthread_mutex_lock(&crowd->lock);
    if (end == AGENT_REPORTED) {
        crowd->recent[report->reported++ % AGENT_CROWD_RECENT] = score;
        crowd->score_sum += score;
        report->version = version > report->version ? version : report->version;
        if (success > 0 && report->reported >= AGENT_CROWD_RECENT && report->first_success == 0 &&
            mean_recent(crowd) >= success) {
            report->first_success = report->reported;
            crowd->done = true;
        }
    }
    report->stale += end == AGENT_STALE;
    report->not_asked += end == AGENT_NOT_ASKED;
    progress_show(&crowd->progress, crowd->next);
    pthread_mutex_unlock(&crowd->lock);
}

/* The first failure ends the crowd. */
static void crowd_fail(struct crowd *crowd, const char *why)
{
    pthread_mutex_lock(&crowd->lock);
    if (crowd->report->failure[0] == '\0')
        snprintf(crowd->report->failure, sizeof crowd->report->failure, "%s", why);
    crowd->done = true;
    pthread_mutex_unlock(&crowd->lock);
}

static struct http_out *crowd_open_door(struct crowd *crowd, const char *token)
{
    struct http_out *out = NULL;
    const char *problem =
        http_out_open_simple(crowd->plan->server, token, crowd->plan->ca_file, &out);
    if (!problem)
        return out;
    crowd_fail(crowd, problem);
    return NULL;
}

static void draw_physics(const struct agent_crowd_plan *plan, struct rng *rng, double *physics)
{
    env_defaults(plan->task.env, physics);
    for (unsigned i = 0; i < plan->variations; i++) {
        const struct agent_variation *v = &plan->variation[i];
        physics[v->parameter] = v->value[rng_below(rng, v->count)];
    }
}

/* Makes all reports of one agent. */
static void live_one_agent(struct crowd *crowd, struct agent_room *room, const char *token,
                           uint64_t number)
{
    const struct agent_crowd_plan *plan = crowd->plan;
    struct rng rng;
    double physics[ENV_MAX_PARAMETERS];
    char why[PROBLEM_LINE_SIZE] = "";
    rng_seed(&rng, plan->seed, number);
    draw_physics(plan, &rng, physics);
    struct http_out *out = crowd_open_door(crowd, token);
    if (!out)
        return;
    enum agent_end end = AGENT_REPORTED;
    for (int64_t i = 0; i < plan->task.terms.submissions_per_agent && end == AGENT_REPORTED; i++) {
        double score = 0.0;
        int64_t version = 0;
        end = agent_report(out, &plan->task, room, physics, &rng, &score, &version, why);
        if (end == AGENT_FAILED)
            crowd_fail(crowd, why);
        else
            crowd_note(crowd, end, score, version);
    }
    http_out_close(out);
}

static bool next_agent(struct crowd *crowd, uint64_t *out)
{
    pthread_mutex_lock(&crowd->lock);
    bool more = !crowd->done && crowd->next < crowd->plan->agents;
    *out = crowd->next;
    crowd->next += more;
    pthread_mutex_unlock(&crowd->lock);
    return more;
}

static void take_turns(struct crowd *crowd, struct agent_room *room, struct http_out *admin)
{
    char token[AGENT_CROWD_TOKEN_SIZE] = "", why[PROBLEM_LINE_SIZE] = "";
    uint64_t number;
    while (next_agent(crowd, &number))
        if (number == 0)
            live_one_agent(crowd, room, crowd->plan->token, number);
        else if (agent_crowd_make(admin, number, token, sizeof token, why))
            live_one_agent(crowd, room, token, number);
        else
            crowd_fail(crowd, why);
    sodium_memzero(token, sizeof token);
}

static void *thread_run(void *context)
{
    struct crowd *crowd = context;
    const struct agent_crowd_plan *plan = crowd->plan;
    struct agent_room room;
    struct http_out *admin = NULL;
    if (!agent_room_init(&room, &plan->task))
        crowd_fail(crowd, "the world does not open");
    else if (!plan->admin || (admin = crowd_open_door(crowd, plan->admin)))
        take_turns(crowd, &room, admin);
    http_out_close(admin);
    agent_room_clear(&room, &plan->task);
    return NULL;
}

void agent_crowd_run(const struct agent_crowd_plan *plan, struct agent_crowd_report *out)
{
    pthread_t threads[AGENT_CROWD_THREADS];
    unsigned started = 0;
    *out = (struct agent_crowd_report){.failure = ""};
    struct crowd crowd = {.plan = plan, .report = out};
    pthread_mutex_init(&crowd.lock, NULL);
    progress_begin(&crowd.progress, "agents", plan->agents, 0);
    while (started < plan->threads &&
           pthread_create(&threads[started], NULL, thread_run, &crowd) == 0)
        started++;
    if (started == 0)
        crowd_fail(&crowd, "no thread can be started");
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    progress_end(&crowd.progress, out->failure[0] == '\0');
    out->mean_score = out->reported > 0 ? crowd.score_sum / (double)out->reported : 0.0;
    out->mean_recent = mean_recent(&crowd);
    pthread_mutex_destroy(&crowd.lock);
}
