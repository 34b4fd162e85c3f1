/* Computes returns from a file of trajectories, with the reader of uploads. */
#include "cli/returns_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/online/experts.h"
#include "api/data/expert_names.h"
#include "api/data/json_stream.h"
#include "api/wire/inflate.h"
#include "memory/memory.h"

#define EXPERTS_MOST 1000000

/* A reading in progress. */
struct reading {
    const char *path;
    FILE *file;
    struct inflate *inflate;
    struct json_stream *stream;
    struct expert_names *names;
    double *sum;     /* of the returns of each expert; room for ROOM */
    uint64_t *count; /* its trajectories */
    size_t room;
    char *error;
    bool faulty;
};

static long read_bytes(void *context, unsigned char *buffer, size_t size)
{
    FILE *file = context;
    size_t n = fread(buffer, 1, size, file);
    return n == 0 && ferror(file) ? -1 : (long)n;
}

/* Keeps the first fault. */
static void returns_fault(void *context, uint64_t line, const char *pointer, const char *detail)
{
    struct reading *reading = context;
    if (reading->faulty)
        return;
    reading->faulty = true;
    snprintf(reading->error, 512, "%s: line %" PRIu64 ": %s%s%s", reading->path, line, pointer,
             pointer[0] == '\0' ? "" : " ", detail);
}

static bool reading_failed(struct reading *reading, const char *why)
{
    if (!reading->faulty)
        snprintf(reading->error, 512, "%s: %s", reading->path, why);
    reading->faulty = true;
    return false;
}

static enum inflate_encoding encoding_of(FILE *file)
{
    unsigned char head[4] = {0};
    size_t n = fread(head, 1, sizeof head, file);
    rewind(file);
    if (n >= 2 && head[0] == 0x1f && head[1] == 0x8b)
        return INFLATE_GZIP;
    bool zstd = n == 4 && memcmp(head, "\x28\xb5\x2f\xfd", 4) == 0;
    return zstd ? INFLATE_ZSTD : INFLATE_IDENTITY;
}

static bool open_all(struct reading *reading, const struct env *env)
{
    const struct json_stream_shape shape = {.state_dim = env->state_dim,
                                            .action_count = env->action_count,
                                            .max_episode_steps = EXPERTS_MAX_STEPS};
    reading->file = fopen(reading->path, "rb");
    if (!reading->file)
        return reading_failed(reading, strerror(errno));
    const struct byte_reader bytes = {reading->file, read_bytes};
    reading->inflate = inflate_new(encoding_of(reading->file), bytes, UINT64_MAX);
    reading->names = expert_names_new();
    reading->stream = json_stream_new(&shape, inflate_reader(reading->inflate),
                                      (struct json_stream_faults){reading, returns_fault});
    return reading->stream || reading_failed(reading, "cannot be read here");
}

static void make_return_room(struct reading *reading, size_t need)
{
    if (need <= reading->room)
        return;
    size_t room = 2 * need + 64, more = room - reading->room;
    reading->sum = memory_resize(reading->sum, room, sizeof *reading->sum);
    reading->count = memory_resize(reading->count, room, sizeof *reading->count);
    memset(reading->sum + reading->room, 0, more * sizeof *reading->sum);
    memset(reading->count + reading->room, 0, more * sizeof *reading->count);
    reading->room = room;
}

static bool add_return(struct reading *reading, const struct trajectory *trajectory,
                       const char *expert)
{
    uint32_t number = 0;
    if (!expert_names_number(reading->names, expert, EXPERTS_MOST, &number))
        return reading_failed(reading, "has more than a million experts");
    make_return_room(reading, (size_t)number + 1);
    for (uint32_t t = 0; t < trajectory->length; t++)
        reading->sum[number] += (double)trajectory->rewards[t];
    reading->count[number]++;
    return true;
}

static bool read_all(struct reading *reading)
{
    struct trajectory trajectory;
    const char *expert;
    for (;;) {
        switch (json_stream_next(reading->stream, &trajectory, &expert)) {
        case JSON_STREAM_TRAJECTORY:
            if (!add_return(reading, &trajectory, expert))
                return false;
            break;
        case JSON_STREAM_FAULTY: return reading_failed(reading, "holds a faulty trajectory");
        case JSON_STREAM_GONE:
            return reading_failed(reading, ferror(reading->file)
                                               ? strerror(errno)
                                               : "its compressed bytes are damaged");
        case JSON_STREAM_END:
            return !reading->faulty && (expert_names_count(reading->names) > 0 ||
                                        reading_failed(reading, "holds no trajectory"));
        }
    }
}

static void close_all(struct reading *reading)
{
    json_stream_free(reading->stream);
    inflate_free(reading->inflate);
    expert_names_free(reading->names);
    if (reading->file)
        fclose(reading->file);
    free(reading->count);
    free(reading->sum);
}

bool returns_file_read(const char *path, const struct env *env, double **out, size_t *out_count,
                       char error[512])
{
    struct reading reading = {.path = path, .error = error};
    bool good = open_all(&reading, env) && read_all(&reading);
    if (good) {
        *out_count = expert_names_count(reading.names);
        for (size_t i = 0; i < *out_count; i++)
            reading.sum[i] /= (double)reading.count[i];
        *out = reading.sum;
        reading.sum = NULL;
    }
    close_all(&reading);
    return good;
}

bool returns_of_random(const struct env *env, uint32_t max_steps, uint32_t episodes, uint64_t seed,
                       double *out)
{
    double physics[ENV_MAX_PARAMETERS], seen[ENV_MAX_STATE_DIM], sum = 0;
    struct rng rng;
    bool good = true;
    void *world = env_open(env);
    if (!world)
        return false;
    rng_seed(&rng, seed, 0);
    env_defaults(env, physics);
    for (uint32_t e = 0; e < episodes && good; e++) {
        struct env_outcome outcome = {0};
        good = env->reset(world, physics, &rng, seen);
        for (uint32_t t = 0; t < max_steps && good && !outcome.terminated; t++) {
            unsigned action = rng_below(&rng, env->action_count);
            outcome = env->step(world, physics, action, &rng, seen);
            good = !outcome.failed;
            sum += outcome.reward;
        }
    }
    env_close(env, world);
    *out = sum / episodes;
    return good;
}
