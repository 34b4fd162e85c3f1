/* A row of the table of endpoints, and the result of matching a path. A new endpoint is one
 * handler, declared in its family's header, and one row in api/route.c. */
#ifndef TACET_API_CALL_ROUTE_H
#define TACET_API_CALL_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "api/call/request.h"
#include "api/wire/problem.h"

struct call;
struct arena;

/* Who may call: a row holds the union of the roles that may. */
enum role {
    ROLE_ADMIN = 1,
    ROLE_STEWARD = 2,
    ROLE_CONTRIBUTOR = 4,
    ROLE_STUDENT = 8,
    ROLE_AGENT = 16,
    ROLE_AUDITOR = 32,
    ROLE_ANY = 63,     /* every role, with a token, but for the next one */
    ROLE_MONITOR = 64, /* reads the metrics, sees to its own tokens, and does nothing else */
    ROLE_NONE = 0,     /* public: no token is asked for */
};

/* What a token may do of that which its client's role may. The bits are stored. */
enum scope {
    SCOPE_READ = 1,  /* calls that change nothing */
    SCOPE_WRITE = 2, /* calls that change something and cannot spend */
    SCOPE_SPEND = 4, /* calls that can spend: those with a key */
    SCOPE_ALL = 7,
};

enum route_flag {
    ROUTE_KEY_REQUIRED = 1, /* a call that can spend: 400 without an Idempotency-Key */
    ROUTE_READS = 2, /* a POST that changes nothing: no writing transaction, no stored answer */
    ROUTE_PAGE = 4,  /* a browser (Accept prefers text/html) gets the page shell, no token */
    ROUTE_ANY_ACCEPT = 8,   /* answers something else than JSON: the handler looks at Accept */
    ROUTE_POLICY_BODY = 16, /* the JSON body may be as large as max_policy_bytes */
    ROUTE_QUICK = 64,       /* a small question that a pass may answer: api_serve_quick */
    ROUTE_KEY_OR_ID = 32,   /* can spend too: the body's "id" is the key where there is no header */
    ROUTE_HEAVY = 128,      /* {id} is a teacher that may compute for long: PREPARE does that, never
                               within a batch (api_is_heavy) */
    ROUTE_DATED_KEY = 512,  /* asked without end: with answers that are not kept for ever, the key
                               must name its time (retention.h) */
    ROUTE_REST = 1024,      /* the last value of the path takes what is left, slashes too */
    ROUTE_NO_TRAIL = 2048, /* no row of the audit trail: the ledger or an aggregation records it, or
                              the number of rows would tell whether an expert brought data */
    ROUTE_UNTIMED = 256,   /* takes longer the more data were uploaded: metrics do not time it */
    ROUTE_COUNTS = 4096,   /* tells sums alone, so it waits for no standby (db_settle) */
};

enum route_body {
    BODY_NONE,   /* no body, or an empty JSON object */
    BODY_JSON,   /* application/json; call->body holds it parsed */
    BODY_STREAM, /* any body: PREPARE reads it with call_read; lane API_LANE_STREAM */
};

#define ROUTE_PARAMETERS_MAX 4

struct route {
    const char *method;
    const char *pattern; /* "/v1/datasets/{id}:seal": {name} is one segment, :verb ends one */
    enum api_lane lane;
    unsigned roles; /* of enum role */
    unsigned flags; /* of enum route_flag */
    enum route_body body;
    const char *query; /* the query parameters that are known, separated by spaces; "" for none */

    /* Optional; runs before HANDLE and outside any transaction of ours: parsing, planning, slow
     * computations. Leaves its result in call->plan. */
    enum problem (*prepare)(struct call *call);

    /* Does the work. For a method that changes something it runs inside one transaction together
     * with the stored answer; any problem that it returns rolls both back. It may be run again when
     * the database asks for a retry, so it changes nothing outside the call and the database. */
    enum problem (*handle)(struct call *call);

    const char *summary; /* one sentence for /docs */
};

/* The result of matching a path. */
struct route_match {
    const struct route *route; /* NULL: nothing */
    /* Decoded values of the pattern's {names}, in order, in the arena. */
    const char *values[ROUTE_PARAMETERS_MAX];
    unsigned value_count;
    bool malformed; /* a broken percent-escape, or one that hides NUL */
};

/* True when the route changes something: neither GET nor a ROUTE_READS. */
bool route_writes(const struct route *route);

/* True when a call of ROUTE that changes something is a row of the audit trail. */
bool route_in_trail(const struct route *route);

/* The scope that a call of ROUTE needs. */
enum scope route_scope(const struct route *route);

/* The scope NAME ("spend"); 0 for no scope. */
unsigned scope_find(const char *name);

/* The name of one scope; "" for another number. */
const char *scope_name(unsigned scope);

/* The role NAME of a client ("steward"); ROLE_NONE for no role. */
enum role role_find(const char *name);

/* The name of one role; "" for ROLE_NONE. */
const char *role_name(enum role role);

#endif
