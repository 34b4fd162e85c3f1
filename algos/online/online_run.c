/* Pulses, checkpoints and results of loops that learn in a world. */
#include "algos/online/online_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/data/checksum.h"
#include "algos/offline/hooks.h"
#include "memory/memory.h"

enum { MAGIC = 0x4c4e4f54, VERSION = 1 };

struct header {
    uint32_t magic, version;
    uint64_t fingerprint, updates, optimizer_step, count, vectors;
};
_Static_assert(sizeof(struct header) == 48, "no padding in the byte form");

uint64_t online_fingerprint(const struct algorithm_run *run, unsigned parameter_count)
{
    const struct algorithm_request *request = run->request;
    uint64_t hash = checksum_words(CHECKSUM_START, &request->seed, sizeof request->seed);
    for (unsigned i = 0; i < parameter_count; i++) {
        const struct parameter_value *value = &request->parameters.value[i];
        hash = checksum_number(hash, value->count);
        hash = checksum_words(hash, value->number, value->count * sizeof *value->number);
    }
    const double numbers[] = {request->mechanism, request->epsilon, request->delta,
                              run->plan->privacy.noise_multiplier, (double)run->plan->total_steps};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        hash = checksum_number(hash, numbers[i]);
    if (!request->world)
        return hash;
    for (const char *c = request->world->name; *c != '\0'; c++)
        hash = checksum_number(hash, *c);
    return checksum_words(hash, request->world_parameters,
                          request->world->parameter_count * sizeof *request->world_parameters);
}

static unsigned vector_count(const struct online_memory *memory)
{
    unsigned n = 0;
    while (n < ONLINE_VECTORS && memory->vector[n])
        n++;
    return n;
}

static size_t online_body_size(const struct online_memory *memory)
{
    return sizeof(struct header) +
           checksum_padded(vector_count(memory) * memory->count * sizeof(float));
}

unsigned char *online_to_bytes(const struct online_memory *memory, uint64_t fingerprint,
                               size_t *out_size)
{
    const struct header header = {
        .magic = MAGIC,
        .version = VERSION,
        .fingerprint = fingerprint,
        .updates = *memory->updates,
        .optimizer_step = memory->optimizer_step ? *memory->optimizer_step : 0,
        .count = memory->count,
        .vectors = vector_count(memory),
    };
    size_t end = online_body_size(memory), vector = memory->count * sizeof(float);
    unsigned char *bytes = checksum_room(end, out_size);
    memcpy(bytes, &header, sizeof header);
    for (unsigned i = 0; i < header.vectors; i++)
        memcpy(bytes + sizeof header + i * vector, memory->vector[i], vector);
    checksum_seal(bytes, end);
    return bytes;
}

bool online_from_bytes(const struct online_memory *memory, uint64_t fingerprint, uint64_t total,
                       const unsigned char *bytes, size_t size)
{
    struct header header;
    size_t end = online_body_size(memory), vector = memory->count * sizeof(float);
    if (!bytes || size != end + sizeof(uint64_t))
        return false;
    memcpy(&header, bytes, sizeof header);
    if (header.magic != MAGIC || header.version != VERSION || header.fingerprint != fingerprint ||
        header.count != memory->count || header.vectors != vector_count(memory) ||
        header.updates > total || !checksum_holds(bytes, end))
        return false;
    *memory->updates = header.updates;
    if (memory->optimizer_step)
        *memory->optimizer_step = header.optimizer_step;
    for (unsigned i = 0; i < header.vectors; i++)
        memcpy(memory->vector[i], bytes + sizeof header + i * vector, vector);
    return true;
}

/* What a checkpoint is made of. */
struct saving {
    const struct algorithm_run *run;
    uint64_t fingerprint;
    const struct online_memory *memory;
};

static bool online_save(void *context)
{
    const struct saving *saving = context;
    const struct algorithm_hooks *hooks = &saving->run->hooks;
    size_t size = 0;
    if (!hooks->save)
        return false;
    unsigned char *bytes = online_to_bytes(saving->memory, saving->fingerprint, &size);
    bool saved = hooks->save(hooks->context, *saving->memory->updates, bytes, size);
    free(bytes);
    return saved;
}

enum algorithm_status online_pulse(const struct algorithm_run *run, uint64_t fingerprint,
                                   const struct online_memory *memory)
{
    struct saving saving = {run, fingerprint, memory};
    return hooks_pulse(&run->hooks, *memory->updates, online_save, &saving);
}

enum algorithm_status online_policy(const struct mlp_shape *shape, const float *parameters,
                                    struct policy **out, const char **message)
{
    size_t count = mlp_parameter_count(shape);
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(parameters[i])) { /* post-processing where the weights were noised */
            *message = "the weights grew without bound; a smaller learning rate helps";
            return ALGORITHM_BAD_INPUT;
        }
    }
    struct policy *policy = memory_must(policy_new(shape, POLICY_SOFTMAX));
    memcpy(policy->parameters, parameters, count * sizeof *parameters);
    *out = policy;
    return ALGORITHM_OK;
}

const char *online_arithmetic(const struct dp_sgd_plan *plan)
{
    if (plan->rounded_draws > 0)
        return "Exact arithmetic: sums are of whole numbers and the noise is a rounded Gaussian, "
               "whose distance from the true law every figure pays for; the proof covers what was "
               "computed.";
    return "Noise is drawn and added in 32-bit floating point; no theorem covers its last bits. "
           "The weights are rounded to multiples of 2^-20, which is post-processing.";
}

uint32_t online_step_limit(double asked, const struct env *world)
{
    double usual = world ? world->max_episode_steps : ONLINE_MAX_STEPS;
    return (uint32_t)fmin(asked > 0.0 ? asked : usual, ONLINE_MAX_STEPS);
}

void online_settle_limit(struct algorithm_request *request, unsigned index)
{
    double *limit = request->parameters.value[index].number;
    if (request->mechanism == MECHANISM_LDP_OBSERVATIONS)
        *limit = online_step_limit(*limit, request->world);
}

const char *online_request_problem(const struct algorithm_request *request,
                                   const struct parameter_spec *specs, unsigned count)
{
    const char *problem = parameters_problem(specs, count, &request->parameters);
    if (problem)
        return problem;
    if (!request->world)
        return "a world to play in is needed";
    return request->world->action_count < 2 ? "a world with two actions at least is needed" : NULL;
}
