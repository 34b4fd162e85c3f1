/* One run of the whole service on one of two neighbouring inputs, with a transcript of all that
 * callers of every role can see. */
#ifndef TACET_TESTS_UNIT_NONINTERFERENCE_PLAY_H
#define TACET_TESTS_UNIT_NONINTERFERENCE_PLAY_H

#include "api/call/route.h"
#include "tests/unit/api/domain.h"
#include "tests/unit/noninterference/transcript.h"

/* What may differ between neighbours. */
struct secret {
    const char *name;
    unsigned steps;        /* transitions of the expert x; 0: it is not there */
    double first, further; /* each number of its first state, and of the others */
    double reward;
    bool truncated;                /* its trajectory ends without an end of the world */
    double weight;                 /* of its network; 0: it has none */
    double question;               /* first number of the state that teachers are asked about */
    double gradient;               /* of an agent's report */
    unsigned unprotected_pulse_ms; /* between two pulses of an unprotected training */

    /* For the tests of the tests: another public setting, and a leak. */
    double public_epsilon; /* of the datasets' budgets */
    bool planted;          /* a dataset's name tells how many transitions it has */
};

/* A call whose answer the service keeps under a key. */
struct kept_call {
    const char *pattern;
    int caller, status;
    char key[32], *path, *body, *type; /* owned; BODY and TYPE may be NULL */
    unsigned char digest[16];          /* of the answer's bytes */
};

struct play {
    struct fixture *f;
    struct transcript *t;
    struct secret secret;
    char dataset[40], bare[40], open_data[40], policy[40], teacher[40]; /* what jobs may name */
    char audit[40];                                                     /* "job_none" is none */
    char stranger[160], bearer[160];                                    /* tokens */
    const char *second;    /* token of another steward of the owner's project; NULL: not made yet */
    char report[8400];     /* the body of one */
    unsigned keys, scenes; /* that were used */
    struct kept_call *kept;
    size_t kept_count, kept_room, repeated; /* repeated: with the first answer */
    size_t looked;                          /* identifiers that were looked at */
    unsigned *answered;                     /* successes of each route */
};

/* Who calls. The owner is the steward whose datasets and jobs they are; the bearer uploads the
 * expert x, the contributor another. */
enum {
    CALLER_NOBODY,
    CALLER_STRANGER,
    CALLER_CONTRIBUTOR,
    CALLER_BEARER,
    CALLER_STUDENT,
    CALLER_AGENT,
    CALLER_AUDITOR,
    CALLER_ADMIN,
    CALLER_OWNER,
    CALLERS
};

/* A service with its people, data and teachers on SECRET. ANSWERED: a counter for each route. OPEN
 * makes the fixture: fixture_open, or one that can be made to fail. */
struct play *play_open(const struct secret *secret, unsigned *answered,
                       struct fixture *(*open)(void));
/* Asks a teacher more than its budget pays, before any other answer is drawn, and writes down the
 * random draws. */
void play_spent(struct play *play);
/* Repeats what has not been repeated. Its transcript is the caller's. */
struct transcript *play_close(struct play *play);

/* Begins a scene at a time and with coins of its own, so that a difference of one scene is not one
 * of all that follow. */
void play_scene(struct play *play);

/* Sets the clock to the middle of the scene. */
void play_pass(struct play *play);

/* The token of CALLER; NULL for nobody. */
const char *play_token(struct play *play, int caller);

/* PATTERN with ID for {id}, and what there is of them for other {names}. */
const char *play_path(struct play *play, const char *pattern, const char *id);

/* A body that ROUTE takes at PATH; "" for none. A change without one fails the test. */
const char *play_body(struct play *play, const struct route *route, const char *path);

/* Asks as CALLER and writes down the answer. PATTERN is the route's; BODY and TYPE may be NULL. */
struct response *play_ask(struct play *play, int caller, const char *method, const char *pattern,
                          const char *path, const char *body, const char *type);

/* Makes every call that is kept again, under its key: a good answer must be the first one, byte for
 * byte, and whatever is answered by now is written down. Then none is kept. */
void play_repeat(struct play *play);

/* Keeps the first FROM calls alone. */
void play_forget(struct play *play, size_t from);

/* Every caller gets everything that can be got of what has come since the last look. */
void play_look(struct play *play);

/* Every caller makes every change, of everything there is; then looks at all of it again, and
 * repeats each call that was answered well, under its key. */
void play_meddle(struct play *play);

/* Makes a dataset whose limit takes two stewards, and a change of it that another one has proposed.
 * Returns the change's identifier. */
const char *play_limit_change(struct play *p);

#endif
