/* Numbers, flags and ids of a plan by the names that they have in its JSON: one table writes them
 * and reads them back. Numbers are written so that they read back as the same double: what was
 * accounted is what runs. */
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

/* The member at PATH of a plan under NAME, of the kind that its type has. */
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

/* The same of a double that may be infinite. */
#define PLAN_FIGURE(name, path)                                                                    \
    {                                                                                              \
        name, PLAN_MEMBER_FIGURE, offsetof(struct job_plan, path)                                  \
    }

/* Sets the members of TABLE, which a row without a name ends, in OBJECT. */
void plan_members_write(const struct plan_member *table, const struct job_plan *plan,
                        json_t *object);

/* Reads them back, and only them. */
void plan_members_read(const struct plan_member *table, const json_t *object,
                       struct job_plan *plan);

#endif
