/* One request in progress: who asks, what was sent, what will be answered, and the memory for all
 * of it. A handler is `enum problem api_x(struct call *)`: it reads typed fields (fields.h), calls
 * one or two functions of the rooms below, fills the answer and returns PROBLEM_NONE, or returns a
 * problem after saying what was wrong. It writes no error status and frees nothing. */
#ifndef TACET_API_CALL_CALL_H
#define TACET_API_CALL_CALL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/call/arena.h"
#include "api/call/request.h"
#include "api/call/route.h"
#include "api/wire/problem.h"
#include "storage/db/db.h"

struct call_deferred;
struct identity_caller;
struct pass;
struct project_row;

/* A project of the calling steward. */
struct call_project {
    struct call_project *next;
    const char *id, *name;
    bool views;   /* it is a viewer there */
    bool refused; /* and was kept from changing something */
};

struct caller {
    char id[32];     /* "cli_..."; "" on a public route */
    enum role role;  /* one role */
    unsigned scopes; /* of enum scope */
    int64_t token;   /* the number of the client's token; 0: it showed something else */
    int64_t ends_ms; /* the caller is not known any more from this time on */
};

struct call {
    struct app *app;
    struct db *db; /* this thread's connection; NULL on the inline lane */
    const struct api_request *request;
    const struct route *route;
    struct caller caller;
    /* The caller has no row yet: outsider_enroll makes it. In the arena; NULL: it has one. */
    const struct identity_caller *newcomer;
    const char *job, *worker;      /* a job of ours asks while WORKER has it; NULL: no job asks */
    const struct pass *pass;       /* not NULL: it identifies the caller, and DB is NULL */
    struct call_project *projects; /* of a steward, in order of creation (project.h) */
    int64_t now_ms;
    json_t *body; /* BODY_JSON: the parsed body (any JSON type), borrowed; else NULL */
    void *plan;   /* what PREPARE left for HANDLE */
    /* Whom a change is about, in the audit trail, where neither path nor Location say it. */
    const char *subject;
    struct arena arena;

    /* private to call.c and serve.c from here on */
    struct api_reply *reply;
    struct route_match match;
    struct call_deferred *deferred;
    char *detail;     /* of the problem; arena */
    json_t *errors;   /* array for "errors", or NULL */
    json_t *violated; /* array for "violated", or NULL */
    json_t *extra;    /* further members of the problem, or NULL */
    unsigned error_count;
    const char *stored_body; /* see call_store_instead; arena */
    size_t stored_size;
    int db_failure;       /* the db_status behind a problem, so that the transaction is run again */
    bool charged_by_body; /* the reply's price headers are copied from its body: charged.h */
    bool answered;
    /* Running hash of a streamed body (idempotency.c): libsodium's state of 384 bytes. */
    _Alignas(64) unsigned char body_hash[384];
};

/* ---- the request */

/* The value of the pattern's {NAME}, decoded; asserts that the pattern has it. */
const char *call_parameter(const struct call *call, const char *name);

/* The decoded value of the query parameter NAME; NULL when absent. A parameter that the route does
 * not list was refused before the handler ran; so was one that is given twice. */
const char *call_query(struct call *call, const char *name);

/* A header of the request; NULL when absent. */
const char *call_request_header(const struct call *call, const char *name);

/* Next bytes of a streamed body (BODY_STREAM, in PREPARE): count, 0 at the end, -1 when the client
 * is gone. The bytes also enter the call's fingerprint, to which its Idempotency-Key is bound. */
long call_read(struct call *call, unsigned char *buffer, size_t size);

/* True when the caller's role is one of ROLES. */
bool call_is(const struct call *call, unsigned roles);

/* True when the caller is a steward of the project OWNER (the column "owner" of a dataset, policy,
 * teacher, job, release, aggregation or account), or a viewer and the route changes nothing. */
bool call_owns(const struct call *call, const char *owner);

/* The caller as one who finds only what projects show to it; NULL for a steward. */
const char *call_guest(const struct call *call);

/* ---- memory */

/* Runs FREE_IT(WHAT) when the call ends, newest first, whatever its outcome; the connection is
 * still usable then and no transaction of the call is open. */
void call_defer(struct call *call, void (*free_it)(void *what), void *what);

/* Gives the new reference JSON to the call, which drops it at its end. Returns JSON. */
json_t *call_own(struct call *call, json_t *json);

/* ---- a good answer; one of these, once, last */

/* JSON is a new reference that the call takes; NULL, such as of a text that is not UTF-8, gives
 * what call_db has said, or PROBLEM_INTERNAL_ERROR. So a handler may end in `return
 * call_reply_json(call, 200, json)`. */
enum problem call_reply_json(struct call *call, int status, json_t *json);

/* BODY is malloc'ed and taken, of SIZE bytes; NULL gives PROBLEM_OVERLOADED, because memory is
 * short. CONTENT_TYPE is static text. */
enum problem call_reply_bytes(struct call *call, int status, const char *content_type, char *body,
                              size_t size);

/* Answers 200; BODY lives as long as the process. */
enum problem call_reply_static(struct call *call, const char *content_type, const char *body,
                               size_t size);

/* Sets the answer that repeats of the call get, for a call whose own answer holds a secret. JSON is
 * a new reference that the call takes. To be called before the reply is made. */
void call_store_instead(struct call *call, json_t *json);

/* Answers without a body. */
enum problem call_reply_empty(struct call *call, int status);

/* Answers 204 for DB_OK, otherwise what call_db makes of RESULT. */
enum problem call_reply_done(struct call *call, enum db_status result);

/* A stream of server-sent events; EVENTS.free is called by whoever owns the reply. */
enum problem call_reply_events(struct call *call, struct api_events events);

/* Lets the client keep the answer for a day. Where {id} is a name, which may move, it asks each
 * time whether the answer is still the same. */
void call_cache_day(struct call *call);

/* Adds a header to the answer, good or bad. NAME is static text; a value of API_HEADER_SIZE bytes
 * is our bug. At most four per call of a handler. */
void call_header(struct call *call, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- a problem */

/* Says in a sentence what was wrong and gives PROBLEM back:
 * return call_problem(call, PROBLEM_CONFLICT, "The job has ended."); */
enum problem call_problem(struct call *call, enum problem problem, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The problem for what cannot be done because memory is short. */
enum problem call_no_memory(struct call *call);

/* Adds {"pointer","detail"} to the errors and gives PROBLEM_VALIDATION. The first 100 are kept.
 * POINTER is a JSON pointer into the body ("" is the body itself). */
enum problem call_invalid(struct call *call, const char *pointer, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As call_invalid, for a query parameter: {"parameter","detail"}. */
enum problem call_invalid_query(struct call *call, const char *parameter, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As call_invalid, for a line of an upload: {"line","pointer","detail"}. */
enum problem call_invalid_line(struct call *call, uint64_t line, const char *pointer,
                               const char *detail);

/* Number of faults that were gathered so far (those past the first 100 count). */
unsigned call_error_count(const struct call *call);

/* PROBLEM_VALIDATION when faults were gathered, otherwise PROBLEM_NONE. */
enum problem call_checked(const struct call *call);

/* Adds one element of "violated" (budget-exhausted, budget-reserved); takes the reference. */
void call_violated(struct call *call, json_t *violation);

/* The problem that STATUS means for the caller; PROBLEM_NONE for DB_OK. DB_NONE, a required row
 * that is missing, counts as DB_FAILED. The transaction is run again where that can help. */
enum problem call_db(struct call *call, enum db_status status);

/* Adds any other member to the problem document, e.g. "accepts" for 415; takes the reference. */
void call_problem_member(struct call *call, const char *name, json_t *value);

/* ---- making and ending calls: for serve.c and teacher_ask.c */

/* Begins a call of REQUEST, whose answer goes to *reply. */
void call_init(struct call *call, struct app *app, struct db *db, const struct api_request *request,
               struct api_reply *reply);

/* Frees what the call holds; the reply stays. */
void call_end(struct call *call);

/* Forgets answer and faults, for a transaction that runs again. */
void call_reset(struct call *call);

/* Turns PROBLEM and the gathered faults into the problem+json reply. */
void call_answer_problem(struct call *call, enum problem problem);

#endif
