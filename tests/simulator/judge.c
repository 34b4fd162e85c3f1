/* How answers are judged, and what is found out about requests whose process ended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/answers/answers.h"
#include "tests/simulator/life.h"

const char *life_text(const struct api_reply *reply)
{
    const char *text = reply->body ? reply->body : reply->static_body;
    return text ? text : "";
}

bool life_says(const struct api_reply *reply, const char *text)
{
    const char *body = life_text(reply);
    return reply->body_size > 0 && memmem(body, reply->body_size, text, strlen(text)) != NULL;
}

static unsigned payments_of(const struct life *life, const struct asked *asked,
                            struct model_payment out[3])
{
    const struct scene_teacher *teacher = &life->scene->teachers[asked->which];
    struct model_amount price = teacher->price[asked->count];
    out[0] = (struct model_payment){teacher->client_account[asked->person], price};
    out[1] = (struct model_payment){teacher->account, teacher->cap_price[asked->count]};
    if (teacher->dataset_account < 0)
        return 2;
    if (life->model.accounts[teacher->account].spent.units == 0) {
        price.units += teacher->first.units;
        price.delta += teacher->first.delta;
    }
    out[2] = (struct model_payment){teacher->dataset_account, price};
    return 3;
}

/* What the model says of a new question or job; pays or holds when PAY and all is well. */
static enum model_verdict weigh_asked(struct life *life, const struct asked *asked, bool pay,
                                      const char *answer)
{
    struct model_payment payments[3];
    unsigned count = 1;
    int data = life->scene->teachers[2].dataset_account;
    if (asked->what == LIFE_JOB)
        payments[0] = (struct model_payment){data, life->scene->job_price[asked->which]};
    else if (asked->what == LIFE_UPLOAD)
        count = 0;
    else
        count = payments_of(life, asked, payments);
    enum model_verdict verdict = model_weigh(&life->model, payments, count);
    if (!pay || verdict != MODEL_PAYS)
        return verdict;
    if (asked->what == LIFE_JOB) {
        char id[ID_SIZE];
        scene_text(answer, "id", id);
        model_submit(&life->model, id, data, payments[0].amount);
    } else if (asked->what == LIFE_UPLOAD) {
        life_take_upload(life, asked, answer);
    } else {
        model_pay(&life->model, payments, count);
    }
    return verdict;
}

static bool find_answer(struct life *life, struct asked *asked, bool random);

static bool is_random(const char *answer, size_t size)
{
    return memmem(answer, size, "\"random\":true", 13) != NULL;
}

/* What ASKED paid from may have had another limit meanwhile. */
static bool has_moved(const struct life *life, const struct asked *asked)
{
    struct model_payment payments[3];
    bool moved = false;
    for (unsigned i = payments_of(life, asked, payments); i > 0; i--)
        moved = moved || life->lost[payments[i - 1].account].count > 0;
    return moved;
}

/* A good answer that was not seen before takes its effect. */
static void take_answer(struct life *life, struct asked *asked, const char *answer, size_t size)
{
    bool random = is_random(answer, size);
    asked->stored = true;
    asked->lags = disk.lags;
    asked->answer = malloc(size + 1);
    if (!asked->answer)
        abort();
    memcpy(asked->answer, answer, size);
    asked->answer[size] = '\0';
    asked->size = size;
    life->checked = DISK_UNKNOWN;
    life->count[LIFE_ANSWERS]++;
    enum model_verdict verdict = weigh_asked(life, asked, !random, asked->answer);
    if (random && (verdict == MODEL_EXHAUSTED || has_moved(life, asked)) &&
        life->scene->teachers[asked->which].random)
        return;
    if (random || verdict != MODEL_PAYS)
        life_fail(life, "%s was answered, and by the model (%d) it could not pay: %.300s",
                  asked->key, verdict, asked->answer);
}

static void lose_fate(enum life_fate *fate)
{
    if (*fate == FATE_STANDS)
        *fate = FATE_UNKNOWN;
}

/* A deletion may have erased its keys, which are not in the database: no failover brings them back.
 */
static void lose_dataset(struct life *life)
{
    lose_fate(&life->dataset);
    lose_fate(&life->standby.dataset);
}

/* Something was seen to be GONE, or to stand. STOOD: it did when the request was sent, which may
 * have been served before the end and answered after it. */
static void learn_fate(struct life *life, enum life_fate *fate, bool stood, bool gone,
                       const char *what)
{
    if (stood && !gone && *fate == FATE_GONE)
        return;
    if (fate == &life->dataset && life->deleting && !gone)
        return; /* networks that were read before its keys went still answer */
    if (gone ? *fate == FATE_STANDS : *fate == FATE_GONE)
        life_fail(life, "%s is %s", what, gone ? "gone" : "back");
    *fate = gone ? FATE_GONE : FATE_STANDS;
}

/* Whether FLIGHT ended something is not known. */
static void lose_end(struct life *life, const struct flight *flight)
{
    if (flight->what == LIFE_END)
        lose_fate(&life->release);
    if (flight->what == LIFE_DELETE)
        lose_dataset(life);
    if (flight->what == LIFE_REVOKE)
        lose_fate(&life->student[flight->which]);
}

void life_lose_effect(struct life *life, const struct flight *flight)
{
    lose_end(life, flight);
    life_lose_limit(life, flight);
}

static bool needs_dataset(const struct asked *asked)
{
    return asked->what == LIFE_JOB || asked->which >= 2;
}

static bool is_cut(const struct flight *flight)
{
    return flight->what == LIFE_UPLOAD && flight->variant == SCENE_CUT;
}

static void judge_good(struct life *life, struct flight *flight, const struct api_reply *reply)
{
    struct asked *asked = flight->asked;
    bool same = asked->variant < 0 || asked->variant == (int)flight->variant;
    if (is_cut(flight))
        life_fail(life, "%s: an upload was cut, and answered", asked->key);
    if (!asked->stored) {
        /* A job is told of before anything else happens: no deletion comes in between. */
        bool stood = flight->stood.dataset && asked->what != LIFE_JOB;
        if (needs_dataset(asked))
            learn_fate(life, &life->dataset, stood, false, "the dataset");
        take_answer(life, asked, life_text(reply), reply->body_size);
    } else if (!same || asked->size != reply->body_size ||
               memcmp(asked->answer, life_text(reply), asked->size) != 0) {
        life_fail(life, "%s has two answers:\n%.200s\n%.*s", asked->key, asked->answer, 200,
                  life_text(reply));
    } else {
        life->count[LIFE_REPLAYS]++;
    }
    asked->told = asked->lags;
    asked->variant = (int)flight->variant;
}

static void judge_keyed(struct life *life, struct flight *flight, const struct api_reply *reply)
{
    struct asked *asked = flight->asked;
    if (reply->status < 300) {
        (void)life_judge_time(life, flight, reply);
        judge_good(life, flight, reply);
        return;
    }
    life->count[LIFE_REFUSALS]++;
    if (life_judge_time(life, flight, reply))
        return;
    if (reply->status == 422 && life_says(reply, "idempotency-key-reused")) {
        disk.aside = true;
        if (!asked->stored &&
            asked->what == LIFE_UPLOAD) /* another thread has it, and tells later */
            (void)find_answer(life, asked, false);
        disk.aside = false;
        if (!asked->stored || asked->variant == (int)flight->variant)
            life_fail(life, "%s was not used for another call", asked->key);
        if (!is_cut(flight))
            asked->variant = (int)!flight->variant;
        return;
    }
    if (is_cut(flight) && !flight->stood.answer && life_says(reply, "/problems/validation")) {
        life->count[LIFE_CUT]++;
        life->uploads = true;
        return;
    }
    if (needs_dataset(asked) && !asked->stored) {
        bool gone = life_says(reply, asked->what == LIFE_JOB ? "not-found" : "teacher-silent");
        learn_fate(life, &life->dataset, flight->stood.dataset, gone, "the dataset");
        if (gone)
            return;
    }
    bool exhausted = life_says(reply, "budget-exhausted");
    bool reserved = life_says(reply, "budget-reserved");
    enum model_verdict verdict = weigh_asked(life, asked, false, NULL);
    bool random = asked->what == LIFE_QUESTION && life->scene->teachers[asked->which].random;
    if (asked->stored || (exhausted && (random || verdict != MODEL_EXHAUSTED)) ||
        (reserved && verdict != MODEL_RESERVED) || (!exhausted && !reserved))
        life_fail(life, "%s was refused (by the model: %d%s): %d %.300s", asked->key, verdict,
                  asked->stored ? ", and it has an answer" : "", reply->status, life_text(reply));
}

/* The reply to a request that ends something: 204, or BEFORE when that was done before. */
static void judge_end(struct life *life, enum life_fate *fate, int status, int before,
                      const char *what)
{
    if (status != 204 && status != before)
        life_fail(life, "the end of %s: %d", what, status);
    bool half = fate == &life->dataset && life->deleting; /* silent, and not yet deleted */
    if (status == 204 ? *fate == FATE_GONE && !half : *fate == FATE_STANDS)
        life_fail(life, "%s was %s", what, status == 204 ? "ended twice" : "never ended");
    *fate = FATE_GONE;
}

/* What another server remembers of it is asked for next. */
static void ask_elsewhere(struct life *life, const struct flight *flight)
{
    life->elsewhere = life->server_count > 1;
    life->elsewhere_server = !flight->server;
    life->elsewhere_person =
        flight->what == LIFE_REVOKE ? flight->which : life_draw(life, SCENE_STUDENTS);
}

static bool has_jobs(const struct life *life)
{
    for (int i = 0; i < life->model.job_count; i++)
        if (!life->model.jobs[i].over && !life->model.jobs[i].freed)
            return true;
    return false;
}

/* An answer of a server that may remember says nothing of a FATE that is not known. */
static bool remembers(const struct flight *flight, const enum life_fate *fate, int status)
{
    return flight->stood.passed && status == 200 && *fate == FATE_UNKNOWN;
}

/* True when the reply is a refusal because its student was revoked. */
static bool judge_student(struct life *life, const struct flight *flight, int status)
{
    bool lies = flight->what == LIFE_LIE && flight->which != 3 && flight->which != 4;
    if (flight->person >= SCENE_STUDENTS || lies ||
        remembers(flight, &life->student[flight->person], status))
        return false;
    learn_fate(life, &life->student[flight->person], flight->stood.person, status == 401,
               "a student");
    return status == 401;
}

static void judge_values(struct life *life, const struct flight *flight,
                         const struct api_reply *reply)
{
    const char *values = life->scene->values[flight->which];
    if (strlen(values) != reply->body_size ||
        memcmp(values, life_text(reply), reply->body_size) != 0)
        life_fail(life, "the release was drawn again: %.200s %.200s", values, life_text(reply));
}

static void judge_release(struct life *life, const struct flight *flight,
                          const struct api_reply *reply)
{
    bool is_open = reply->status == 200;
    if (!is_open && reply->status != 404)
        life_fail(life, "the release answers %d", reply->status);
    if (is_open)
        judge_values(life, flight, reply);
    if (is_open && life->release != FATE_GONE && life->student[flight->person] != FATE_GONE)
        life->passed_ms[flight->server][flight->person] = service_clock_ms;
    if (!remembers(flight, &life->release, reply->status))
        learn_fate(life, &life->release, flight->stood.release, !is_open, "the release");
}

/* True when the reply is a refusal because the student whose limit it is was revoked. */
static bool judge_owner(struct life *life, const struct flight *flight, int status)
{
    unsigned student = life_limit_owner(life, flight);
    if (student == SCENE_STUDENTS)
        return false;
    learn_fate(life, &life->student[student], flight->stood.students & 1u << student, status == 404,
               "a student");
    return status == 404;
}

static void judge_other(struct life *life, struct flight *flight, const struct api_reply *reply)
{
    static const int lies[LIFE_LIE_KINDS] = {401, 401, 403, 400, 400, 404};
    int status = reply->status;
    switch (flight->what) {
    case LIFE_CANCEL:
        life->stirred = true;
        if (status == 200 && life_says(reply, "\"state\":\"cancelled\""))
            model_cancel(&life->model, life->model.jobs[flight->which].id);
        if (status != 200 && status != 409)
            life_fail(life, "a cancellation: %d %.200s", status, life_text(reply));
        break;
    case LIFE_CHECKPOINT: life_judge_checkpoint(life, flight, reply); break;
    case LIFE_LOOK:
        if (status != 200)
            life_fail(life, "a job: %d %.200s", status, life_text(reply));
        break;
    case LIFE_RELEASE: judge_release(life, flight, reply); break;
    case LIFE_END:
        judge_end(life, &life->release, status, 409, "the release");
        ask_elsewhere(life, flight);
        break;
    case LIFE_DELETE:
        if (status == 204 && has_jobs(life))
            life_fail(life, "the dataset was deleted under a job");
        if (status != 409 || !has_jobs(life))
            judge_end(life, &life->dataset, status, 404, "the dataset");
        break;
    case LIFE_REVOKE:
        if (status != 204) /* the first time and ever after */
            life_fail(life, "a student is revoked: %d", status);
        life->student[flight->which] = FATE_GONE;
        ask_elsewhere(life, flight);
        break;
    case LIFE_LIMIT:
        if (!judge_owner(life, flight, status))
            life_judge_limit(life, flight, reply);
        break;
    case LIFE_DECIDE:
        if (!judge_owner(life, flight, status))
            life_judge_decision(life, flight, reply);
        break;
    case LIFE_ASK: life_judge_ask(life, flight, reply); break;
    case LIFE_LIE:
        if (status != lies[flight->which])
            life_fail(life, "lie %u: %d %.300s", flight->which, status, life_text(reply));
        life->count[LIFE_LIES + flight->which]++;
        break;
    case LIFE_QUESTION:
    case LIFE_JOB:
    case LIFE_UPLOAD: break;
    }
}

static void forget_flight(struct life *life, struct flight *flight)
{
    unsigned i = 0;
    while (life->flights[i] != flight)
        i++;
    life->flights[i] = life->flights[--life->flight_count];
    free(flight);
}

/* In some lives a reply may not reach its client, who may ask again anywhere. What it had done is
 * found in the database, at once: others of its batch are judged next. True: it is lost. */
static bool lose_reply(struct life *life, const struct flight *flight)
{
    bool ends = flight->what == LIFE_END || flight->what == LIFE_REVOKE;
    if (life->server_count == 1 || !(flight->asked || ends) || !life_chance(life, 16))
        return false;
    lose_end(life, flight);
    disk.aside = true;
    if (flight->asked && find_answer(life, flight->asked, false))
        (void)find_answer(life, flight->asked, true);
    disk.aside = false;
    return true;
}

static void digest_reply(struct life *life, const struct api_reply *reply)
{
    const char *text = life_text(reply);
    life->digest = (life->digest ^ (uint64_t)reply->status) * 0x100000001b3;
    for (size_t i = 0; i < reply->body_size; i++)
        life->digest = (life->digest ^ (unsigned char)text[i]) * 0x100000001b3;
}

/* A server that is still at the old primary, or was, may refuse by what is so there, and tell what
 * it reads there. What it says after a commit is judged as ever. True: nothing more is to be. */
static bool judge_stale(struct life *life, struct flight *flight, const struct api_reply *reply)
{
    if (!(flight->stale || flight->moot) || reply->status >= 500 || flight->what == LIFE_LIE)
        return false;
    life->count[LIFE_STALE] += flight->stale;
    if (flight->what == LIFE_RELEASE && reply->status == 200) {
        judge_values(life, flight, reply);
        life->passed_ms[flight->server][flight->person] = service_clock_ms;
        return true;
    }
    return flight->moot || reply->status >= 300 || flight->what == LIFE_LOOK ||
           flight->what == LIFE_CHECKPOINT;
}

void life_judge(struct life *life, struct flight *flight)
{
    const struct api_reply *reply = &flight->exchange->reply;
    life_note(life, "reply %d to %s %s", reply->status, flight->asked ? "key" : "call",
              flight->exchange->request.path);
    digest_reply(life, reply);
    life_see_clock(life);
    life->count[LIFE_ERRORS] += reply->status >= 500;
    if (reply->status >= 500 && flight->what == LIFE_DELETE) { /* its keys may be gone for ever */
        life->deleting = true;
        lose_dataset(life);
    }
    if (judge_stale(life, flight, reply)) {
        life->count[LIFE_REFUSALS] += reply->status >= 300;
    } else if (reply->status >= 500) {
        if (disk.failures == flight->failures)
            life_fail(life, "%d without a fault: %.300s", reply->status, life_text(reply));
    } else if (lose_reply(life, flight)) {
        life->count[LIFE_LOST]++;
    } else if (judge_student(life, flight, reply->status)) {
        life->count[LIFE_REFUSALS]++;
    } else if (flight->asked) {
        judge_keyed(life, flight, reply);
    } else {
        judge_other(life, flight, reply);
    }
    forget_flight(life, flight);
}

/* ---- after a crash */

void life_lose_flights(struct life *life, unsigned server)
{
    for (unsigned i = 0; i < life->flight_count;) {
        struct flight *flight = life->flights[i];
        if (server != LIFE_SERVERS && flight->server != server) {
            i++;
            continue;
        }
        life_lose_effect(life, flight);
        exchange_let_go(flight->exchange);
        forget_flight(life, flight);
    }
}

/* RANDOM: only answers that were free because an account was spent; else only the others. True when
 * one of the first kind was found that was not told of before: not in the same call. */
static bool find_answer(struct life *life, struct asked *asked, bool random)
{
    struct answer_row row;
    enum db_status status =
        answers_find(life->auditor, life->scene->client[asked->person], asked->key, &row);
    if (status != DB_OK && status != DB_NONE)
        life_fail(life, "the answers cannot be read");
    bool found = status == DB_OK;
    if (asked->stored && !found && life_is_removed(life, asked))
        return false;
    if (asked->stored && (!found || row.body_size != asked->size ||
                          memcmp(row.body, asked->answer, asked->size) != 0))
        life_fail(life, "%s has lost its answer", asked->key);
    bool waits = false;
    if (found && !asked->stored) {
        waits = is_random(row.body, row.body_size) && !random;
        if (!waits) {
            take_answer(life, asked, row.body, row.body_size);
            life->count[LIFE_FOUND]++;
        }
    }
    if (found)
        answer_done(&row);
    return waits;
}

void life_find_uploads(struct life *life)
{
    for (unsigned i = 0; i < life->flight_count; i++) {
        struct flight *flight = life->flights[i];
        if (flight->what != LIFE_UPLOAD || flight->way != SERVICE_ANSWERED ||
            flight->asked->stored || flight->server == disk.server)
            continue;
        (void)find_answer(life, flight->asked, false);
        flight->asked->lags = false;
    }
}

void life_find_answers(struct life *life, bool all)
{
    life_find_limits(life);
    /* In which order they were served is not known. Any order of those that were paid for spends
     * the same, and an account that was spent before is spent after all of them. */
    bool waits[LIFE_ASKED] = {false};
    for (unsigned i = 0; i < life->asked_count; i++)
        if (all || !life->asked[i].stored)
            waits[i] = find_answer(life, &life->asked[i], false);
    for (unsigned i = 0; i < life->asked_count; i++)
        if (waits[i])
            (void)find_answer(life, &life->asked[i], true);
    memset(life->lost, 0, sizeof life->lost);
}
