/* Loads a job's data piece by piece, with heartbeats between: trajectories, and the networks that
 * experts uploaded.
 *
 * DESIGN. Networks are loaded one by one, so that memory never holds a second copy of all. All data
 * were checked at their upload. Malformed records, other dimensions, or an expert who is not in the
 * dataset therefore mean that the database was damaged; the job then ends with one fixed sentence.
 */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/data/private_data.h"
#include "api/jobs/ask/job_parts.h"
#include "api/jobs/run/job_run.h"
#include "storage/datasets.h"
#include "storage/uploads.h"

/* ---- trajectories */

struct loading {
    struct job_run *run;
    struct dataset_builder *builder;
    uint32_t slots; /* experts of the dataset */
    bool good;
};

/* Reads one record at AT; 0 when it is damaged. */
static size_t load_record(const struct loading *loading, const unsigned char *at, size_t size,
                          const uint32_t *experts, uint32_t expert_count, struct trajectory *out)
{
    const struct algorithm_request *request = &loading->run->plan.request;
    size_t used = trajectory_record_read(at, size, request->state_dim, out);
    if (used == 0 || out->expert >= expert_count || experts[out->expert] >= loading->slots)
        return 0;
    out->expert = experts[out->expert];
    for (uint32_t t = 0; t < out->length; t++)
        if (out->actions[t] >= request->action_count)
            return 0;
    return used;
}

static bool load_chunk(void *context, const struct upload_chunk *chunk)
{
    struct loading *loading = context;
    const unsigned char *at = chunk->bytes;
    size_t size = chunk->size;
    loading->good = job_run_goes_on(loading->run);
    while (loading->good && size > 0) {
        struct trajectory trajectory;
        size_t used =
            load_record(loading, at, size, chunk->experts, chunk->expert_count, &trajectory);
        if (used == 0) {
            loading->good = false;
            break;
        }
        /* The record was checked, so the builder can only fail for lack of memory. */
        loading->good = dataset_builder_add(loading->builder, &trajectory);
        loading->run->waiting = !loading->good;
        at += used;
        size -= used;
    }
    return loading->good;
}

struct loading_keys {
    uint64_t *keys;
    uint32_t count, seen;
};

/* Hashes who an expert is: owner and name together, because another owner may use the same name. */
static bool load_key(void *context, const struct expert_row *expert)
{
    struct loading_keys *loading = context;
    unsigned char hash[crypto_generichash_BYTES_MIN];
    char text[ID_SIZE + DATASET_EXPERT_SIZE];
    int size = snprintf(text, sizeof text, "%s\n%s", expert->owner, expert->name);
    if (expert->number >= loading->count || size < 0 || (size_t)size >= sizeof text ||
        crypto_generichash(hash, sizeof hash, (unsigned char *)text, (size_t)size, NULL, 0) != 0)
        return false;
    memcpy(&loading->keys[expert->number], hash, sizeof loading->keys[0]);
    loading->seen++;
    return true;
}

/* Loads the keys of the dataset's experts. False: a flag says why, or the rows are damaged. */
static bool load_keys(struct job_run *run, struct dataset *data)
{
    struct loading_keys loading = {.count = data->expert_count};
    loading.keys = calloc(data->expert_count, sizeof *loading.keys);
    data->expert_keys = loading.keys;
    run->waiting = !loading.keys;
    if (!loading.keys)
        return false;
    enum db_status status =
        datasets_experts(run->db, run->job.dataset, 0, data->expert_count, load_key, &loading);
    run->storage_failed = status != DB_OK && status != DB_NONE;
    return !run->storage_failed && loading.seen == loading.count;
}

/* How often the data of ROW are in files at once: a judge's data, and some jobs' own, are copied in
 * part while all of them are there. */
static unsigned copies_of(const struct job_run *run, const struct dataset_row *row)
{
    const struct algorithm_request *request = &run->plan.request;
    const struct stage_request *stage = &request->stage;
    bool logged = stage->kind == STAGE_STABLE && stage->source == STABLE_LOGGED;
    bool own = strcmp(row->id, run->job.dataset) == 0;
    return own && !logged && request->judge.held_out == 0 ? 1 : 2;
}

/* Decides where the columns of ROW's data lie, and takes the room for them. */
static bool take_room(struct job_run *run, const struct dataset_row *row,
                      struct dataset_builder *builder)
{
    const struct api_settings *settings = &run->app->settings;
    const uint64_t transitions = (uint64_t)row->transitions;
    const uint64_t trajectories = (uint64_t)row->trajectories, most = settings->data_memory_bytes;
    const uint64_t bytes = dataset_bytes(run->plan.request.state_dim, transitions, trajectories);
    bool room = true;
    if (most > 0 && bytes > most) {
        const unsigned copies = copies_of(run, row);
        room = bytes <= UINT64_MAX / copies &&
               data_columns_have_room(settings->columns_dir, copies * bytes);
        run->slow_data = true;
        dataset_builder_use_files(builder, settings->columns_dir);
    }
    run->waiting = !room || !dataset_builder_reserve(builder, transitions, trajectories);
    return !run->waiting;
}

static struct dataset *load_rows(struct job_run *run, const struct dataset_row *row)
{
    const struct algorithm_request *request = &run->plan.request;
    struct loading loading = {.run = run, .slots = (uint32_t)row->experts, .good = true};
    loading.builder = dataset_builder_new(request->state_dim, request->action_count, loading.slots);

    enum db_status status = DB_NONE;
    if (take_room(run, row, loading.builder))
        status = private_read(run->app, run->db, row->id, load_chunk, &loading);
    run->storage_failed = run->storage_failed || (status != DB_OK && status != DB_NONE);
    if (status != DB_OK || !loading.good) {
        dataset_builder_free(loading.builder);
        return NULL;
    }
    struct dataset *data = dataset_builder_finish(loading.builder);
    run->waiting = !data;
    return data;
}

bool job_run_dataset(struct job_run *run, const char *id, struct dataset_row *out)
{
    enum db_status status = datasets_find(run->db, id, out);
    run->storage_failed = run->storage_failed || (status != DB_OK && status != DB_NONE);
    return status == DB_OK && out->experts <= UINT32_MAX;
}

struct dataset *job_run_load(struct job_run *run)
{
    struct dataset_row row;
    if (!job_run_dataset(run, run->job.dataset, &row))
        return NULL;
    snprintf(run->environment, sizeof run->environment, "%s", row.environment);
    struct dataset *data = load_rows(run, &row);
    if (data && !load_keys(run, data)) {
        dataset_free(data);
        return NULL;
    }
    return data;
}

struct dataset *job_run_load_other(struct job_run *run, const char *id)
{
    struct dataset_row row;
    bool there = job_run_dataset(run, id, &row) && row.is_public && row.experts > 0 &&
                 row.state_dim == run->plan.request.state_dim;
    if (!there)
        return NULL;
    return load_rows(run, &row);
}

/* ---- networks */

struct loading_experts {
    struct job_run *run;
    struct expert_policies *policies;
    bool good;
};

static bool load_network(void *context, uint32_t number, const void *bytes, size_t size)
{
    struct loading_experts *loading = context;
    loading->good = job_run_goes_on(loading->run) && size <= JOB_NETWORKS_MAX_BYTES &&
                    expert_policies_bytes(loading->policies) <= JOB_NETWORKS_MAX_BYTES - size;
    if (!loading->good)
        return false;
    errno = 0;
    struct policy *policy = policy_from_bytes(bytes, size);
    loading->run->waiting = !policy && errno == ENOMEM;
    loading->good = policy && expert_policies_take(loading->policies, number, policy);
    if (!loading->good)
        policy_free(policy);
    return loading->good;
}

struct expert_policies *job_run_load_experts(struct job_run *run)
{
    struct dataset_row row;
    if (!job_run_dataset(run, run->job.dataset, &row) || row.state == DATASET_DELETED ||
        row.experts == 0)
        return NULL;
    struct loading_experts loading = {.run = run, .good = true};
    loading.policies = expert_policies_new((uint32_t)row.experts, row.state_dim, row.action_count,
                                           row.min_action_probability);

    enum db_status status =
        private_policies(run->app, run->db, run->job.dataset, load_network, &loading);
    run->storage_failed = run->storage_failed || (status != DB_OK && status != DB_NONE);
    if (status != DB_OK || !loading.good) {
        expert_policies_free(loading.policies);
        return NULL;
    }
    return loading.policies;
}
