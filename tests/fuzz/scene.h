/* A whole service without a socket, in which there is one of everything. In the texts of requests
 * "$A", "$B", ... stand for the ids of what is there. */
#ifndef TACET_TESTS_FUZZ_SCENE_H
#define TACET_TESTS_FUZZ_SCENE_H

#include "api/api.h"
#include "storage/db/db.h"
#include "tests/fuzz/tokens.h"

enum scene_id {
    SCENE_DATASET,        /* $A: open, of cartpole */
    SCENE_SEALED,         /* $B: of cartpole */
    SCENE_TABLE,          /* $C: open, described, with a table */
    SCENE_LINE,           /* $D: sealed, of one coordinate */
    SCENE_POLICY,         /* $E: imported */
    SCENE_TEACHER,        /* $F */
    SCENE_AGGREGATION,    /* $G */
    SCENE_JOB,            /* $H: trained a policy */
    SCENE_RELEASE_JOB,    /* $I: released a Q-function */
    SCENE_QUEUED_JOB,     /* $J */
    SCENE_TRAINED_POLICY, /* $K */
    SCENE_CERTIFICATE,    /* $L */
    SCENE_Q_RELEASE,      /* $M */
    SCENE_STUDENT,        /* $N */
    SCENE_ACCOUNT,        /* $O */
    SCENE_PROJECT,        /* $P */
    SCENE_BUDGET_REQUEST, /* $Q: the student's, open */
    SCENE_ENVIRONMENT,    /* $R: a registered world */
    SCENE_LIMIT_CHANGE,   /* $S: of $A's limit, open, for the steward to decide */
    SCENE_OWN_CHANGE,     /* $T: of $C's limit, open, proposed by the steward */
    SCENE_IDS,
};

/* The student's. */
#define SCENE_CERTIFICATE_HASH "5ce1e5ce1e5ce1e5ce1e5ce1e5ce1e5ce1e5ce1e5ce1e5ce1e5ce1e5ce1e5ce1"

struct scene {
    struct db *db;
    struct app *app;
    char token[FUZZ_ROLES][FUZZ_TOKEN_SIZE];
    char id[SCENE_IDS][40];
};

/* Opens it once; it lives as long as the process. */
struct scene *scene_open(void);

/* A copy of TEXT[size] with ids in their places, a NUL behind it; the caller frees it. */
char *scene_text(const struct scene *scene, const char *text, size_t size, size_t *out_size);

/* A request as ROLE (-1: nobody). NAMES and VALUES: COUNT headers. The reply is checked: its status
 * is not 500, refusals are problem documents, JSON is JSON. */
struct scene_request {
    int role;
    const char *method, *target; /* with the query */
    const char *const *names, *const *values;
    unsigned header_count;
    const char *body;
    size_t body_size;
    bool may_break; /* 500 is allowed: the stored rows were damaged */
    bool forgotten; /* what it stores is rolled back, where the server serves it in a batch */
};

/* Serves it and fills *REPLY, for api_reply_clear. */
void scene_serve(const struct scene *scene, const struct scene_request *request,
                 struct api_reply *reply);

#endif
