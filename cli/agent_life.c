/* An agent's report, from parameters to answer.
 *
 * DESIGN. The key of a submission is drawn once and its bytes are made once: a repeat after a lost
 * answer sends the same randomised report, which costs nothing new. Refusals end the report; the
 * agent never randomises the same gradient twice. */
#include "cli/agent_life.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/privacy/noise/noise_source.h"
#include "cli/http_out.h"
#include "memory/memory.h"

bool agent_room_init(struct agent_room *room, const struct agent_task *task)
{
    const struct agent_terms *terms = &task->terms;
    size_t count = actor_critic_count(&terms->net);
    *room = (struct agent_room){.parameters = memory_new(count, sizeof(float)),
                                .gradient = memory_new(count, sizeof(double)),
                                .report = memory_new(terms->scheme.report_length, sizeof(int64_t)),
                                .world = env_open(task->env)};
    a3c_episode_init(&room->episode, &terms->net, task->max_steps);
    return room->world;
}

void agent_room_clear(struct agent_room *room, const struct agent_task *task)
{
    a3c_episode_clear(&room->episode);
    env_close(task->env, room->world);
    free(room->parameters);
    free(room->gradient);
    free(room->report);
    *room = (struct agent_room){0};
}

static enum agent_end report_failed(char why[PROBLEM_LINE_SIZE], const char *text)
{
    snprintf(why, PROBLEM_LINE_SIZE, "%s", text);
    return AGENT_FAILED;
}

/* Reads the present parameters into ROOM. */
static enum agent_end fetch_parameters(struct http_out *out, const struct agent_task *task,
                                       struct agent_room *room, struct agent_parameters *at,
                                       char why[PROBLEM_LINE_SIZE])
{
    char path[128];
    struct http_out_answer answer;
    snprintf(path, sizeof path, "/v1/aggregations/%s/parameters", task->aggregation);
    if (http_out_get(out, path, &answer) != HTTP_OUT_OK)
        return report_failed(why, answer.problem.text);
    const char *problem =
        agent_parameters_read(answer.body, answer.size, &task->terms, at, room->parameters);
    if (problem)
        return report_failed(why, problem);
    return at->open && at->reports_left > 0 ? AGENT_REPORTED : AGENT_NOT_ASKED;
}

/* Plays an episode and randomises its gradient. A gradient that is not finite is reported as zero:
 * to send no report would reveal it. */
static const char *make_report(const struct agent_task *task, struct agent_room *room,
                               const struct agent_parameters *at, const double *physics,
                               struct rng *rng)
{
    const struct agent_terms *terms = &task->terms;
    const struct a3c_choice choice = {.exploration = at->exploration};
    if (!a3c_play(&room->episode, &terms->net, room->parameters, task->env, room->world, physics,
                  choice, rng))
        return "the world broke";
    if (!a3c_gradient(&room->episode, &terms->net, room->parameters, &terms->loss, room->gradient))
        memset(room->gradient, 0, actor_critic_count(&terms->net) * sizeof *room->gradient);
    struct noise_source *noise = noise_source_new("report");
    if (!noise)
        return "the system gives no randomness";
    enum local_status status = terms->scheme.mechanism->randomise(
        &terms->scheme, at->seed, room->gradient, noise, room->report);
    noise_source_free(noise);
    return status == LOCAL_OK ? NULL : "the report cannot be randomised";
}

static enum agent_end send_report(struct http_out *out, const struct agent_task *task,
                                  const struct agent_room *room, int64_t version,
                                  int64_t *out_version, char why[PROBLEM_LINE_SIZE])
{
    char path[128];
    struct http_out_answer answer;
    char *body = agent_submission_write(&task->terms.scheme, version, room->report);
    snprintf(path, sizeof path, "/v1/aggregations/%s/submissions", task->aggregation);
    enum http_out_status status = http_out_post(out, path, body, &answer);
    free(body);
    if (status == HTTP_OUT_OK) {
        *out_version = agent_version_read(answer.body, answer.size);
        return AGENT_REPORTED;
    }
    if (strcmp(answer.problem.slug, "stale-version") == 0)
        return AGENT_STALE;
    if (strcmp(answer.problem.slug, "already-reported") == 0 ||
        strcmp(answer.problem.slug, "aggregation-closed") == 0)
        return AGENT_NOT_ASKED;
    return report_failed(why, answer.problem.text);
}

enum agent_end agent_report(struct http_out *out, const struct agent_task *task,
                            struct agent_room *room, const double *physics, struct rng *rng,
                            double *out_score, int64_t *out_version, char why[PROBLEM_LINE_SIZE])
{
    struct agent_parameters at;
    enum agent_end end = fetch_parameters(out, task, room, &at, why);
    if (end != AGENT_REPORTED)
        return end;
    const char *problem = make_report(task, room, &at, physics, rng);
    if (problem)
        return report_failed(why, problem);
    *out_score = room->episode.score;
    return send_report(out, task, room, at.version, out_version, why);
}
