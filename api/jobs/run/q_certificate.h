/* What is guaranteed about a released Q-function, as the JSON that is signed. Everything in it is
 * public. */
#ifndef TACET_API_JOBS_RUN_Q_CERTIFICATE_H
#define TACET_API_JOBS_RUN_Q_CERTIFICATE_H

#include "api/jobs/ask/job_plan.h"
#include "storage/jobs.h"

struct app;

struct q_certificate {
    const char *id;         /* crt_ */
    const char *subject;    /* "q_release", or "policy" for the network that it is */
    const char *subject_id; /* its id */
    bool injected_noise;    /* the first warning says that it protects nobody */
    int64_t now_ms;
};

/* The signed text; The caller frees it. */
char *q_certificate(const struct app *app, const struct job_row *job, const struct job_plan *plan,
                    const struct q_certificate *certificate);

#endif
