#include "storage/refusals.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"

struct noted {
    unsigned count;
    struct trail_row rows[REFUSALS_MOST + 1]; /* the last one counts those that had no place */
};

struct refusals {
    pthread_mutex_t lock;
    struct noted noted;
};

struct refusals *refusals_new(void)
{
    struct refusals *refusals = memory_new(1, sizeof *refusals);
    pthread_mutex_init(&refusals->lock, NULL);
    return refusals;
}

void refusals_free(struct refusals *refusals)
{
    if (!refusals)
        return;
    pthread_mutex_destroy(&refusals->lock);
    free(refusals);
}

static bool is_alike(const struct trail_row *a, const struct trail_row *b)
{
    return strcmp(a->client, b->client) == 0 && strcmp(a->action, b->action) == 0 &&
           strcmp(a->resource, b->resource) == 0 && strcmp(a->subject, b->subject) == 0 &&
           strcmp(a->outcome, b->outcome) == 0;
}

static void note_row(struct noted *noted, const struct trail_row *row)
{
    for (unsigned i = 0; i < noted->count; i++)
        if (is_alike(&noted->rows[i], row)) {
            noted->rows[i].count += row->count;
            return;
        }
    if (noted->count < REFUSALS_MOST) {
        noted->rows[noted->count++] = *row;
        return;
    }
    struct trail_row *others = &noted->rows[REFUSALS_MOST];
    if (noted->count == REFUSALS_MOST)
        *others = (struct trail_row){.time_ms = row->time_ms,
                                     .actor = "service",
                                     .action = "other refusals",
                                     .outcome = "refused"};
    others->count += row->count;
    noted->count = REFUSALS_MOST + 1;
}

void refusals_note(struct refusals *refusals, const struct trail_row *row)
{
    pthread_mutex_lock(&refusals->lock);
    note_row(&refusals->noted, row);
    pthread_mutex_unlock(&refusals->lock);
}

static enum db_status append_rows(struct db *db, void *context)
{
    struct noted *noted = context;
    enum db_status status = DB_OK;
    for (unsigned i = 0; i < noted->count && status == DB_OK; i++)
        status = trail_append(db, &noted->rows[i]);
    return status;
}

enum db_status refusals_write(struct refusals *refusals, struct db *db)
{
    enum db_status status = DB_OK;
    struct noted *taken = memory_new(1, sizeof *taken);
    pthread_mutex_lock(&refusals->lock);
    *taken = refusals->noted;
    refusals->noted.count = 0;
    pthread_mutex_unlock(&refusals->lock);
    if (taken->count > 0)
        status = db_transact(db, append_rows, taken);
    for (unsigned i = 0; i < taken->count && status != DB_OK; i++)
        refusals_note(refusals, &taken->rows[i]);
    free(taken);
    return status;
}
