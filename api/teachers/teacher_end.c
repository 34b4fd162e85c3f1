/* Closing and deleting teachers.
 *
 * DESIGN. Closing lowers the cap over all clients to what is spent, so that the ledger itself pays
 * for no further answer; the ending in the database says why. A teacher has neither data nor
 * weights of its own, so deleting it only hides it: its accounts, its certificate and its settings,
 * of which they speak, stay. Stored answers stay too, because a key must never be drawn for twice,
 * but are not given any more. */
#include <stdio.h>
#include <string.h>

#include "api/call/app.h"
#include "api/call/budget.h"
#include "api/teachers/share.h"
#include "api/teachers/teachers.h"
#include "memory/shelf.h"
#include "storage/endings.h"

enum problem teacher_check_open(struct call *call, const char *teacher)
{
    struct ending ending;
    enum db_status status = endings_find(call->db, teacher, &ending);
    if (status == DB_OK)
        return call_problem(call, PROBLEM_CLOSED,
                            "The teacher was closed by its steward and answers no more. Nothing "
                            "was charged.");
    return call_db(call, db_optional(status));
}

enum problem teacher_shown(struct call *call, struct teacher_row *out)
{
    bool deleted = false;
    enum problem problem = teacher_of_call(call, out);
    if (problem != PROBLEM_NONE)
        return problem;
    enum db_status status = endings_deleted(call->db, out->id, &deleted);
    if (status == DB_OK && deleted)
        return call_problem(call, PROBLEM_NOT_FOUND, "There is no such teacher.");
    return call_db(call, status);
}

struct teacher_silencing {
    struct shelf *teachers;
    char teacher[ID_SIZE];
};

static void silence_teacher(void *what)
{
    const struct teacher_silencing *silencing = what;
    shelf_drop(silencing->teachers, silencing->teacher);
}

/* Takes the teacher off the shelf when the call ends: before the next request of its commit, and
 * before the closing is acknowledged. Queries ask the database for an ending only where the teacher
 * is not on the shelf. */
static void silence_when_closed(struct call *call, const char *teacher)
{
    struct teacher_silencing *silencing = arena_array(&call->arena, 1, sizeof *silencing);
    silencing->teachers = call->app->teachers;
    snprintf(silencing->teacher, sizeof silencing->teacher, "%s", teacher);
    call_defer(call, silence_teacher, silencing);
}

/* Lowers the limit of the cap over all clients to what is spent and held. */
static enum db_status close_cap(struct call *call, const char *id)
{
    struct ledger_account cap;
    enum ledger_verdict verdict;
    enum db_status status = ledger_find(call->db, id, &cap);
    if (status != DB_OK)
        return db_owed(status);
    int64_t units = cap.spent_units + cap.held_units;
    const struct ledger_limit limit = {.account = id,
                                       .epsilon = budget_epsilon(&cap, units),
                                       .delta = cap.delta,
                                       .limit_units = units,
                                       .limit_delta = cap.spent_delta + cap.held_delta,
                                       .client = call->caller.id,
                                       .event = "{\"type\":\"NoOpDpEvent\",\"reason\":\"closed\"}",
                                       .now_ms = call->now_ms};
    status = ledger_set_limit(call->db, &limit, &verdict, NULL);
    if (status == DB_OK && verdict != LEDGER_OK)
        return DB_FAILED;
    return status;
}

enum problem api_teachers_close(struct call *call)
{
    struct teacher_row row;
    struct ending ending = {.closed_ms = call->now_ms};
    enum problem problem = teacher_shown(call, &row);
    if (problem != PROBLEM_NONE)
        return problem;
    memcpy(ending.resource, row.id, ID_SIZE);
    memcpy(ending.client, call->caller.id, ID_SIZE);
    enum db_status status = endings_close(call->db, &ending);
    if (status == DB_OK)
        problem = share_end_all(call, NULL, row.id); /* the cap pays what they have spent */
    if (problem != PROBLEM_NONE)
        return problem;
    if (status == DB_OK)
        status = close_cap(call, row.account);
    if (status != DB_OK && status != DB_NONE)
        return call_db(call, status);
    silence_when_closed(call, row.id);
    return call_reply_json(call, 200, teacher_row_json(call, &row));
}

enum problem api_teachers_delete(struct call *call)
{
    struct teacher_row row;
    struct ending ending;
    enum problem problem = teacher_shown(call, &row);
    if (problem != PROBLEM_NONE)
        return problem;
    enum db_status status = endings_find(call->db, row.id, &ending);
    if (status == DB_NONE)
        return call_problem(call, PROBLEM_CONFLICT,
                            "The teacher is open: POST /v1/teachers/%s:close first.", row.id);
    ending.deleted_ms = call->now_ms;
    if (status == DB_OK)
        status = endings_delete(call->db, &ending);
    return call_reply_done(call, status);
}
