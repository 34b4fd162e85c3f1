/* Reading what a steward wants a teacher to be, and certifying it. */
#ifndef TACET_API_TEACHERS_TEACHER_REQUEST_H
#define TACET_API_TEACHERS_TEACHER_REQUEST_H

#include "api/call/call.h"
#include "storage/teachers.h"

struct teacher_wish {
    struct teacher_row row; /* complete but for id, account and time */
    uint32_t actions;
    bool coarse;           /* the policy is secret and nothing accounts for it: policy_is_secret */
    bool basic;            /* accounts by basic composition */
    double epsilon, delta; /* the cap over all clients */
};

/* Reads the body, loads the policy, computes bound, order and prices. */
enum problem teacher_wish_read(struct call *call, struct teacher_wish *out);

#endif
