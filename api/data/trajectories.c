/* Receives an upload of trajectories, or of a table of steps, and stores it.
 *
 * DESIGN. The body is read once, in this order: call_read -> inflate -> json_stream or
 * table_stream -> records -> chunks of about a MiB. Memory is one chunk, one trajectory, the
 * buffers of the decoders and the names of the upload's experts, whatever the size of the body.
 * Chunks are staged in transactions of their own, so that a long upload blocks no other call;
 * HANDLE makes them part of the dataset at once. On any failure before that, the deferred abort
 * removes them. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/call/app.h"
#include "api/data/datasets.h"
#include "api/data/erasure.h"
#include "api/data/expert_names.h"
#include "api/data/json_stream.h"
#include "api/data/private_data.h"
#include "api/data/table_stream.h"
#include "api/json/text.h"
#include "api/wire/inflate.h"
#include "memory/memory.h"
#include "storage/uploads.h"

#define CHUNK_BYTES   (1U << 20)
#define FAULTS_ENOUGH 100 /* reported; the rest of the body is not read */

struct upload {
    struct call *call;
    struct dataset_row dataset;
    struct description *description; /* NULL: none */
    char id[ID_SIZE];                /* "" until it has begun */
    struct inflate *inflate;
    struct json_stream *stream; /* NULL where a table is sent */
    struct table_stream *table; /* NULL where JSON is sent */
    struct expert_names *names;
    struct private_keys *keys;
    unsigned char *chunk; /* encrypted records, back to back */
    size_t used, room;
    uint32_t chunks;
    int64_t trajectories, transitions;
};

static void upload_end(void *context)
{
    struct upload *upload = context;
    if (upload->id[0] != '\0') {
        /* This removes nothing of a committed upload, which has nothing staged. */
        (void)uploads_abort(upload->call->db, upload->id);
    }
    json_stream_free(upload->stream);
    table_stream_free(upload->table);
    inflate_free(upload->inflate);
    expert_names_free(upload->names);
    private_keys_free(upload->keys);
    free(upload->chunk);
}

/* ---- the form of the request */

/* The type of the body without its parameters is NAME. */
static bool type_is(const char *type, const char *name)
{
    size_t length = strcspn(text_or_empty(type), "; \t");
    return length == strlen(name) && strncasecmp(type, name, length) == 0;
}

static enum problem check_table(struct call *call, const struct description *description)
{
    if (description && description->has_table)
        return PROBLEM_NONE;
    call_problem_member(call, "accepts",
                        json_pack("[s, s]", "application/x-ndjson", "application/json"));
    return call_problem(
        call, PROBLEM_UNSUPPORTED_MEDIA_TYPE,
        "A table is taken where the dataset's description has the member \"table\", "
        "which says what its columns are, and this dataset has none. Make one with "
        "such a description, or send trajectories as application/x-ndjson; `tacet "
        "import` makes them from a table.");
}

/* Sets *OUT_TABLE to whether the body is a table. */
static enum problem check_type(struct call *call, const struct description *description,
                               bool *out_table)
{
    static const char *const types[] = {"application/x-ndjson", "application/ndjson",
                                        "application/json"};
    const char *type = call_request_header(call, "Content-Type");
    *out_table = type_is(type, "text/csv");
    if (*out_table)
        return check_table(call, description);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (type_is(type, types[i]))
            return PROBLEM_NONE;
    call_problem_member(call, "accepts", json_pack("[s, s, s]", types[0], types[2], "text/csv"));
    return call_problem(call, PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                        "Trajectories are taken as application/x-ndjson, one to a line, as an "
                        "array in application/json, or as text/csv where the dataset's description "
                        "has a table. `tacet import` sends NPZ and HDF5.");
}

static enum problem upload_check_encoding(struct call *call, enum inflate_encoding *out)
{
    *out = inflate_encoding_find(call_request_header(call, "Content-Encoding"));
    if (*out != INFLATE_UNKNOWN)
        return PROBLEM_NONE;
    call_problem_member(call, "accepts", json_pack("[s, s, s]", "gzip", "zstd", "identity"));
    return call_problem(call, PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                        "A Content-Encoding of gzip, zstd or identity is understood.");
}

/* ---- opening */

static long upload_read_body(void *context, unsigned char *buffer, size_t size)
{
    return call_read(context, buffer, size);
}

static void upload_fault(void *context, uint64_t line, const char *pointer, const char *detail)
{
    struct upload *upload = context;
    call_invalid_line(upload->call, line, pointer, detail);
}

static enum problem upload_begin(struct upload *upload)
{
    struct call *call = upload->call;
    enum dataset_verdict verdict = DATASET_UNKNOWN;
    char id[ID_SIZE];
    enum db_status status =
        uploads_begin(call->db, upload->dataset.id, call->caller.id, call->now_ms, id, &verdict);
    if (status != DB_OK)
        return call_db(call, status);
    if (verdict != DATASET_OK)
        return dataset_refused(call, verdict, "The dataset is sealed: nothing can be added.");
    memcpy(upload->id, id, ID_SIZE);
    return PROBLEM_NONE;
}

static bool open_readers(struct upload *upload, enum inflate_encoding encoding, bool table)
{
    struct call *call = upload->call;
    const struct dataset_row *dataset = &upload->dataset;
    const struct json_stream_shape shape = {.state_dim = dataset->state_dim,
                                            .action_count = dataset->action_count,
                                            .max_episode_steps = dataset->max_episode_steps,
                                            .description = upload->description};
    const struct json_stream_faults faults = {upload, upload_fault};
    struct byte_reader body = {.context = call, .read = upload_read_body};
    upload->names = expert_names_new();
    upload->room = CHUNK_BYTES;
    upload->chunk = memory_new(1, upload->room);
    upload->used = PRIVATE_HEAD;
    memcpy(upload->chunk, PRIVATE_CHUNK, PRIVATE_HEAD);
    upload->keys = private_keys_new();
    upload->inflate = inflate_new(encoding, body, call->app->settings.max_upload_bytes);
    struct byte_reader decoded = inflate_reader(upload->inflate);
    if (table)
        upload->table = table_stream_new(upload->description, dataset->max_episode_steps, decoded,
                                         faults, NULL);
    else
        upload->stream = json_stream_new(&shape, decoded, faults);
    return upload->stream || upload->table;
}

static enum json_stream_status upload_next(struct upload *upload, struct trajectory *out,
                                           const char **out_expert)
{
    if (upload->table)
        return table_stream_next(upload->table, out, out_expert);
    return json_stream_next(upload->stream, out, out_expert);
}

/* ---- storing */

static enum problem upload_flush(struct upload *upload)
{
    if (upload->used == PRIVATE_HEAD)
        return PROBLEM_NONE;
    struct call *call = upload->call;
    enum problem problem = dataset_check_disk(call, upload->used);
    if (problem != PROBLEM_NONE)
        return problem;
    enum db_status status =
        uploads_chunk(call->db, upload->id, upload->chunks, upload->chunk, upload->used);
    upload->chunks++;
    upload->used = PRIVATE_HEAD;
    return call_db(call, status);
}

static enum problem upload_store(struct upload *upload, struct trajectory *trajectory,
                                 const char *expert)
{
    struct call *call = upload->call;
    uint32_t most = call->app->settings.max_experts_per_dataset;
    if (!expert_names_number(upload->names, expert, most, &trajectory->expert))
        return call_invalid(call, "", "The upload has more than %u experts.", most);
    size_t size = trajectory_record_size(trajectory->length, upload->dataset.state_dim);
    size_t stored = size + PRIVATE_MORE;
    if (stored > upload->room - upload->used) {
        enum problem problem = upload_flush(upload);
        if (problem != PROBLEM_NONE)
            return problem;
    }
    if (PRIVATE_HEAD + stored > upload->room) { /* one longer than a chunk is a chunk of its own */
        unsigned char *larger = realloc(upload->chunk, PRIVATE_HEAD + stored);
        if (!larger)
            return call_no_memory(call);
        upload->chunk = larger;
        upload->room = PRIVATE_HEAD + stored;
    }
    trajectory_record_write(trajectory, upload->dataset.state_dim,
                            upload->chunk + upload->used + 2 * sizeof(uint32_t));
    upload->used += private_record_close(upload->keys, upload->chunks, upload->chunk, upload->used,
                                         trajectory->expert, size);
    upload->trajectories++;
    upload->transitions += trajectory->length;
    return PROBLEM_NONE;
}

/* The problem for a body that could not be read to its end. */
static enum problem broken_off(struct upload *upload)
{
    struct call *call = upload->call;
    switch (inflate_status(upload->inflate)) {
    case INFLATE_CORRUPT:
        return call_problem(
            call, PROBLEM_CORRUPT_ENCODING,
            "The compressed body is damaged or ends too early. Nothing was stored.");
    case INFLATE_TOO_LARGE:
        return call_problem(call, PROBLEM_BODY_TOO_LARGE,
                            "The body decodes to more than %llu bytes (the decoded size counts, "
                            "too), or to over 1000 times its size. Nothing was stored.",
                            (unsigned long long)call->app->settings.max_upload_bytes);
    default:
        return call_problem(call, PROBLEM_BAD_REQUEST,
                            "The body ended before it was complete. Nothing was stored.");
    }
}

static enum problem upload_read(struct upload *upload)
{
    struct call *call = upload->call;
    struct trajectory trajectory;
    const char *expert;
    for (;;) {
        enum problem problem = PROBLEM_NONE;
        switch (upload_next(upload, &trajectory, &expert)) {
        case JSON_STREAM_TRAJECTORY:
            if (call_error_count(call) == 0) /* after the first fault the rest is only checked */
                problem = upload_store(upload, &trajectory, expert);
            break;
        case JSON_STREAM_FAULTY:
            if (call_error_count(call) >= FAULTS_ENOUGH)
                problem = PROBLEM_VALIDATION;
            break;
        case JSON_STREAM_GONE: return broken_off(upload);
        case JSON_STREAM_END:
            if (call_error_count(call) > 0)
                return PROBLEM_VALIDATION;
            return upload_flush(upload);
        }
        if (problem != PROBLEM_NONE)
            return problem;
    }
}

enum problem api_trajectories_prepare(struct call *call)
{
    struct upload *upload = arena_array(&call->arena, 1, sizeof *upload);
    upload->call = call;
    enum inflate_encoding encoding;
    bool table = false;
    enum problem problem = dataset_of_call(call, &upload->dataset);
    if (problem != PROBLEM_NONE ||
        (problem = dataset_describe(call, upload->dataset.id, &upload->description)) !=
            PROBLEM_NONE ||
        (problem = check_type(call, upload->description, &table)) != PROBLEM_NONE ||
        (problem = upload_check_encoding(call, &encoding)) != PROBLEM_NONE ||
        (problem = dataset_check_disk(call, 1)) != PROBLEM_NONE ||
        (problem = upload_begin(upload)) != PROBLEM_NONE)
        return problem;
    call_defer(call, upload_end, upload);
    if (!open_readers(upload, encoding, table))
        return call_no_memory(call);
    call->plan = upload;
    problem = upload_read(upload);
    if (problem == PROBLEM_NONE && upload->trajectories == 0)
        return call_invalid(call, "", "The upload holds no trajectory.");
    return problem;
}

/* ---- making it part of the dataset */

/* Makes the upload part of its dataset, and stores its keys. */
static enum db_status upload_commit(struct upload *upload, struct experts_outcome *out)
{
    struct call *call = upload->call;
    uint32_t count = expert_names_count(upload->names);
    const struct upload_summary summary = {
        .chunks = upload->chunks,
        .trajectories = upload->trajectories,
        .transitions = upload->transitions,
        .experts = expert_names_all(upload->names),
        .expert_count = count,
        .max_experts = call->app->settings.max_experts_per_dataset,
        .numbers = memory_new((size_t)count + 1, sizeof *summary.numbers),
    };
    enum db_status status = uploads_commit(call->db, upload->id, &summary, out);
    const struct private_upload stored = {.dataset = upload->dataset.id,
                                          .upload = upload->id,
                                          .numbers = summary.numbers,
                                          .count = count,
                                          .first_new = (uint32_t)out->first_new};
    if (status == DB_OK && out->verdict == DATASET_OK)
        status = private_keys_store(call->app, call->db, upload->keys, &stored);
    free(summary.numbers);
    return status;
}

enum problem api_trajectories_upload(struct call *call)
{
    struct upload *upload = call->plan;
    struct dataset_row now;
    enum problem problem = dataset_of_call(call, &now); /* who sends may be no member any more */
    if (problem != PROBLEM_NONE)
        return problem;
    problem = erasure_refuse_names(call, upload->dataset.id, expert_names_all(upload->names),
                                   expert_names_count(upload->names));
    if (problem != PROBLEM_NONE)
        return problem;
    struct experts_outcome outcome = {.verdict = DATASET_UNKNOWN};
    enum db_status status = upload_commit(upload, &outcome);
    if (status != DB_OK)
        return call_db(call, status);
    if (outcome.verdict == DATASET_EXPERTS_LIMIT)
        return call_invalid(call, "", "The dataset would have more than %u experts of yours.",
                            call->app->settings.max_experts_per_dataset);
    if (outcome.verdict != DATASET_OK)
        return dataset_refused(
            call, outcome.verdict,
            "The dataset was sealed while the upload arrived. Nothing was stored.");
    return call_reply_json(call, 201,
                           json_pack("{s:I, s:I, s:I}", "trajectories",
                                     (json_int_t)upload->trajectories, "transitions",
                                     (json_int_t)upload->transitions, "experts",
                                     (json_int_t)expert_names_count(upload->names)));
}
