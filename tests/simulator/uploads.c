/* Uploads: what an answered one adds to its dataset, and that the dataset has that and no more. */
#include <stdio.h>
#include <string.h>

#include "api/data/private_data.h"
#include "tests/simulator/life.h"

void life_take_upload(struct life *life, const struct asked *asked, const char *answer)
{
    struct model_dataset *data = &life->model.data;
    char told[100];
    snprintf(told, sizeof told, "{\"trajectories\":%u,\"transitions\":%u,\"experts\":%u}",
             asked->count, asked->count, asked->count);
    if (strcmp(answer, told) != 0)
        life_fail(life, "%s: an upload of %s: %.200s", asked->key, told, answer);
    data->uploads++;
    data->chunks++; /* they are small */
    data->trajectories += asked->count;
    data->transitions += asked->count;
    for (unsigned i = 0; i < asked->count; i++)
        data->experts |= 1u << scene_expert(asked->number, i);
    life->uploads = true;
    life->count[LIFE_UPLOADED]++;
}

/* Part of the dataset but not yet told of: other threads come in between. */
static bool has_one_under_way(const struct life *life)
{
    for (unsigned i = 0; i < life->flight_count; i++)
        if (life->flights[i]->what == LIFE_UPLOAD && life->flights[i]->way == SERVICE_ANSWERED)
            return true;
    return false;
}

struct counts {
    int64_t trajectories, transitions, experts, uploads, chunks, staged;
};

static enum db_status read_counts(void *context, const struct db_row *row)
{
    struct counts *is = context;
    *is = (struct counts){db_row_integer(row, 0), db_row_integer(row, 1), db_row_integer(row, 2),
                          db_row_integer(row, 3), db_row_integer(row, 4), db_row_integer(row, 5)};
    return DB_OK;
}

void life_check_uploads(struct life *life, bool swept)
{
    const struct model_dataset *data = &life->model.data;
    struct counts is = {.uploads = -1};
    if (has_one_under_way(life))
        return;
    life->uploads = false;
    if (db_one(life->auditor,
               "SELECT trajectories, transitions, (SELECT count(*) FROM experts WHERE dataset = "
               "$1), (SELECT count(*) FROM uploads WHERE dataset = $1 AND place > 0), (SELECT "
               "count(*) FROM uploads AS u JOIN upload_chunks AS c ON c.upload = u.id WHERE "
               "u.dataset = $1 AND u.place > 0 AND c.sequence < u.chunks), (SELECT count(*) FROM "
               "uploads WHERE place <= 0) FROM datasets WHERE id = $1",
               DB_VALUES(db_text(life->scene->open)), read_counts, &is) != DB_OK)
        life_fail(life, "a dataset cannot be read");
    if (is.trajectories != data->trajectories || is.transitions != data->transitions ||
        is.experts != __builtin_popcount(data->experts) || is.uploads != data->uploads ||
        is.chunks != data->chunks)
        life_fail(life,
                  "%lld uploads of %lld chunks have %lld trajectories, %lld transitions and %lld "
                  "experts, and %d of %d, %d, %d and %d were answered",
                  (long long)is.uploads, (long long)is.chunks, (long long)is.trajectories,
                  (long long)is.transitions, (long long)is.experts, data->uploads, data->chunks,
                  data->trajectories, data->transitions, __builtin_popcount(data->experts));
    if (swept && is.staged != 0)
        life_fail(life, "%lld uploads are there in part", (long long)is.staged);
}

static bool count_chunk(void *context, const struct upload_chunk *chunk)
{
    (void)chunk;
    ++*(int *)context;
    return true;
}

void life_read_uploads(struct life *life)
{
    int chunks = 0;
    enum db_status status =
        private_read(life->servers[0].app, life->auditor, life->scene->open, count_chunk, &chunks);
    if (status != DB_OK || chunks != life->model.data.chunks)
        life_fail(life, "of %d chunks %d can be decrypted: %d", life->model.data.chunks, chunks,
                  status);
}
