/* The kinds of algorithms. One row for each algorithm_kind says which members a request has, how
 * they are read, and what such a job gives. How a job of a kind runs is in api/jobs/run/run_kind.c.
 */
#ifndef TACET_API_JOBS_ASK_JOB_KIND_H
#define TACET_API_JOBS_ASK_JOB_KIND_H

#include "api/call/call.h"
#include "api/jobs/ask/job_plan.h"

/* Members of a request; NULL where they were not sent. */
struct job_members {
    const char *algorithm, *mechanism, *dataset, *teacher, *client, *policy, *q_release,
        *understood, *audit, *features, *project;
    json_t *environment, *privacy, *parameters, *evaluate, *choose, *sweep, *judge;
    const char *judge_dataset;
    int64_t shards; /* 0: not sent */
    bool rehearse;
};

/* A member of a request that some kinds require and others refuse. */
struct job_member_rule {
    const char *pointer; /* "/dataset"; NULL ends the table */
    unsigned kinds;      /* one bit for each enum algorithm_kind */
    bool required;       /* else it must not be there */
    const char *detail;  /* what the caller is told when the rule is broken */
};
extern const struct job_member_rule job_member_rules[];

/* What an algorithm learns from. */
enum job_source {
    JOB_SOURCE_DATASET,
    JOB_SOURCE_WORLD,
    JOB_SOURCE_POLICY, /* or a released Q-function */
    JOB_SOURCE_NOTHING,
};

struct job_kind {
    enum job_source source;
    bool seals_checkpoints; /* what is kept while it trains has no noise yet */
    /* Reads the members that the rules do not cover, and gathers faults. NULL: there are none. */
    void (*read)(struct call *call, const struct job_members *members, struct job_plan *out);
    /* Looks up the rows that the members name. NULL: there are none. Returns PROBLEM_NONE, or a
     * fault with its pointer. */
    enum problem (*fit)(struct call *call, const struct job_members *members,
                        struct job_plan *plan);
    /* Returns a static sentence about the job's result, or NULL. The pointer itself is NULL where
     * no job has one. */
    const char *(*note)(const struct job_plan *plan);
    const char *time_unknown; /* why a running time cannot be estimated; NULL: it can */
};

/* The row of ALGORITHM's kind. */
const struct job_kind *job_kind(const struct algorithm *algorithm);

/* Reads MEMBERS by the rules of OUT's kind, and gathers faults. */
void job_kind_read(struct call *call, const struct job_members *members, struct job_plan *out);

/* Why the running time of PLAN cannot be estimated: a static sentence; NULL: it can. */
const char *job_kind_time_unknown(const struct job_plan *plan);

/* True when the job uses nobody's data: it plays in a public world, or makes up its data. */
bool job_plan_is_public(const struct job_plan *plan);

/* The world that views of the job show: the one it learns in; for a job that learns nothing, the
 * one it evaluates in. Its name may be "". */
const struct job_world *job_plan_world(const struct job_plan *plan);

/* True when the job's result may leave the service: it was trained under DP or without private
 * data, and it is not an ensemble. */
bool job_plan_releases(const struct job_plan *plan);

/* True when the job trains one policy on private data under no mechanism: what it gives stays
 * inside, and the dataset is not covered by its budget any more. False for a plan that could not be
 * read. */
bool job_plan_is_unprotected(const struct job_plan *plan);

/* Whether the noise is larger than the range of the Q-function that is released, which is refused
 * unless it was asked for by "force". */
bool job_plan_drowns(const struct job_plan *plan);

/* True when checkpoints are stored encrypted. */
bool job_plan_seals_checkpoints(const struct job_plan *plan);

#endif
