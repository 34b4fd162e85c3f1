/* All problems that a caller can meet. A handler answers with one of these names; the table in
 * problem.c has its status, its title and the text of its page. */
#ifndef TACET_API_WIRE_PROBLEM_H
#define TACET_API_WIRE_PROBLEM_H

#include <stddef.h>

/* A new problem is one name here and one row in problem.c. */
enum problem {
    PROBLEM_NONE = 0,
    /* the request's form */
    PROBLEM_BAD_REQUEST,
    PROBLEM_NOT_JSON,
    PROBLEM_VALIDATION,
    PROBLEM_UNAUTHORIZED,
    PROBLEM_FORBIDDEN,
    PROBLEM_INSUFFICIENT_SCOPE,
    PROBLEM_NOT_FOUND,
    PROBLEM_METHOD_NOT_ALLOWED,
    PROBLEM_NOT_ACCEPTABLE,
    PROBLEM_REQUEST_TIMEOUT,
    PROBLEM_BODY_TOO_LARGE,
    PROBLEM_CLIENT_DISK_FULL,
    PROBLEM_UNSUPPORTED_MEDIA_TYPE,
    PROBLEM_CORRUPT_ENCODING,
    PROBLEM_URI_TOO_LONG,
    PROBLEM_HEADERS_TOO_LARGE,
    /* state */
    PROBLEM_CONFLICT,
    PROBLEM_PRECONDITION_FAILED,
    PROBLEM_PRECONDITION_REQUIRED,
    PROBLEM_DATASET_NOT_OPEN,
    PROBLEM_DATASET_NOT_SEALED,
    PROBLEM_DATASET_EMPTY,
    PROBLEM_JOB_NOT_CANCELLABLE,
    PROBLEM_NOT_RELEASED,
    PROBLEM_NO_BUDGET,
    PROBLEM_TEACHER_SILENT,
    PROBLEM_AGGREGATION_CLOSED,
    PROBLEM_STALE_VERSION,
    PROBLEM_ALREADY_REPORTED,
    /* keys and money */
    PROBLEM_IDEMPOTENCY_KEY_REQUIRED,
    PROBLEM_IDEMPOTENCY_KEY_INVALID,
    PROBLEM_IDEMPOTENCY_KEY_REUSED,
    PROBLEM_IDEMPOTENCY_KEY_EXPIRED,
    PROBLEM_CLOSED,
    PROBLEM_BUDGET_EXHAUSTED,
    PROBLEM_BUDGET_RESERVED,
    PROBLEM_COST_ABOVE_MAXIMUM,
    PROBLEM_INFEASIBLE,
    PROBLEM_HOPELESS,
    /* why a job ended badly: the "error" member of a job, never a reply of its own */
    PROBLEM_TRAINING_FAILED,
    PROBLEM_EVALUATION_FAILED,
    PROBLEM_DATA_UNREADABLE,
    PROBLEM_JOB_INTERRUPTED,
    /* ours */
    PROBLEM_RATE_LIMITED,
    PROBLEM_OVERLOADED,
    PROBLEM_SHUTTING_DOWN,
    PROBLEM_STORAGE_FULL,
    PROBLEM_NOT_READY,
    PROBLEM_INTERNAL_ERROR,
    PROBLEM_COUNT
};

struct problem_info {
    const char *slug; /* "budget-exhausted": the end of its type URI, /problems/<slug> */
    int status;       /* HTTP status */
    const char *title;
    const char *explanation; /* the text of its page: what happened and what to do */
};

/* The row of PROBLEM, which is neither PROBLEM_NONE nor past the end. */
const struct problem_info *problem_info(enum problem problem);

/* The problem of that slug; PROBLEM_NONE when there is none. */
enum problem problem_find(const char *slug);

#endif
