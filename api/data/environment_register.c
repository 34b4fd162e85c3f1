/* A client registers a world: its program is tried before the transaction, and then it is a row. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/call/fields.h"
#include "api/call/project.h"
#include "api/data/environments.h"
#include "api/worlds/registered.h"
#include "memory/memory.h"

#define EACH_CLIENT_MOST 16 /* worlds that one client has registered */

/* ---- the request */

struct environment_wish {
    struct environment_row row; /* its texts are the wish's */
};

static void environment_forget(void *wish)
{
    environments_done(&((struct environment_wish *)wish)->row);
    free(wish);
}

static const char *environment_read_source(struct call *call, const json_t *value)
{
    const char *source = json_string_value(value);
    size_t size = json_string_length(value);
    if (!source || size == 0 || size > REGISTERED_SOURCE_MAX) {
        call_invalid(call, "/source", "must be the text of a program, of at most %zu bytes",
                     REGISTERED_SOURCE_MAX);
        return NULL;
    }
    return source;
}

static void environment_read_runner(struct call *call, const char *runner)
{
    const struct worlds *worlds = call->app->settings.worlds;
    char names[WORLDS_RUNNERS_SIZE];
    if (worlds_runner(worlds, runner))
        return;
    if (worlds_runner_names(worlds, names)[0] == '\0')
        call_invalid(call, "/runner", "is not known: the operator of this server allows no runner");
    else
        call_invalid(call, "/runner", "is not known: this server has %s", names);
}

static void environment_digest(const char *source, char out[ENVIRONMENT_SHA256_SIZE])
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(digest, (const unsigned char *)source, strlen(source));
    sodium_bin2hex(out, ENVIRONMENT_SHA256_SIZE, digest, sizeof digest);
}

/* Reads the request into ROW. False: the faults are in the call. */
static bool environment_read(struct call *call, struct environment_row *row)
{
    const char *name = NULL, *runner = NULL, *project = NULL, *source = NULL;
    json_t *text = NULL;
    const struct field fields[] = {
        field_text("name", &name, 1, NAME_SIZE - 1),
        field_text("runner", &runner, 1, ENVIRONMENT_RUNNER_SIZE - 1),
        field_any("source", &text),
        PROJECT_FIELD(&project),
    };
    if (!fields_read(call, call->body, "", fields, sizeof fields / sizeof fields[0]))
        return false;
    source = environment_read_source(call, text);
    environment_read_runner(call, runner);
    if (call_error_count(call) > 0 || project_of_new(call, project, row->owner) != PROBLEM_NONE)
        return false;
    id_new(ENVIRONMENT_PREFIX, row->id);
    snprintf(row->name, sizeof row->name, "%s", name);
    snprintf(row->client, sizeof row->client, "%s", call->caller.id);
    snprintf(row->runner, sizeof row->runner, "%s", runner);
    environment_digest(source, row->source_sha256);
    row->created_ms = call->now_ms;
    row->source = memory_must(strdup(source));
    return true;
}

/* PROBLEM_NONE while the caller may register one more. */
static enum problem environment_room(struct call *call)
{
    int64_t count = 0;
    enum db_status status = environments_count(call->db, call->caller.id, &count);
    if (status != DB_OK)
        return call_db(call, status);
    if (count < EACH_CLIENT_MOST)
        return PROBLEM_NONE;
    return call_problem(call, PROBLEM_CONFLICT,
                        "You have registered %d worlds, which is as many as a client may have: "
                        "delete one.",
                        EACH_CLIENT_MOST);
}

/* ---- its program */

static enum problem environment_refuse(struct call *call, enum world_fault fault,
                                       const char *detail, const char *said)
{
    const char *colon = detail[0] != '\0' ? ": " : "";
    const char *words = said[0] != '\0' ? ". It said: " : "";
    if (fault == WORLD_BUSY)
        return call_problem(call, PROBLEM_OVERLOADED,
                            "Another world is being registered. Try again.");
    if (fault == WORLD_NOT_STARTED || fault == WORLD_NOT_SEALED)
        return call_problem(call, PROBLEM_OVERLOADED, "The world's program %s.",
                            world_fault_text(fault));
    return call_invalid(call, "/source", "the program %s%s%s%s%s", world_fault_text(fault), colon,
                        detail, words, said);
}

static enum problem environment_try(struct call *call, struct environment_row *row)
{
    const struct registered_text text = {row->id, row->runner, row->source, row->client};
    const struct env *env = NULL;
    char detail[160], said[REGISTERED_SAID_SIZE];
    enum world_fault fault = registered_try(call->app->settings.worlds, &text, &env, detail, said);
    if (fault != WORLD_OK)
        return environment_refuse(call, fault, detail, said);
    row->description = registered_describe(env);
    registered_close(env);
    return PROBLEM_NONE;
}

enum problem api_environments_prepare(struct call *call)
{
    struct environment_wish *wish = memory_new(1, sizeof *wish);
    call_defer(call, environment_forget, wish);
    call->plan = wish;
    if (!environment_read(call, &wish->row))
        return call_error_count(call) > 0 ? PROBLEM_VALIDATION : PROBLEM_CONFLICT;
    enum problem problem = environment_room(call);
    return problem == PROBLEM_NONE ? environment_try(call, &wish->row) : problem;
}

enum problem api_environments_create(struct call *call)
{
    const struct environment_wish *wish = call->plan;
    enum problem problem = environment_room(call);
    if (problem != PROBLEM_NONE)
        return problem;
    enum db_status status = environments_insert(call->db, &wish->row);
    if (status != DB_OK)
        return call_db(call, status);
    call_header(call, "Location", "/v1/environments/%s", wish->row.id);
    return call_reply_json(call, 201, environment_row_json(call, &wish->row));
}

/* ---- its end */

enum problem api_environments_delete(struct call *call)
{
    struct environment_row row = {.source = NULL};
    const char *id = call_parameter(call, "id");
    enum db_status status = environments_find(call->db, id, &row);
    if (status == DB_OK && !call_owns(call, row.owner))
        status = DB_NONE;
    environments_done(&row);
    if (status == DB_NONE)
        return call_problem(call, PROBLEM_NOT_FOUND, "There is no such registered world.");
    if (status == DB_OK)
        status = environments_delete(call->db, id);
    return call_reply_done(call, status);
}
