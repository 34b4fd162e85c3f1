/* What clients ask. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simulator/life.h"

/* ---- sending */

static void resume_flight(void *context)
{
    struct flight *flight = context;
    life_judge(flight->life, flight);
}

/* A new wish, or one of before: as it was, or with another body. */
static void choose_asked(struct life *life, struct flight *flight)
{
    unsigned old = life->asked_count;
    if (life->again) {
        flight->asked = life->again;
        flight->variant = (unsigned)life->again_variant;
    } else if (old > 0 && (old == LIFE_ASKED || life_chance(life, 4))) {
        /* The youngest are the ones under way. */
        unsigned back =
            life_chance(life, 2) ? life_draw(life, old < 6 ? old : 6) : life_draw(life, old);
        flight->asked = &life->asked[old - 1 - back];
        flight->variant = life_chance(life, 4);
    } else {
        struct asked *asked = flight->asked = &life->asked[life->asked_count++];
        *asked = (struct asked){.what = flight->what, .variant = -1};
        asked->person = flight->person;
        asked->number = life->asked_by[flight->person]++;
        life_name_key(asked);
        asked->which = flight->which;
        asked->count = 1 + life_draw(life, SCENE_COUNTS);
    }
    flight->what = flight->asked->what;
    if (flight->what == LIFE_UPLOAD && !life->again && life_chance(life, 6))
        flight->variant = SCENE_CUT;
    flight->person = flight->asked->person;
    flight->which = flight->asked->which;
}

/* A limit to set, as it was asked for before or another; a larger one to ask for; or a change that
 * waits. */
static void choose_limit(struct life *life, struct flight *flight)
{
    const struct scene_teacher *teacher = &life->scene->teachers[life_draw(life, SCENE_TEACHERS)];
    const unsigned changes = (unsigned)life->model.change_count;
    flight->person = SCENE_STEWARD + life_draw(life, 2);
    if (changes > 0 && life_chance(life, 3)) {
        flight->what = LIFE_DECIDE;
        flight->which = life_chance(life, 4) ? life_draw(life, changes) : changes - 1;
        flight->other = life_chance(life, 3) ? MODEL_DECLINED : MODEL_APPROVED;
        flight->given = life->model.changes[flight->which].limit;
        if (life_is_request(&life->model.changes[flight->which]) && life_chance(life, 2))
            flight->given = life_draw(life, SCENE_BUDGETS);
        return;
    }
    if (life_chance(life, 4)) {
        flight->what = LIFE_ASK;
        flight->person = life_draw(life, SCENE_STUDENTS);
        flight->which = (unsigned)teacher->client_account[flight->person];
        flight->other = 1 + life_draw(life, SCENE_BUDGETS - 1);
        return;
    }
    flight->what = LIFE_LIMIT;
    if (life->wish.account == 0 || !life_chance(life, 4)) {
        int account = teacher->client_account[life_draw(life, SCENE_STUDENTS)];
        if (life_chance(life, 2))
            account = life_chance(life, 2) ? teacher->account : life->scene->dataset_account;
        if (changes > 0 && life_chance(life, 3)) /* the one that waits */
            account = life->model.changes[changes - 1].account;
        const int64_t revision = life->model.accounts[account].revision;
        life->wish.account = (unsigned)account;
        life->wish.limit = life_draw(life, SCENE_BUDGETS);
        life->wish.person = flight->person;
        life->wish.revision = life_chance(life, 2) ? 0 : revision;
    }
    flight->which = life->wish.account;
    flight->other = life->wish.limit;
    flight->person = life->wish.person;
    flight->revision = life->wish.revision;
}

static void choose_what(struct life *life, struct flight *flight)
{
    /* More of what has no second answer where its reply may be lost. */
    const bool fears = disk.dies_at_try != DISK_NEVER || disk.waits_at_try != DISK_NEVER;
    const unsigned dice = fears && life_chance(life, 4) ? 64 : life_draw(life, 100);
    flight->person = life_draw(life, SCENE_STUDENTS);
    flight->what = LIFE_RELEASE;
    flight->which = life_draw(life, SCENE_POINTS);
    if (life->elsewhere) {
        flight->person = life->elsewhere_person;
    } else if (life->again) {
        flight->what = life->again->what;
    } else if (life->deletes) {
        flight->what = LIFE_DELETE;
        flight->person = SCENE_STEWARD;
    } else if (dice < 1) {
        flight->what = LIFE_UPLOAD;
        flight->person = SCENE_CONTRIBUTOR;
        flight->which = 0;
    } else if (dice < 57) {
        flight->what = LIFE_QUESTION;
        flight->which = life_draw(life, SCENE_TEACHERS);
    } else if (dice < 60) {
        flight->what = LIFE_JOB;
        flight->person = SCENE_STEWARD;
        flight->which = life_draw(life, SCENE_JOBS);
    } else if (dice < 64) {
        flight->what = life_chance(life, 2) ? LIFE_CANCEL : LIFE_LOOK;
        flight->person = SCENE_STEWARD;
        flight->which = life_draw(life, (unsigned)life->model.job_count);
    } else if (dice < 69) {
        choose_limit(life, flight);
    } else if (dice < 77) {
        flight->what = LIFE_LIE;
        flight->which = life_draw(life, LIFE_LIE_KINDS);
    } else if (dice == 77 && life_chance(life, 3)) {
        flight->what = LIFE_CHECKPOINT;
        flight->person = SCENE_AUDITOR;
    } else if (life_chance(life, 200)) {
        static const enum life_what ends[] = {LIFE_END, LIFE_DELETE, LIFE_REVOKE};
        flight->what = ends[life_draw(life, 3)];
        flight->which = life_draw(life, SCENE_STUDENTS);
        flight->person = flight->what == LIFE_REVOKE ? SCENE_ADMIN : SCENE_STEWARD;
    }
    if (flight->what <= LIFE_UPLOAD)
        choose_asked(life, flight);
}

struct wording {
    struct service_request request;
    char path[128], key[32], body[512], token[160];
};

static void word_lie(const struct life *life, const struct flight *flight, struct wording *w)
{
    const struct scene *scene = life->scene;
    struct service_request *request = &w->request;
    scene_question(1, 0, 1, w->body);
    snprintf(w->key, sizeof w->key, "lie-%u", flight->which);
    snprintf(w->path, sizeof w->path, "/v1/teachers/%s/queries", scene->teachers[0].id);
    request->key = w->key;
    switch (flight->which) {
    case 0: /* somebody's name with another secret */
        snprintf(w->token, sizeof w->token, "%s", request->token);
        w->token[strlen(w->token) - 1] ^= 1;
        request->token = w->token;
        break;
    case 1: request->token = NULL; break;
    case 2: request->token = scene->token[SCENE_ADMIN]; break; /* who may not ask */
    case 3: strcpy(w->body, "{\"states\":[[0,0,0,0]"); break;
    case 4: /* no key, or one that names no time where it has to */
        request->key = service_keep_days > 0 ? w->key : NULL;
        break;
    default:
        request->token = scene->token[SCENE_STRANGER];
        request->key = NULL;
        w->body[0] = '\0';
        snprintf(w->path, sizeof w->path, "/v1/jobs/%s:cancel",
                 life->model.jobs[life->model.job_count - 1].id);
    }
}

static void word_decision(const struct life *life, const struct flight *flight, struct wording *w)
{
    const struct model_change *change = &life->model.changes[flight->which];
    const struct scene_limits *limits = &life->scene->limits[change->account];
    const bool approves = flight->other == MODEL_APPROVED;
    snprintf(w->path, sizeof w->path, "/v1/%s/%s:%s",
             life_is_request(change) ? "budget-requests" : "limit-changes", change->id,
             approves ? "approve" : "decline");
    strcpy(w->body, "{\"reason\":\"decided\"}");
    if (approves && life_is_request(change))
        snprintf(w->body, sizeof w->body, "{\"epsilon\":%g}", scene_epsilon(limits, flight->given));
}

static void word_request(const struct life *life, const struct flight *flight, struct wording *w)
{
    const struct scene *scene = life->scene;
    const struct asked *asked = flight->asked;
    struct service_request *request = &w->request;
    *w = (struct wording){.request = {.method = "POST"}};
    request->path = w->path;
    request->token = scene->token[flight->person];
    if (asked) {
        request->key = w->key;
        snprintf(w->key, sizeof w->key, "%s", asked->key);
    }
    const char *job = "";
    if (flight->what == LIFE_CANCEL || flight->what == LIFE_LOOK)
        job = life->model.jobs[flight->which].id;
    switch (flight->what) {
    case LIFE_QUESTION:
        snprintf(w->path, sizeof w->path, "/v1/teachers/%s/queries",
                 scene->teachers[asked->which].id);
        scene_question(asked->number, flight->variant, asked->count, w->body);
        break;
    case LIFE_UPLOAD:
        snprintf(w->path, sizeof w->path, "/v1/datasets/%s/trajectories", scene->open);
        scene_upload(asked->number, flight->variant, asked->count, w->body);
        break;
    case LIFE_JOB:
        strcpy(w->path, "/v1/jobs");
        scene_job(scene, asked->which, flight->variant, w->body);
        break;
    case LIFE_CANCEL: snprintf(w->path, sizeof w->path, "/v1/jobs/%s:cancel", job); break;
    case LIFE_LOOK:
        request->method = "GET";
        snprintf(w->path, sizeof w->path, "/v1/jobs/%s", job);
        break;
    case LIFE_CHECKPOINT:
        request->method = "GET";
        strcpy(w->path, "/v1/ledger/checkpoint");
        break;
    case LIFE_RELEASE:
        snprintf(w->path, sizeof w->path, "/v1/q-releases/%s/queries", scene->release);
        scene_point(flight->which, w->body);
        break;
    case LIFE_END:
        request->method = "DELETE";
        snprintf(w->path, sizeof w->path, "/v1/q-releases/%s", scene->release);
        break;
    case LIFE_DELETE:
        request->method = "DELETE";
        snprintf(w->path, sizeof w->path, "/v1/datasets/%s", scene->dataset);
        break;
    case LIFE_REVOKE:
        request->method = "DELETE";
        snprintf(w->path, sizeof w->path, "/v1/clients/%s", scene->client[flight->which]);
        break;
    case LIFE_LIMIT:
        scene_limit(&life->model.accounts[flight->which], &scene->limits[flight->which],
                    flight->other, w->path, w->body);
        request->method = life->model.accounts[flight->which].client[0] != '\0' ? "PUT" : "PATCH";
        request->match = "*";
        if (flight->revision == 0)
            break;
        snprintf(w->key, sizeof w->key, "\"%lld\"", (long long)flight->revision);
        request->match = w->key;
        break;
    case LIFE_ASK:
        strcpy(w->path, "/v1/budget-requests");
        snprintf(w->body, sizeof w->body, "{\"teacher\":\"%s\",\"epsilon\":%g,\"reason\":\"more\"}",
                 life->model.accounts[flight->which].resource,
                 scene_epsilon(&scene->limits[flight->which], flight->other));
        break;
    case LIFE_DECIDE: word_decision(life, flight, w); break;
    case LIFE_LIE: word_lie(life, flight, w); break;
    }
    if (w->body[0] != '\0')
        request->body = w->body;
}

static void note_standing(const struct life *life, struct flight *flight)
{
    for (unsigned i = 0; i < SCENE_STUDENTS; i++)
        flight->stood.students |= (life->student[i] != FATE_GONE ? 1u : 0) << i;
    flight->stood.person =
        flight->person < SCENE_STUDENTS && flight->stood.students & 1u << flight->person;
    flight->stood.answer = flight->asked && flight->asked->stored;
    flight->stood.dataset = life->dataset != FATE_GONE;
    flight->stood.release = life->release != FATE_GONE;
    /* Elsewhere a release may be asked for a second after its end, or the asker's. */
    flight->stood.passed =
        flight->what == LIFE_RELEASE && life->server_count > 1 &&
        llabs(service_clock_ms - life->passed_ms[flight->server][flight->person]) < 1000;
    if (flight->stood.passed)
        flight->stood.release = flight->stood.person = true;
}

void life_send(struct life *life)
{
    if (life->flight_count == LIFE_FLIGHTS)
        return;
    struct flight *flight = calloc(1, sizeof *flight);
    struct wording wording;
    if (!flight)
        abort();
    flight->life = life;
    flight->failures = disk.failures;
    flight->keys = life->keys;
    flight->size = life->shown.size;
    flight->low_ms = flight->high_ms = service_clock_ms;
    flight->kept_from_ms = life->kept_from_ms;
    choose_what(life, flight);
    flight->server = life_draw_server(life);
    if (life->again && disk.behind != 0)
        flight->server = disk.behind >> 1;
    if (life->elsewhere && disk.ended == 0)
        flight->server = life->elsewhere_server;
    life->elsewhere = false;
    flight->stale = disk.behind & 1u << flight->server;
    note_standing(life, flight);
    word_request(life, flight, &wording);
    life_note(life, "send %s %s %s %s", wording.request.method, wording.path, wording.key,
              wording.body);
    life->flights[life->flight_count++] = flight;
    life->count[LIFE_REQUESTS]++;
    unsigned before = disk_enter(flight->server);
    flight->exchange = service_receive(&life->servers[flight->server], &wording.request,
                                       resume_flight, flight, &flight->way);
    if (flight->way == SERVICE_ANSWERED && !disk_is_dead())
        exchange_finish(flight->exchange);
    disk.server = before;
}
