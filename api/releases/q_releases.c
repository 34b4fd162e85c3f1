/* Showing, asking and ending released Q-functions.
 *
 * DESIGN. An answer is a function of the release alone: nothing is drawn, debited or stored, so
 * asking is a read, and a crash has nothing to lose. Ending a release first erases its encrypted
 * text. A copy that a thread still holds serves only calls that have already begun. */
#include "api/releases/q_releases.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/call/certificates.h"
#include "api/call/fields.h"
#include "api/call/page.h"
#include "api/call/pass.h"
#include "api/call/project.h"
#include "api/call/sealed.h"
#include "api/json/json_text.h"
#include "api/policies/network_export.h"
#include "api/releases/q_shelf.h"
#include "api/wire/q_terms_json.h"

enum db_status q_release_store(const struct app *app, struct db *db, struct q_release_row *row,
                               const struct q_release *release, const char *certificate_text)
{
    unsigned char *sealed = NULL;
    size_t size = 0, sealed_size = 0;
    json_t *json = q_terms_json(q_release_terms(release));
    enum db_status status = DB_MEMORY;
    row->terms = json_text_write(json, false, &size);
    json_decref(json);
    unsigned char *secret = q_release_to_bytes(release, &size);
    if (sealed_close(app, "", row->id, secret, size, &sealed, &sealed_size))
        status = q_releases_insert(db, row, sealed, sealed_size, certificate_text);
    sodium_memzero(secret, size);
    free(secret);
    free(sealed);
    q_release_row_done(row);
    return status;
}

/* ---- showing */

static json_t *release_json(struct call *call, const struct q_release_row *row)
{
    const char *state = "open";
    if (row->ended_ms != 0)
        state = "ended";
    json_t *terms = json_text_stored(row->terms);
    json_t *json =
        json_pack("{s:s, s:s, s:s, s:o, s:o, s:s, s:s, s:o, s:o}", "id", row->id, "name", row->name,
                  "state", state, "environment", json_text_or_null(row->environment), "dataset",
                  json_text_or_null(row->dataset), "job", row->job, "certificate", row->certificate,
                  "created_at", json_time(row->created_ms), "ended_at", json_time(row->ended_ms));
    json_members_add(&json, terms);
    json_decref(terms);
    return project_add(call, json, row->owner);
}

static bool release_list_one(void *context, const struct q_release_row *row)
{
    struct page *page = context;
    return page_add(page, release_json(page->call, row), row->created_ms, row->id);
}

enum problem api_q_releases_list(struct call *call)
{
    struct page page;
    enum problem problem = page_read(call, &page);
    if (problem != PROBLEM_NONE)
        return problem;
    return page_end(&page, q_releases_list(call->db, page_owner(&page), call_guest(call),
                                           &page.rows, release_list_one, &page));
}

static void free_row(void *row)
{
    q_release_row_done(row);
}

static enum problem release_unknown(struct call *call)
{
    return call_problem(call, PROBLEM_NOT_FOUND, "There is no such release.");
}

enum problem q_release_of_owner(struct call *call, const char *id, char owner[ID_SIZE])
{
    struct q_release_row row = {0};
    enum db_status status = q_releases_find(call->db, id, &row);
    bool answers = status == DB_OK && row.ended_ms == 0 && call_owns(call, row.owner);
    memcpy(owner, row.owner, ID_SIZE);
    q_release_row_done(&row);
    if (status != DB_OK && status != DB_NONE)
        return call_db(call, status);
    if (answers)
        return PROBLEM_NONE;
    return release_unknown(call);
}

/* Finds the release {id} if the caller may see it: its steward always, a student until the release
 * has ended. *OUT is valid for the life of the call. */
static enum problem release_of_call(struct call *call, struct q_release_row **out)
{
    struct q_release_row *row = arena_array(&call->arena, 1, sizeof *row);
    enum db_status status = q_releases_find(call->db, call_parameter(call, "id"), row);
    if (status == DB_OK) {
        call_defer(call, free_row, row);
        if (row->ended_ms != 0 && !call_is(call, ROLE_STEWARD))
            status = DB_NONE;
    }
    status = project_shows(call, status, row->owner);
    if (status == DB_NONE)
        return release_unknown(call);
    if (status != DB_OK)
        return call_db(call, status);
    *out = row;
    return PROBLEM_NONE;
}

enum problem api_q_releases_get(struct call *call)
{
    struct q_release_row *row = NULL;
    enum problem problem = release_of_call(call, &row);
    if (problem != PROBLEM_NONE)
        return problem;
    assert(row);
    return call_reply_json(call, 200, release_json(call, row));
}

enum problem api_q_releases_certificate(struct call *call)
{
    struct q_release_row *row = NULL;
    char id[ID_SIZE], owner[ID_SIZE], *text = NULL;
    if (!call_is(call, ROLE_AUDITOR)) {
        enum problem problem = release_of_call(call, &row);
        if (problem != PROBLEM_NONE)
            return problem;
    }
    enum db_status status =
        q_releases_certificate(call->db, call_parameter(call, "id"), id, owner, &text);
    if (status != DB_OK) {
        free(text);
        if (status == DB_NONE)
            return release_unknown(call);
        return call_db(call, status);
    }
    return certificate_reply(call, id, text);
}

enum problem api_q_releases_end(struct call *call)
{
    struct q_release_row *row = NULL;
    enum problem problem = release_of_call(call, &row);
    if (problem != PROBLEM_NONE)
        return problem;
    enum db_status status = q_releases_end(call->db, row->id, call->now_ms);
    if (status != DB_OK) {
        if (status == DB_NONE)
            return call_problem(call, PROBLEM_CONFLICT, "It has ended before.");
        return call_db(call, status);
    }
    q_shelf_drop(call->app, row->id);
    pass_end_all(call->app);
    return call_reply_empty(call, 204);
}

/* ---- asking */

struct question {
    struct call *call;
    const struct q_release *release;
    const struct q_terms *terms;
    double *states; /* count x state_dim */
    size_t count;
};

struct loan {
    const struct app *app;
    const struct q_release *release;
};

static void release_give_back(void *context)
{
    struct loan *loan = context;
    q_shelf_return(loan->app, loan->release);
}

static void return_release(const struct app *app, const void *release)
{
    q_shelf_return(app, release);
}

/* The size of a question that has so few states, however short their numbers are, that its answer
 * takes no more than a pass allows. */
static size_t quick_bytes(const struct q_release *release)
{
    static const char least[] = "{\"states\":[]}";
    size_t states = PASS_WORK_MAX / q_release_work(release);
    if (states == 0)
        return 0;
    return sizeof least - 1 + states * (2 * (size_t)q_release_terms(release)->state_dim + 2);
}

/* Borrows the release once more and gives that loan to a pass, with which the caller may ask again.
 */
static void lend_to_pass(struct call *call)
{
    const struct q_release *release = NULL;
    if (q_shelf_borrow(call->app, call->db, call_parameter(call, "id"), &release) == DB_OK)
        pass_put(call, release, quick_bytes(release), return_release);
}

static enum problem question_borrow(struct question *q)
{
    struct call *call = q->call;
    struct q_release_row *row = NULL;
    if (call->pass) {
        q->release = call->pass->thing;
        q->terms = q_release_terms(q->release);
        return PROBLEM_NONE;
    }
    struct loan *loan = arena_array(&call->arena, 1, sizeof *loan);
    enum problem problem = release_of_call(call, &row);
    if (problem != PROBLEM_NONE)
        return problem;
    enum db_status status =
        q_shelf_borrow(call->app, call->db, call_parameter(call, "id"), &q->release);
    if (status != DB_OK) {
        if (status == DB_NONE)
            return release_unknown(call);
        return call_db(call, status);
    }
    *loan = (struct loan){call->app, q->release};
    q->terms = q_release_terms(q->release);
    if (call->route->flags & ROUTE_QUICK)
        lend_to_pass(call);
    call_defer(call, release_give_back, loan);
    return PROBLEM_NONE;
}

static enum problem question_read_states(struct question *q)
{
    struct call *call = q->call;
    json_t *list = NULL;
    uint32_t limit = call->app->settings.max_states_per_query;
    uint32_t most = states_limit(call->app, q_release_work(q->release));
    const struct field fields[] = {field_array("states", &list, 1, limit)};
    if (!fields_read(call, call->body, "", fields, 1))
        return PROBLEM_VALIDATION;
    q->count = json_array_size(list);
    if (q->count > most)
        return call_invalid(call, "/states",
                            "must be at most %u states: an answer of this release takes long",
                            most);
    q->states = arena_array(&call->arena, q->count * q->terms->state_dim, sizeof *q->states);
    for (size_t i = 0; i < q->count; i++) {
        char at[64];
        snprintf(at, sizeof at, "/states/%zu", i);
        (void)fields_numbers(call, json_array_get(list, i), at, q->states + i * q->terms->state_dim,
                             q->terms->state_dim, true);
    }
    if (call_error_count(call) > 0)
        return PROBLEM_VALIDATION;
    return PROBLEM_NONE;
}

/* VALUES[actions] at state I; false: the fault is in the call. */
static bool question_answer(const struct question *q, size_t i, double *values)
{
    uint32_t at = 0;
    const double *state = q->states + i * q->terms->state_dim;
    if (q_release_values(q->release, state, values, &at) == Q_ANSWERED)
        return true;
    char pointer[80];
    snprintf(pointer, sizeof pointer, "/states/%zu/%u", i, at);
    call_invalid(q->call, pointer, "is outside of the declared bounds [%g, %g]", q->terms->low[at],
                 q->terms->high[at]);
    return false;
}

static enum problem question_read(struct question *q)
{
    enum problem problem = question_borrow(q);
    if (problem != PROBLEM_NONE)
        return problem;
    return question_read_states(q);
}

enum problem api_q_releases_weights(struct call *call)
{
    struct question q = {.call = call};
    enum problem problem = question_borrow(&q);
    if (problem != PROBLEM_NONE)
        return problem;
    const struct policy *network = q_release_network(q.release);
    if (!network) {
        return call_problem(call, PROBLEM_CONFLICT,
                            "A release of form %s is not a network and cannot be downloaded: ask "
                            "it questions instead.",
                            q_form_name(q.terms->form));
    }
    const char *id = call_parameter(call, "id");
    char certificate[ID_SIZE], owner[ID_SIZE], *text = NULL;
    enum db_status status = q_releases_certificate(call->db, id, certificate, owner, &text);
    problem = call_db(call, status);
    if (problem == PROBLEM_NONE)
        problem = network_reply(call, network, id, text);
    free(text);
    return problem;
}

static json_t *values_json(const double *values, uint32_t count)
{
    json_t *list = json_array();
    for (uint32_t a = 0; a < count; a++)
        json_array_append_new(list, json_number(values[a]));
    return list;
}

/* The action whose value is largest, the first of several. */
static uint32_t release_best_action(const double *values, uint32_t count)
{
    uint32_t action = 0;
    for (uint32_t a = 1; a < count; a++)
        if (values[a] > values[action])
            action = a;
    return action;
}

/* Answers with the values of all states, and the best actions when ACTIONS. */
static enum problem answer_states(struct call *call, bool actions)
{
    struct question q = {.call = call};
    enum problem problem = question_read(&q);
    if (problem != PROBLEM_NONE)
        return problem;
    json_t *best = json_array(), *all = json_array();
    for (size_t i = 0; i < q.count; i++) {
        double values[ENV_MAX_ACTIONS];
        uint32_t count = q.terms->action_count;
        if (!question_answer(&q, i, values))
            continue;
        json_array_append_new(best, json_integer(release_best_action(values, count)));
        json_array_append_new(all, values_json(values, count));
    }
    json_t *reply = json_object();
    if (actions)
        json_object_set(reply, "actions", best);
    json_decref(best);
    json_object_set_new(reply, "values", all);
    if (call_error_count(call) == 0)
        return call_reply_json(call, 200, reply);
    json_decref(reply);
    return PROBLEM_VALIDATION;
}

enum problem api_q_releases_query(struct call *call)
{
    return answer_states(call, false);
}

enum problem api_q_releases_actions(struct call *call)
{
    return answer_states(call, true);
}
