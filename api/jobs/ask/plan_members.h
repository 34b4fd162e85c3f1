/* Numbers, flags and ids of a plan by their names in its JSON: one table drives both writing and
 * reading. A number is read back as the same double, so that the plan that runs is the plan that
 * was accounted. */
#ifndef TACET_API_JOBS_ASK_PLAN_MEMBERS_H
#define TACET_API_JOBS_ASK_PLAN_MEMBERS_H

#include <stddef.h>

#include "api/jobs/ask/job_plan.h"

enum plan_member_kind {
    PLAN_MEMBER_NUMBER, /* double; 0 where there is none */
    PLAN_MEMBER_FIGURE, /* double that may be infinite, which is written as null */
    PLAN_MEMBER_SIZE,   /* uint32_t; 0 where what stands there is beyond it, here and below */
    PLAN_MEMBER_COUNT,  /* uint64_t, or int64_t that is never below 0 */
    PLAN_MEMBER_FLAG,   /* bool */
    PLAN_MEMBER_ID,     /* char[ID_SIZE] */
};

/* A member of struct job_plan. */
struct plan_member {
    const char *name;
    enum plan_member_kind kind;
    size_t offset;
};

/* The row for the member at PATH of a plan, called NAME in JSON. Its kind follows from its type. */
#define PLAN_MEMBER(name, path)                                                                         \
    {                                                                                                   \
        name,                                                                                         \
     _Generic(((struct job_plan *)NULL)->path,                                                     \
         double: PLAN_MEMBER_NUMBER,                                                               \
         uint32_t: PLAN_MEMBER_SIZE,                                                               \
         uint64_t: PLAN_MEMBER_COUNT,                                                              \
         int64_t: PLAN_MEMBER_COUNT,                                                               \
         bool: PLAN_MEMBER_FLAG,                                                                   \
         char *: PLAN_MEMBER_ID),                                                                  \
     offsetof(struct job_plan, path) \
    }

/* As PLAN_MEMBER, for a double that may be infinite. */
#define PLAN_FIGURE(name, path)                                                                    \
    {                                                                                              \
        name, PLAN_MEMBER_FIGURE, offsetof(struct job_plan, path)                                  \
    }

/* Writes the members of TABLE into OBJECT. A row without a name ends TABLE. */
void plan_members_write(const struct plan_member *table, const struct job_plan *plan,
                        json_t *object);

/* Reads the members of TABLE from OBJECT into PLAN. */
void plan_members_read(const struct plan_member *table, const json_t *object,
                       struct job_plan *plan);

#endif
