/* One life of the service: many processes one after another on one data directory, everything that
 * happens drawn from one seed, and checked against the model after every step. */
#ifndef TACET_TESTS_SIMULATOR_LIFE_H
#define TACET_TESTS_SIMULATOR_LIFE_H

#include "tests/simulator/scene.h"

#define LIFE_ASKED     1024 /* keys of a life */
#define LIFE_FLIGHTS   12   /* requests under way at once */
#define LIFE_TRACE     40
#define LIFE_LIE_KINDS 6
#define LIFE_KEPT_DAYS 30 /* in each second life; in the others answers are kept for ever */
#define LIFE_SERVERS   2  /* in each fourth life; in the others there is one */

enum life_what {
    LIFE_QUESTION, /* of a teacher, under a key */
    LIFE_JOB,      /* under a key */
    LIFE_UPLOAD,   /* to the open dataset, under a key */
    LIFE_CANCEL,
    LIFE_LOOK,       /* at a job */
    LIFE_RELEASE,    /* ask the Q-release at a point */
    LIFE_CHECKPOINT, /* of the ledger's log */
    LIFE_END,        /* end it */
    LIFE_DELETE,     /* the dataset */
    LIFE_REVOKE,     /* a student */
    LIFE_LIMIT,      /* give an account another limit */
    LIFE_ASK,        /* for a larger one of one's own */
    LIFE_DECIDE,     /* about one that waits */
    LIFE_LIE,        /* something that must be refused */
};

struct asked {               /* what was asked under a key */
    unsigned number, person; /* NUMBER makes the key: other people use the same one */
    enum life_what what;
    unsigned which; /* teacher, or kind of job */
    unsigned count; /* of states */
    bool stored;    /* a good answer was seen, or found after a crash */
    bool lags;      /* it was found where no standby has it */
    bool told;      /* and somebody was given it there */
    int variant;    /* of the body that it answers; -1: not known */
    char key[32];
    int64_t day_ms; /* that the key names; -1: none */
    char *answer;
    size_t size;
};

struct flight { /* a request under way */
    struct life *life;
    struct exchange *exchange;
    enum life_what what;
    unsigned person, which, other;
    struct asked *asked;
    unsigned variant;
    unsigned given;                        /* which limit an approval gives */
    int64_t revision;                      /* of the limit that is changed; 0: whichever */
    uint64_t failures;                     /* of the disk before it was sent */
    int64_t keys, size;                    /* as life's were when it was sent */
    int64_t low_ms, high_ms, kept_from_ms; /* of the clock since; and as it then was */
    enum service_way way;
    unsigned server; /* that got it */
    bool moot;       /* it names a job that a failover took back */
    bool stale;      /* its server was at the old primary meanwhile */
    struct {         /* when it was sent */
        bool person, dataset, release, answer;
        bool passed;       /* its server may remember that it and the release stood */
        unsigned students; /* a bit for each */
    } stood;
};

enum life_fate { /* of what can be ended once and for ever */
                 FATE_STANDS,
                 FATE_UNKNOWN, /* the process ended while it was being ended */
                 FATE_GONE,
};

enum life_count {
    LIFE_STEPS,
    LIFE_REQUESTS,
    LIFE_ANSWERS, /* good new ones to keyed requests */
    LIFE_REPLAYS,
    LIFE_REFUSALS,
    LIFE_BATCHES,
    LIFE_CRASHES,
    LIFE_FAULTS, /* calls of the database that failed */
    LIFE_TURNS,
    LIFE_JOBS_OVER,
    /* What took effect. */
    LIFE_HITS,                            /* faults that were drawn and struck a call */
    LIFE_ERRORS,                          /* replies that told of one */
    LIFE_ENDS,                            /* of processes, by where: as enum disk_end */
    LIFE_FOUND = LIFE_ENDS + DISK_ENDS,   /* answers that a lost request had got */
    LIFE_ROBBED,                          /* jobs that another worker took */
    LIFE_REMOVED,                         /* answers whose time was over */
    LIFE_FOLDED,                          /* entries, fewer */
    LIFE_OVER,                            /* their keys, refused */
    LIFE_EARLY,                           /* keys of a day that the clock took back */
    LIFE_LOST,                            /* replies that their client did not get */
    LIFE_ALONE,                           /* servers that ended while the other one went on */
    LIFE_WAITS,                           /* of commits for the standby, as enum disk_wait */
    LIFE_MOVES = LIFE_WAITS + DISK_WAITS, /* failovers */
    LIFE_STALE,                           /* replies of a server that was at the old primary */
    LIFE_TAKEN_BACK,                      /* answers that only the old primary had */
    LIFE_AGAIN,                           /* requests asked again where they were shown */
    LIFE_LIMITS,                          /* that were set */
    LIFE_LIMITS_FOUND,                    /* set or asked for without a reply */
    LIFE_LIMITS_LOW,                      /* refused: more is spent, or a change waits */
    LIFE_LIMITS_OLD,                      /* refused: changed since */
    LIFE_ASKED_FOR,                       /* by students */
    LIFE_GIVEN,                           /* to them */
    LIFE_DECIDED,                         /* about changes */
    LIFE_DECIDED_AGAIN,                   /* refused: they had been decided */
    LIFE_DECIDED_ALONE,                   /* refused: their proposer approved them */
    LIFE_UPLOADED,                        /* whole */
    LIFE_CUT,                             /* refused: they were not */
    LIFE_ROTATED,                         /* keys that sign */
    LIFE_CHECKPOINTS,                     /* that were shown */
    LIFE_LIES,                            /* refused, by kind */
    LIFE_COUNTS = LIFE_LIES + LIFE_LIE_KINDS
};

struct life_lost { /* of an account's limit: what had no reply, a bit for each */
    unsigned limits, proposals;
    int count; /* of what may have set it */
};

struct shown { /* by the largest checkpoint so far */
    int64_t size, signer;
    unsigned char root[32];
};

#define LIFE_HELD 8 /* checkpoints that somebody keeps */

struct standby { /* what is so by the standby, while it lags */
    struct model model;
    enum life_fate release, dataset, student[SCENE_STUDENTS];
    struct life_lost lost[MODEL_ACCOUNTS];
};

struct life {
    const struct scene *scene;
    uint64_t seed, state; /* of the draws */
    /* All at work on one database; each has its own memory. The first one's auditor is the
     * simulator's. */
    struct service servers[LIFE_SERVERS];
    unsigned server_count;
    struct db *auditor;
    char directory[112]; /* of the servers */
    struct model model;
    unsigned processes, depth;
    bool prunes;    /* answers are being removed */
    bool halfway;   /* a server ended while it removed some */
    bool stirred;   /* jobs may have changed */
    bool uploads;   /* the open dataset may */
    bool deletes;   /* the next request deletes the dataset */
    bool elsewhere; /* the next request asks the release where it, or the asker, was not ended */
    unsigned elsewhere_server, elsewhere_person;
    struct asked *again; /* the next request repeats it */
    int again_variant;
    bool deleting; /* a deletion failed: it may have erased the dataset's keys before */
    unsigned asked_count, asked_by[SCENE_PEOPLE];
    struct asked asked[LIFE_ASKED];
    struct flight *flights[LIFE_FLIGHTS];
    unsigned flight_count;
    int64_t keys;                        /* that sign, of which a rotation told */
    struct shown shown, held[LIFE_HELD]; /* and some of before */
    struct life_lost lost[MODEL_ACCOUNTS];
    struct { /* the last limit that somebody asked for */
        unsigned account, limit, person;
        int64_t revision;
    } wish;
    enum life_fate release, dataset, student[SCENE_STUDENTS];
    /* Answers are kept from here, as the database says; no key of a later day was over so far. */
    int64_t kept_from_ms, raised_ms;
    /* When the release last answered there while it and the asker stood. */
    int64_t passed_ms[LIFE_SERVERS][SCENE_PEOPLE];
    bool lags; /* STANDBY is not what the database shows */
    struct standby standby;
    struct { /* what a server did not answer before it ended alone */
        struct asked *asked;
        int variant;
    } silent[LIFE_FLIGHTS];
    unsigned silent_count;
    uint64_t count[LIFE_COUNTS], digest;
    unsigned noted;
    uint64_t checked;  /* the disk's commits at the last check */
    char failure[600]; /* "" while all is well */
    char trace[LIFE_TRACE][120];
};

/* Lives through STEPS and ends with everything at rest and checked. False: life->failure says what
 * broke and at which step. */
bool life_run(struct life *life, const struct scene *scene, uint64_t seed, unsigned steps);

/* ---- for the files of the simulator */

/* A number below COUNT. */
unsigned life_draw(struct life *life, unsigned count);

/* True once in COUNT times. */
bool life_chance(struct life *life, unsigned count);

/* Notes the first failure. */
void life_fail(struct life *life, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Notes what happens, for the trace. */
void life_note(struct life *life, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Lets a client send something; it is then under way, or answered. */
void life_send(struct life *life);

/* Judges the reply of FLIGHT, which has left, and forgets it. */
void life_judge(struct life *life, struct flight *flight);

/* The body of REPLY; "". */
const char *life_text(const struct api_reply *reply);

/* True when REPLY says TEXT somewhere. */
bool life_says(const struct api_reply *reply, const char *text);

/* Gives up the flights of SERVER, or of all with LIFE_SERVERS: the process has ended. */
void life_lose_flights(struct life *life, unsigned server);

/* A server, in turn the one or the other; not one that has ended. */
unsigned life_draw_server(struct life *life);

/* Finds out in a new process which of the flights the former one had served. With ALL, that every
 * answer which anybody got is still there. */
void life_find_answers(struct life *life, bool all);

/* Finds the uploads that the other server has committed and not told of yet. */
void life_find_uploads(struct life *life);

/* Whether FLIGHT ended something is not known, or which limit it set. */
void life_lose_effect(struct life *life, const struct flight *flight);

/* Serves one call of a pool. */
void life_run_one(struct life *life);

/* ---- limits */

/* Judges the reply to a LIFE_LIMIT. */
void life_judge_limit(struct life *life, const struct flight *flight,
                      const struct api_reply *reply);

/* Judges the reply to a LIFE_ASK. */
void life_judge_ask(struct life *life, const struct flight *flight, const struct api_reply *reply);

/* Whether a student asked for it: else a steward did. */
bool life_is_request(const struct model_change *change);

/* The student whose limit FLIGHT sets unless the student was revoked; SCENE_STUDENTS: none. */
unsigned life_limit_owner(const struct life *life, const struct flight *flight);

/* Judges the reply to a LIFE_DECIDE. */
void life_judge_decision(struct life *life, const struct flight *flight,
                         const struct api_reply *reply);

/* Which limit FLIGHT set or asked for is not known. */
void life_lose_limit(struct life *life, const struct flight *flight);

/* Finds out which limits were set without a reply, and that each change was decided once. */
void life_find_limits(struct life *life);

/* ---- uploads */

/* The upload ASKED got this ANSWER, the first one. */
void life_take_upload(struct life *life, const struct asked *asked, const char *answer);

/* Checks what the open dataset has. SWEPT: and that nothing is there in part. */
void life_check_uploads(struct life *life, bool swept);

/* Reads it all: its keys are not in the database. */
void life_read_uploads(struct life *life);

/* ---- keys that sign */

/* Adds one, as `tacet key rotate` does. */
void life_rotate(struct life *life);

/* Judges the reply to a LIFE_CHECKPOINT. */
void life_judge_checkpoint(struct life *life, const struct flight *flight,
                           const struct api_reply *reply);

/* Checks that the keys are there that signed, and the log that was shown. */
void life_check_shown(struct life *life);

/* ---- the standby */

/* disk.alone, disk.stranded and disk.settled. */
void life_server_ended(void *context);
void life_stranded(void *context);
void life_settled(void *context, bool moved);

/* Lets something happen to the primary or the standby, or what clients do then. False: nothing. */
bool life_stand_by(struct life *life);

/* ---- answers that are kept for a time */

/* Makes the key of ASKED from its number and the clock. */
void life_name_key(struct asked *asked);

/* Notes the clock for all flights: before and after it is put back, and before they are judged. */
void life_see_clock(struct life *life);

/* Learns from when answers are kept, as the database says. */
void life_learn_kept(struct life *life, int64_t from_ms);

/* Removes answers as the pruner's thread does. */
void life_prune(struct life *life);

/* True when the answer of ASKED may have been removed. */
bool life_is_removed(const struct life *life, const struct asked *asked);

/* Judges what REPLY says of the time of a key. True when it is a refusal for it. */
bool life_judge_time(struct life *life, const struct flight *flight, const struct api_reply *reply);

#endif
