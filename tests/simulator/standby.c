/* What a standby makes of a life. While it lags, the database shows what no standby has: the model
 * follows what is shown, and what the standby has is kept beside it, for a failover. */
#include <stdlib.h>
#include <string.h>

#include "tests/simulator/life.h"

/* The model before anything of the server that ended is found, which the standby may lack. */
static void keep_standby(struct life *life)
{
    struct standby *standby = &life->standby;
    disk.aside = true;
    life_find_uploads(life);
    disk.aside = false;
    standby->model = life->model;
    standby->release = life->release;
    standby->dataset = life->dataset;
    memcpy(standby->student, life->student, sizeof standby->student);
    memcpy(standby->lost, life->lost, sizeof standby->lost);
    life->lags = true;
}

static void find_now(struct life *life, bool all)
{
    disk.aside = true;
    life_find_answers(life, all);
    disk.aside = false;
    life->checked = DISK_UNKNOWN;
    life->stirred = life->uploads = true;
}

void life_server_ended(void *context)
{
    struct life *life = context;
    life_note(life, "server %u ends at a commit that nobody knows%s", disk.server,
              disk.lags ? ", and that is shown" : "");
    life->silent_count = 0;
    for (unsigned i = 0; i < life->flight_count; i++) {
        struct flight *flight = life->flights[i];
        if (flight->server != disk.server)
            continue;
        life_lose_effect(life, flight);
        /* The other server may still have in memory what was read before the keys went. */
        life->deleting = life->deleting || flight->what == LIFE_DELETE;
        if (!flight->asked)
            continue;
        life->silent[life->silent_count].asked = flight->asked;
        life->silent[life->silent_count++].variant = (int)flight->variant;
    }
    if (disk.lags)
        keep_standby(life);
    find_now(life, false);
}

/* The answer is gone with the old primary, unless somebody was given it: then it is missed. */
static void take_back(struct life *life, struct asked *asked)
{
    if (!asked->lags || asked->told)
        return;
    free(asked->answer);
    asked->answer = NULL;
    asked->stored = false;
    asked->variant = -1;
    life->count[LIFE_TAKEN_BACK]++;
}

static void go_back(struct life *life)
{
    const struct standby *standby = &life->standby;
    life->model = standby->model;
    life->release = standby->release;
    life->dataset = standby->dataset;
    memcpy(life->student, standby->student, sizeof life->student);
    memcpy(life->lost, standby->lost, sizeof life->lost);
    for (unsigned i = 0; i < life->asked_count; i++)
        take_back(life, &life->asked[i]);
    for (unsigned i = 0; i < life->flight_count; i++) {
        struct flight *flight = life->flights[i];
        bool names = flight->what == LIFE_CANCEL || flight->what == LIFE_LOOK;
        bool decides = flight->what == LIFE_DECIDE;
        flight->moot = flight->moot || (names && (int)flight->which >= life->model.job_count) ||
                       (decides && (int)flight->which >= life->model.change_count);
    }
}

void life_settled(void *context, bool moved)
{
    struct life *life = context;
    life_note(life, "the standby %s", moved ? "takes over" : "is in step");
    if (moved && life->lags)
        go_back(life);
    for (unsigned i = 0; i < life->asked_count; i++)
        life->asked[i].lags = life->asked[i].told = false;
    life->lags = false;
    life->silent_count = 0;
    if (moved && !disk.dead)
        find_now(life, true);
}

void life_stranded(void *context)
{
    struct life *life = context;
    unsigned server = disk.behind >> 1;
    life_note(life, "server %u stays at the old primary", server);
    for (unsigned i = 0; i < life->flight_count; i++)
        if (life->flights[i]->server == server)
            life->flights[i]->stale = true;
}

static void threaten(struct life *life)
{
    static const enum disk_wait firsts[] = {DISK_SHOWN, DISK_SHOWN, DISK_LOST, DISK_TAKEN};
    disk.strands = life_chance(life, 2) ? 1 + life_draw(life, 300) : 0;
    if (life_chance(life, 3)) {
        disk.moves_at = disk.calls + life_draw(life, 40);
        life_note(life, "fails over in %lld calls", (long long)(disk.moves_at - disk.calls));
        return;
    }
    disk.waits_at_try = disk.tries + life_draw(life, 4);
    disk.first = firsts[life_draw(life, 4)];
    disk.next = life_draw(life, DISK_OUTDATED);
    life_note(life, "waits for the standby in %lld commits: %d, %d",
              (long long)(disk.waits_at_try - disk.tries), disk.first, disk.next);
}

/* Clients whose server fell silent ask the other one. */
static bool ask_again(struct life *life)
{
    if (life->silent_count == 0)
        return false;
    unsigned i = life_draw(life, life->silent_count);
    life->again = life->silent[i].asked;
    life->again_variant = life->silent[i].variant;
    life->count[LIFE_AGAIN]++;
    life_send(life);
    life->again = NULL;
    life_run_one(life);
    return true;
}

bool life_stand_by(struct life *life)
{
    if (!disk.lags) {
        if (disk.behind != 0 && life_chance(life, 2))
            return ask_again(life);
        if (!life_chance(life, 60))
            return false;
        threaten(life);
        return true;
    }
    switch (life_draw(life, 10)) {
    case 0: disk_catch_up(); return true;
    case 1:
        if (disk.running == 0)
            disk_fail_over();
        return true;
    case 2:
    case 3:
    case 4:
    case 5: return ask_again(life);
    default: return false;
    }
}
