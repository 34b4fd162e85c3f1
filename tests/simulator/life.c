#include "tests/simulator/life.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/database.h"
#include "tests/unit/noninterference/chance.h"

#define DEPTH_MOST 2 /* threads that stand still while others go on */

/* ---- draws and notes */

static uint64_t draw_word(struct life *life)
{
    /* splitmix64, Steele, Lea and Flood 2014 */
    uint64_t z = life->state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

unsigned life_draw(struct life *life, unsigned count)
{
    return (unsigned)((draw_word(life) >> 32) * count >> 32);
}

bool life_chance(struct life *life, unsigned count)
{
    return life_draw(life, count) == 0;
}

void life_fail(struct life *life, const char *format, ...)
{
    va_list arguments;
    if (life->failure[0] != '\0')
        return;
    int at = snprintf(life->failure, sizeof life->failure,
                      "step %llu: ", (unsigned long long)life->count[LIFE_STEPS]);
    va_start(arguments, format);
    vsnprintf(life->failure + at, sizeof life->failure - (size_t)at, format, arguments);
    va_end(arguments);
}

void life_note(struct life *life, const char *format, ...)
{
    va_list arguments;
    char *line = life->trace[life->noted++ % LIFE_TRACE];
    int at = snprintf(line, sizeof life->trace[0], "%llu.%u ",
                      (unsigned long long)life->count[LIFE_STEPS], life->depth);
    va_start(arguments, format);
    vsnprintf(line + at, sizeof life->trace[0] - (size_t)at, format, arguments);
    va_end(arguments);
}

unsigned life_draw_server(struct life *life)
{
    if (disk.ended != 0)
        return disk.ended & 1; /* the other one */
    return life->server_count > 1 ? life_draw(life, life->server_count) : 0;
}

static bool is_over(const struct life *life)
{
    return disk_is_dead() || life->failure[0] != '\0';
}

/* ---- checking */

static bool has_busy_worker(const struct life *life)
{
    for (unsigned i = 0; i < life->server_count; i++)
        if (life->servers[i].worker_busy[0] || life->servers[i].worker_busy[1])
            return true;
    return false;
}

static void check_life(struct life *life)
{
    char why[MODEL_WHY];
    /* Without a commit nothing on the disk is another, and what is in memory is nobody's answer. */
    if (is_over(life) || (life->checked == disk.commits && !life->stirred))
        return;
    life->checked = disk.commits;
    disk.aside = true;
    bool idle = !has_busy_worker(life);
    if (life->stirred && !model_end_jobs(&life->model, life->auditor, idle, why))
        life_fail(life, "%s", why);
    life->stirred = false;
    if (life->uploads)
        life_check_uploads(life, false);
    if (!model_compare(&life->model, life->auditor, why))
        life_fail(life, "%s", why);
    disk.aside = false;
}

/* ---- what can happen */

#define NOBODY LIFE_SERVERS

static void take_step(struct life *life);
static enum api_job_turn take_turn(struct life *life);

static bool plans_job(const struct life *life)
{
    for (unsigned i = 0; i < life->flight_count; i++)
        if (life->flights[i]->what == LIFE_JOB && life->flights[i]->way == SERVICE_ANSWERED)
            return true;
    return false;
}

/* What a thread that stands still has to fear most. */
static void cross_threads(struct life *life)
{
    if (has_busy_worker(life) && life_chance(life, 6)) {
        service_clock_ms += 60000; /* so long that another worker takes its job */
        (void)take_turn(life);
    } else if (plans_job(life) && life_chance(life, 4)) {
        life->deletes = true; /* the data that it is about */
        life_send(life);
        life->deletes = false;
        life_run_one(life);
    } else {
        return;
    }
    check_life(life);
}

/* What other threads do while one stands still outside of any transaction. */
static void meanwhile(void *context)
{
    struct life *life = context;
    if (!disk.between || life->depth >= DEPTH_MOST || !life_chance(life, 24) || is_over(life))
        return;
    life->stirred = true; /* the one that stands still may have ended a job */
    check_life(life);
    life->depth++;
    cross_threads(life);
    for (unsigned i = 1 + life_draw(life, 4); i > 0 && !is_over(life); i--)
        take_step(life);
    life->depth--;
}

static struct flight *draw_flight(struct life *life, unsigned server, enum service_way way)
{
    unsigned found = 0;
    struct flight *flight = NULL;
    for (unsigned i = 0; i < life->flight_count; i++)
        if (life->flights[i]->way == way && life->flights[i]->server == server &&
            life_chance(life, ++found))
            flight = life->flights[i];
    return flight;
}

/* The committer takes some of what waits, in any order. */
static void commit_some(struct life *life, unsigned most)
{
    struct exchange *list = NULL;
    struct flight *flight;
    unsigned count = 0, server = life_draw_server(life);
    while (count < most && (flight = draw_flight(life, server, SERVICE_BATCH))) {
        flight->way = SERVICE_ANSWERED;
        flight->exchange->next = list;
        list = flight->exchange;
        count++;
    }
    if (!list)
        return;
    life_note(life, "commit %u", count);
    life->count[LIFE_BATCHES]++;
    unsigned before = disk_enter(server);
    service_commit(&life->servers[server], list);
    while (list && !disk_is_dead()) {
        struct exchange *rest = list->next;
        exchange_finish(list);
        list = rest;
    }
    disk.server = before;
}

void life_run_one(struct life *life)
{
    unsigned i = 0, number = life_draw_server(life);
    struct service *server = &life->servers[number];
    while (i < SERVICE_POOL && server->pool_busy[i])
        i++;
    struct flight *flight = i < SERVICE_POOL ? draw_flight(life, number, SERVICE_THREAD) : NULL;
    if (!flight)
        return;
    life_note(life, "pool %u: %s", i, flight->exchange->request.path);
    flight->way = SERVICE_ANSWERED;
    life->stirred = true;
    unsigned before = disk_enter(number);
    service_run(server, i, flight->exchange);
    if (!disk_is_dead())
        exchange_finish(flight->exchange);
    disk.server = before;
}

static bool pulse(void *context)
{
    struct life *life = context;
    service_clock_ms += life_draw(life, 300);
    meanwhile(life);
    return is_over(life) || (life_chance(life, 60) && life->flight_count > 0);
}

static void worker_waits(void *context, int64_t ms)
{
    service_clock_ms += ms;
    meanwhile(context);
}

static enum api_job_turn take_turn(struct life *life)
{
    unsigned i = 0;
    char name[32], note[256];
    unsigned number = life_draw_server(life);
    struct service *service = &life->servers[number];
    while (i < SERVICE_WORKERS && service->worker_busy[i])
        i++;
    if (i == SERVICE_WORKERS)
        return API_JOB_NONE;
    snprintf(name, sizeof name, "%u-%u", life->processes, SERVICE_WORKERS * number + i);
    const struct api_job_control control = {
        .worker = name, .stop_requested = pulse, .context = life, .wait = worker_waits};
    service->worker_busy[i] = true;
    life->count[LIFE_TURNS]++;
    unsigned before = disk_enter(number);
    enum api_job_turn turn = api_job_turn(service->app, service->worker[i], &control, note);
    database_heed(service->worker[i]);
    disk.server = before;
    service->worker_busy[i] = false;
    life->stirred = true;
    life->count[LIFE_ROBBED] += strstr(note, "another worker") != NULL;
    life_note(life, "worker %u: %d %s %s", i, turn, note,
              turn == API_JOB_FAILED_STORAGE ? db_last_error(service->worker[i]) : "");
    return turn;
}

static void move_clock(struct life *life)
{
    static const int spans[] = {10, 900, 1500, 20000, 45000, 3600000, -300, -5000};
    int64_t span = spans[life_draw(life, sizeof spans / sizeof spans[0])];
    if (service_keep_days > 0 && life_chance(life, 6))
        span = ((int64_t)life_draw(life, 14) - 3) * 86400000;
    life_note(life, "clock %lld ms", (long long)span);
    life_see_clock(life);
    service_clock_ms += span;
    life_see_clock(life);
}

static void let_disk_fail(struct life *life)
{
    static const enum db_status statuses[] = {DB_FAILED, DB_FULL, DB_RETRY};
    disk.fails_at = disk.calls + life_draw(life, 40);
    disk.failure = statuses[life_draw(life, 3)];
    disk.stays = life_chance(life, 3);
    life_note(life, "disk fails %d in %lld%s", disk.failure,
              (long long)(disk.fails_at - disk.calls), disk.stays ? " and on" : "");
}

static void let_process_end(struct life *life)
{
    unsigned left = life_draw(life, 60);
    bool at_commit = life_chance(life, 2);
    if (at_commit)
        disk.dies_at_try = disk.tries + left % 4;
    else
        disk.dies_at = disk.calls + left;
    disk.keeps = life_chance(life, 2);
    life_note(life, "ends in %u %s", at_commit ? left % 4 : left, at_commit ? "commits" : "calls");
}

/* A long log makes the next start slow. */
static void empty_log(struct life *life)
{
    if (disk.lags)
        return;
    disk.aside = true;
    (void)db_run(life->auditor, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, 0, NULL, NULL);
    disk.aside = false;
}

static void take_step(struct life *life)
{
    unsigned dice = life_draw(life, 1000);
    if (++life->count[LIFE_STEPS] % 128 == 0 && life->depth == 0)
        empty_log(life);
    if (life->server_count > 1 && life_stand_by(life))
        ; /* that was all */
    else if (dice < 540)
        life_send(life);
    else if (dice < 850)
        commit_some(life, 1 + life_draw(life, 6));
    else if (dice < 920)
        life_run_one(life);
    else if (dice < 930)
        (void)take_turn(life);
    else if (dice < 968)
        move_clock(life);
    else if (dice < 970)
        life_rotate(life);
    else if (dice < 980)
        let_disk_fail(life);
    else if (dice < 990 || (dice < 997 && service_keep_days == 0))
        disk_heal();
    else if (dice < 997)
        life_prune(life);
    else if (dice < 999)
        let_process_end(life);
    else
        disk.dead = life_chance(life, 2);
    check_life(life);
}

/* ---- processes */

/* Ends the process, if there is one, and gives what it leaves in FROM to the next one, in
 * DIRECTORY. False: it cannot. */
static bool leave_files(struct life *life, const char *from, char directory[112])
{
    bool first = life->processes == 0; /* one that did not start leaves its folder, too */
    bool stays = !first && disk.shares;
    snprintf(directory, 112, "%s.%u", life->scene->directory, ++life->processes);
    if (stays)
        snprintf(directory, 112, "%s", from);
    else if (!(first ? disk_copy : disk_move)(from, directory))
        return false;
    disk.dead = true; /* it ends as it stands */
    for (unsigned i = 0; !first && i < life->server_count; i++)
        service_end(&life->servers[i]);
    disk_leave_old();
    if (!first && !stays)
        disk_remove(from);
    snprintf(life->directory, sizeof life->directory, "%s", directory);
    snprintf(disk.place, sizeof disk.place, "%s", directory);
    return true;
}

static bool start_server(struct life *life, unsigned i, const char *directory, bool audits,
                         char why[400])
{
    struct service *server = &life->servers[i];
    memset(life->passed_ms[i], 0, sizeof life->passed_ms[i]);
    unsigned before = disk_enter(i);
    bool started = service_start(server, directory, audits, why, 400);
    disk.server = before;
    if (i == 0)
        life->auditor = server->auditor;
    if (started)
        life_learn_kept(life, server->answers_from_ms);
    return started;
}

/* The threats that were drawn. */
static void call_off(void)
{
    disk_heal();
    disk.dies_at = disk.dies_at_try = disk.waits_at_try = disk.moves_at = DISK_NEVER;
}

/* Server I ends as it stands, while the other one goes on. */
static void end_one(struct life *life, unsigned i)
{
    life_note(life, "server %u ends alone", i);
    life->count[LIFE_ALONE]++;
    life_lose_flights(life, i);
    disk.ended |= 1u << i;
    if (life->auditor == life->servers[i].auditor)
        life->auditor = life->servers[!i].auditor;
    if (disk.behind & 1u << i)
        disk_leave_old();
    unsigned before = disk_enter(i);
    service_end(&life->servers[i]);
    disk.server = before;
}

/* It begins anew. */
static void begin_one(struct life *life, unsigned i)
{
    char why[400] = "";
    call_off();
    disk.ended &= ~(1u << i);
    disk.between = NULL;
    if (!start_server(life, i, life->directory, false, why))
        life_fail(life, "server %u does not start: %s", i, why);
    disk.aside = true;
    if (life->failure[0] == '\0')
        life_find_answers(life, false);
    disk.aside = false;
    disk.between = meanwhile;
    life->stirred = true;
    check_life(life);
}

/* Ends what is left of a server that ended alone, and begins it anew: no connection is opened while
 * the standby lags. Or lets one end between two of its calls. */
static void tend_servers(struct life *life)
{
    unsigned i = disk.ended != 0 ? disk.ended >> 1 : life_draw_server(life);
    if (disk.ended == 0 && (disk.lags || !life_chance(life, 100)))
        return;
    if (life->servers[i].app)
        end_one(life, i);
    if (!disk.lags)
        begin_one(life, i);
}

/* ALL: what it finds is audited. So it is by a process that may end meanwhile. No other one audits:
 * nothing in the ledger is ever mended, so what one finds the last of the life finds, too (but an
 * answer whose time is over then). */
static bool start_process(struct life *life, const char *from, bool all)
{
    char directory[112], why[400] = "";
    if (!leave_files(life, from, directory)) {
        life_fail(life, "the data directory cannot be moved");
        return false;
    }
    disk.strands = 0;
    if (disk.lags)
        (life_chance(life, 2) ? disk_catch_up : disk_fail_over)();
    disk.dead = disk.unheeded = false;
    disk.ended = 0;
    call_off();
    if (life_chance(life, 8) && life->processes > 1)
        disk.dies_at = disk.calls + life_draw(life, 100); /* it may end while it starts */
    bool audits = all || !disk.shares || disk.dies_at != DISK_NEVER;
    disk.sound = !audits;
    bool started = true;
    for (unsigned i = 0; i < life->server_count && started; i++)
        started = start_server(life, i, directory, audits && i == 0, why);
    life_note(life, "process %u", life->processes);
    if (started && !life_chance(life, 4))
        empty_log(life);
    if (!started && !disk.dead)
        life_fail(life, "process %u does not start: %s", life->processes, why);
    return started;
}

/* The process has ended: the next one recovers from what is on disk. */
static void next_process(struct life *life, bool all)
{
    char from[112];
    bool lagged = disk.lags;
    life->count[LIFE_CRASHES]++;
    life_lose_flights(life, LIFE_SERVERS);
    do {
        snprintf(from, sizeof from, "%s", life->directory);
        (void)start_process(life, from, all);
    } while (disk.dead && life->failure[0] == '\0');
    disk.aside = true;
    if (life->failure[0] == '\0')
        life_find_answers(life, all || lagged);
    if (life->failure[0] == '\0' && life->server_count == 1) /* else they may be another's */
        life_check_uploads(life, true);
    if (life->failure[0] == '\0' && (all || lagged)) {
        life_check_shown(life);
        life_read_uploads(life);
    }
    disk.aside = false;
    life->stirred = life->uploads = true;
    check_life(life);
}

/* Serves and runs all that waits, with a disk that works. */
static void come_to_rest(struct life *life)
{
    call_off();
    disk.strands = 0;
    disk_leave_old();
    if (disk.lags)
        (life_chance(life, 2) ? disk_catch_up : disk_fail_over)();
    if (disk.ended != 0)
        tend_servers(life);
    disk.between = NULL;
    while (life->flight_count > 0 && !is_over(life)) {
        commit_some(life, LIFE_FLIGHTS);
        life_run_one(life);
    }
    life->stirred = true;
    check_life(life);
    for (unsigned i = 0; life->model.jobs_over < life->model.job_count && !is_over(life); i++) {
        /* The clock may have been put back by days since a worker took a job and left it. */
        service_clock_ms += i < MODEL_JOBS ? 60000 : 3600000;
        (void)take_turn(life);
        check_life(life);
        if (i > 20u * MODEL_JOBS)
            life_fail(life, "jobs never end");
    }
    for (int i = 0; i < life->model.account_count; i++)
        if (life->model.accounts[i].held.units != 0 || life->model.accounts[i].held.delta != 0)
            life_fail(life, "something is held, and all jobs are over");
    if (life->failure[0] == '\0')
        next_process(life, true);
}

bool life_run(struct life *life, const struct scene *scene, uint64_t seed, unsigned steps)
{
    *life = (struct life){.scene = scene, .seed = seed, .state = seed};
    uint64_t failures = disk.failures, hits = disk.hits;
    memset(disk.ends, 0, sizeof disk.ends);
    life->model = scene->model;
    service_clock_ms = scene->clock_ms;
    chance_begin(seed);
    memset(disk.waits, 0, sizeof disk.waits);
    disk.moves = disk.ended = disk.strands = 0;
    disk.server = NOBODY;
    disk.aside = disk.dead = disk.lags = disk.unheeded = false;
    disk.shares = seed % 16 != 0 && !disk.apart;
    service_keep_days = seed % 2 != 0 ? 0 : LIFE_KEPT_DAYS;
    life->server_count = seed % 8 == 5 || seed % 8 == 6 ? LIFE_SERVERS : 1;
    disk.servers = (1u << life->server_count) - 1;
    disk.alone = life_server_ended;
    disk.stranded = life_stranded;
    disk.settled = life_settled;
    disk_is_shared(life->server_count > 1);
    disk.context = life;
    disk_keeps_logs();
    disk.between = NULL;
    if (start_process(life, scene->directory, false))
        disk.between = meanwhile;
    for (unsigned i = 0; i < steps && life->failure[0] == '\0'; i++) {
        take_step(life);
        if (disk.dead && life->failure[0] == '\0') {
            disk.between = NULL;
            next_process(life, false);
            disk.between = meanwhile;
        } else if (life->server_count > 1 && !is_over(life)) {
            tend_servers(life);
        }
    }
    if (life->failure[0] == '\0')
        come_to_rest(life);
    life->count[LIFE_FAULTS] = disk.failures - failures;
    life->count[LIFE_HITS] = disk.hits - hits;
    memcpy(&life->count[LIFE_ENDS], disk.ends, sizeof disk.ends);
    memcpy(&life->count[LIFE_WAITS], disk.waits, sizeof disk.waits);
    life->count[LIFE_MOVES] = disk.moves;
    life->count[LIFE_JOBS_OVER] = (uint64_t)life->model.jobs_over;
    disk.dead = true;
    life_lose_flights(life, LIFE_SERVERS);
    for (unsigned i = 0; i < life->server_count; i++)
        service_end(&life->servers[i]);
    disk_leave_old();
    disk_part();
    disk_remove(life->directory);
    disk.dead = false;
    for (unsigned i = 0; i < life->asked_count; i++)
        free(life->asked[i].answer);
    return life->failure[0] == '\0';
}
