/* Limits of accounts: how replies to changes of them are judged, and what is found out about those
 * without a reply. */
#include <stdio.h>
#include <string.h>

#include "tests/simulator/life.h"

/* ---- replies */

static void set_limit(struct life *life, int account, unsigned limit)
{
    model_set_limit(&life->model, account, life->scene->limits[account].of[limit]);
    life->checked = DISK_UNKNOWN;
    life->count[LIFE_LIMITS]++;
}

static bool may_be(const struct life *life, int account, unsigned limit)
{
    return model_may_be(&life->model, account, life->scene->limits[account].of[limit]);
}

static bool has_open_change(const struct model *model, int account)
{
    for (int i = 0; i < model->change_count; i++)
        if (model->changes[i].account == account && model->changes[i].state == MODEL_OPEN)
            return true;
    return false;
}

static void propose(struct life *life, const struct flight *flight, const struct api_reply *reply)
{
    char id[ID_SIZE];
    scene_text(life_text(reply), "id", id);
    model_propose(&life->model, id, (int)flight->which, flight->other, flight->person);
}

/* The status that a limit must get. */
static int expect_limit(struct life *life, const struct flight *flight)
{
    const int account = (int)flight->which;
    if (flight->revision != 0 && flight->revision != life->model.accounts[account].revision)
        return 412;
    if (!may_be(life, account, flight->other))
        return 409;
    if (!life->scene->limits[account].two)
        return 200;
    return has_open_change(&life->model, account) ? 409 : 202;
}

void life_judge_limit(struct life *life, const struct flight *flight, const struct api_reply *reply)
{
    const int account = (int)flight->which, expected = expect_limit(life, flight);
    if (reply->status != expected)
        life_fail(life, "a limit: %d, and %d is right: %.300s", reply->status, expected,
                  life_text(reply));
    life->count[LIFE_LIMITS_LOW] += expected == 409;
    life->count[LIFE_LIMITS_OLD] += expected == 412;
    if (expected == 200)
        set_limit(life, account, flight->other);
    if (expected == 202)
        propose(life, flight, reply);
}

/* The status that a student must get who asks for a larger limit. */
static int expect_ask(struct life *life, const struct flight *flight)
{
    const int account = (int)flight->which;
    if (life->scene->limits[account].of[flight->other].units <=
        life->model.accounts[account].limit.units)
        return 422;
    return has_open_change(&life->model, account) ? 409 : 201;
}

void life_judge_ask(struct life *life, const struct flight *flight, const struct api_reply *reply)
{
    const int expected = expect_ask(life, flight);
    if (reply->status != expected)
        life_fail(life, "a larger limit: %d, and %d is right: %.300s", reply->status, expected,
                  life_text(reply));
    if (expected == 201)
        propose(life, flight, reply);
    life->count[LIFE_ASKED_FOR] += expected == 201;
}

bool life_is_request(const struct model_change *change)
{
    return change->proposer < SCENE_STUDENTS;
}

unsigned life_limit_owner(const struct life *life, const struct flight *flight)
{
    if (flight->what == LIFE_LIMIT)
        return life->scene->limits[flight->which].student;
    const struct model_change *change = &life->model.changes[flight->which];
    bool gives = change->state == MODEL_OPEN && flight->other == MODEL_APPROVED &&
                 flight->given <= change->limit;
    return gives ? life->scene->limits[change->account].student : SCENE_STUDENTS;
}

/* The status that a decision must get. */
static int expect_decision(struct life *life, const struct flight *flight)
{
    const struct model_change *change = &life->model.changes[flight->which];
    if (change->state != MODEL_OPEN)
        return 409;
    if (flight->other != MODEL_APPROVED)
        return 200;
    if (flight->person == change->proposer)
        return 403;
    if (flight->given > change->limit)
        return 422;
    const struct model_amount *of = life->scene->limits[change->account].of;
    if (life_is_request(change) &&
        of[flight->given].units < life->model.accounts[change->account].limit.units)
        return 409;
    return may_be(life, change->account, flight->given) ? 200 : 409;
}

void life_judge_decision(struct life *life, const struct flight *flight,
                         const struct api_reply *reply)
{
    struct model_change *change = &life->model.changes[flight->which];
    const int expected = expect_decision(life, flight);
    if (reply->status != expected)
        life_fail(life, "a decision: %d, and %d is right: %.300s", reply->status, expected,
                  life_text(reply));
    life->count[LIFE_DECIDED_AGAIN] += change->state != MODEL_OPEN;
    life->count[LIFE_DECIDED_ALONE] += expected == 403;
    if (expected != 200)
        return;
    change->state = flight->other;
    life->count[LIFE_DECIDED]++;
    if (change->state != MODEL_APPROVED)
        return;
    set_limit(life, change->account, flight->given);
    life->count[LIFE_GIVEN] += life_is_request(change);
}

/* ---- without a reply */

static void lose_limit(struct life *life, int account, unsigned limit)
{
    life->lost[account].limits |= 1u << limit;
    life->lost[account].count++;
}

void life_lose_limit(struct life *life, const struct flight *flight)
{
    if (flight->what == LIFE_DECIDE && !flight->moot) {
        struct model_change *change = &life->model.changes[flight->which];
        change->lost |= 1u << flight->other;
        if (flight->other == MODEL_APPROVED)
            lose_limit(life, change->account, flight->given);
    } else if (flight->what == LIFE_ASK ||
               (flight->what == LIFE_LIMIT && life->scene->limits[flight->which].two)) {
        life->lost[flight->which].proposals |= 1u << flight->other;
    } else if (flight->what == LIFE_LIMIT) {
        lose_limit(life, (int)flight->which, flight->other);
    }
}

static enum db_status read_limit(void *context, const struct db_row *row)
{
    struct model_account *is = context;
    is->limit = (struct model_amount){db_row_integer(row, 0), db_row_integer(row, 1)};
    is->revision = db_row_integer(row, 2);
    return DB_OK;
}

/* The limit of ACCOUNT is as before, or one that was asked for, and was set as often as it can. */
static void find_limit(struct life *life, int account)
{
    struct model_account *was = &life->model.accounts[account], is = {.revision = 0};
    const struct model_amount *of = life->scene->limits[account].of;
    if (db_one(life->auditor,
               "SELECT limit_units, limit_delta, (SELECT count(*) FROM ledger_entries WHERE "
               "account = $1 AND kind IN ('open', 'limit')) FROM ledger_accounts WHERE id = $1",
               DB_VALUES(db_text(was->id)), read_limit, &is) != DB_OK)
        life_fail(life, "an account cannot be read");
    int64_t more = is.revision - was->revision;
    if (more < 0 || more > life->lost[account].count)
        life_fail(life, "the limit of %s was set %lld times, and %d were asked for", was->id,
                  (long long)more, life->lost[account].count);
    for (unsigned i = 0; i < SCENE_BUDGETS && more > 0; i++)
        if (life->lost[account].limits & 1u << i && is.limit.units == of[i].units)
            was->limit = of[i];
    was->revision = is.revision;
    life->count[LIFE_LIMITS_FOUND] += more > 0;
}

struct finding {
    struct life *life;
    int seen;
};

/* A change that had no reply, if it was asked for. */
static struct model_change *find_proposal(struct life *life, const struct db_row *row)
{
    struct model *model = &life->model;
    int account = 0;
    unsigned limit = 0, proposer = 0;
    while (account < model->account_count &&
           strcmp(model->accounts[account].id, db_row_text(row, 1)) != 0)
        account++;
    const struct scene_limits *limits = &life->scene->limits[account];
    while (limit < SCENE_BUDGETS && scene_epsilon(limits, limit) != db_row_real(row, 2))
        limit++;
    while (proposer < SCENE_PEOPLE &&
           strcmp(life->scene->client[proposer], db_row_text(row, 3)) != 0)
        proposer++;
    if (account == model->account_count || !(life->lost[account].proposals & 1u << limit))
        return NULL;
    life->count[LIFE_LIMITS_FOUND]++;
    return model_propose(model, db_row_text(row, 0), account, limit, proposer);
}

static enum db_status find_change(void *context, const struct db_row *row)
{
    static const char *const states[] = {"open", "approved", "declined"};
    struct finding *finding = context;
    struct life *life = finding->life;
    const char *id = db_row_text(row, 0);
    struct model_change *change = NULL;
    for (int i = 0; i < life->model.change_count && !change; i++)
        if (strcmp(life->model.changes[i].id, id) == 0)
            change = &life->model.changes[i];
    finding->seen++;
    if (!change && !(change = find_proposal(life, row))) {
        life_fail(life, "%s is a change that nobody asked for", id);
        return DB_FAILED;
    }
    enum model_state state = MODEL_OPEN;
    while (strcmp(states[state], db_row_text(row, 4)) != 0)
        state++;
    if (state != change->state && !(change->state == MODEL_OPEN && change->lost & 1u << state))
        life_fail(life, "%s is %s and was %s", id, states[state], states[change->state]);
    change->state = state;
    change->lost = 0;
    return DB_OK;
}

/* Each approval has set the limit once, and nothing else has. */
static void check_approvals(struct life *life, int account)
{
    int64_t revision = life->scene->model.accounts[account].revision;
    for (int i = 0; i < life->model.change_count; i++)
        revision += life->model.changes[i].account == account &&
                    life->model.changes[i].state == MODEL_APPROVED;
    if (life->scene->limits[account].two && life->model.accounts[account].revision != revision)
        life_fail(life, "the limit of %s was set without an approval, or approved and not set",
                  life->model.accounts[account].id);
}

void life_find_limits(struct life *life)
{
    struct finding finding = {.life = life};
    for (int i = 0; i < life->model.account_count; i++)
        if (life->lost[i].count > 0)
            find_limit(life, i);
    if (db_run(life->auditor,
               "SELECT id, account, epsilon, proposer, state, created_ms FROM limit_changes "
               "UNION ALL SELECT r.id, a.id, r.epsilon, r.client, r.state, r.created_ms FROM "
               "budget_requests AS r JOIN ledger_accounts AS a ON a.kind = 'client' AND "
               "a.resource = r.teacher AND a.client = r.client ORDER BY 6, 1",
               NULL, 0, find_change, &finding) != DB_OK ||
        finding.seen != life->model.change_count)
        life_fail(life, "%d changes of limits are there, and %d were asked for", finding.seen,
                  life->model.change_count);
    for (int i = 0; i < life->model.account_count; i++)
        check_approvals(life, i);
}
