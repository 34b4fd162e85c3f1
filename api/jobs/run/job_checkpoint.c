/* Checkpoints at rest: encrypted, because what they hold is not released yet. Earlier versions left
 * most of them in clear, and jobs that they began go on from those. */
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/sealed.h"
#include "api/jobs/ask/job_kind.h"
#include "api/jobs/run/job_run.h"

bool job_checkpoint_close(struct job_run *run, const unsigned char *bytes, size_t size,
                          unsigned char **out, size_t *out_size)
{
    bool closed = sealed_close(run->app, run->job.dataset, run->job.id, bytes, size, out, out_size);
    run->waiting = run->waiting || !closed;
    return closed;
}

/* A copy in guarded memory; NULL with errno ENOMEM. */
static unsigned char *copy_clear(const void *bytes, size_t size)
{
    unsigned char *copy = sodium_malloc(size);
    if (copy && size > 0)
        memcpy(copy, bytes, size);
    errno = ENOMEM;
    return copy;
}

enum db_status job_checkpoint_load(struct job_run *run, int64_t *out_step, unsigned char **out,
                                   size_t *out_size)
{
    void *bytes = NULL;
    size_t size = 0;
    *out = NULL;
    enum db_status status = jobs_load_checkpoint(run->db, run->job.id, out_step, &bytes, &size);
    if (status != DB_OK)
        return status;
    *out = sealed_open(run->app, run->job.dataset, run->job.id, bytes, size, out_size);
    if (!*out && errno != ENOMEM && !job_plan_seals_checkpoints(&run->plan)) {
        *out = copy_clear(bytes, size);
        *out_size = size;
    }
    run->waiting = run->waiting || (!*out && errno == ENOMEM);
    free(bytes);
    return DB_OK;
}
