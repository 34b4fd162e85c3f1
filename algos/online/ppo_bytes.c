/* An agent between two updates, little endian:
 *
 *   u32 magic "TPPO"  u32 version 1  u64 fingerprint  u64 updates  u64 transitions  u64 episodes
 *   u64 optimiser steps  u64 parameters  u64 worlds  u64 rng[4]
 *   f64 recent returns[PPO_RECENT]  normaliser of observations  normaliser of returns, each
 *     f64 count, f64 mean[ENV_MAX_STATE_DIM], f64 squares[ENV_MAX_STATE_DIM]
 *   u64 generator[worlds][4]
 *   f32 weights, first moments, second moments [parameters]   (a word of padding when odd)
 *   u64 checksum of everything before it */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/data/checksum.h"
#include "algos/online/ppo_state.h"

enum { MAGIC = 0x4f505054, VERSION = 1 };

struct header {
    uint32_t magic, version;
    uint64_t fingerprint, updates, transitions, episodes, optimizer_step, count, worlds;
    struct rng rng;
    double recent[PPO_RECENT];
    struct ppo_scales frozen, seen;
};
_Static_assert(sizeof(struct normalizer) == (1 + 2 * ENV_MAX_STATE_DIM) * sizeof(double) &&
                   sizeof(struct header) ==
                       (12 + PPO_RECENT) * sizeof(double) + 4 * sizeof(struct normalizer),
               "no padding in the byte form");

static size_t vectors_size(const struct ppo *ppo)
{
    return checksum_padded(3 * ppo->count * sizeof(float));
}

static size_t generators_size(const struct ppo *ppo)
{
    return ppo->settings.worlds * sizeof(struct rng);
}

static size_t ppo_body_size(const struct ppo *ppo)
{
    return sizeof(struct header) + generators_size(ppo) + vectors_size(ppo);
}

unsigned char *ppo_to_bytes(const struct ppo *ppo, uint64_t fingerprint, size_t *out_size)
{
    struct header header = {
        .magic = MAGIC,
        .version = VERSION,
        .fingerprint = fingerprint,
        .updates = ppo->updates,
        .transitions = ppo->transitions,
        .episodes = ppo->episodes,
        .optimizer_step = ppo->adam.step,
        .count = ppo->count,
        .worlds = ppo->settings.worlds,
        .rng = ppo->rng,
        .frozen = ppo->frozen,
        .seen = ppo->seen,
    };
    memcpy(header.recent, ppo->recent, sizeof header.recent);
    size_t end = ppo_body_size(ppo), vector = ppo->count * sizeof(float);
    unsigned char *bytes = checksum_room(end, out_size);
    memcpy(bytes, &header, sizeof header);
    unsigned char *at = bytes + sizeof header;
    memcpy(at, ppo->worlds->generators, generators_size(ppo));
    at += generators_size(ppo);
    memcpy(at, ppo->weights, vector);
    memcpy(at + vector, ppo->adam.first, vector);
    memcpy(at + 2 * vector, ppo->adam.second, vector);
    checksum_seal(bytes, end);
    return bytes;
}

bool ppo_from_bytes(struct ppo *ppo, uint64_t fingerprint, const unsigned char *bytes, size_t size)
{
    size_t end = ppo_body_size(ppo), vector = ppo->count * sizeof(float);
    struct header header;
    if (!bytes || size != end + sizeof(uint64_t))
        return false;
    memcpy(&header, bytes, sizeof header);
    if (header.magic != MAGIC || header.version != VERSION || header.fingerprint != fingerprint ||
        header.count != ppo->count || header.worlds != ppo->settings.worlds ||
        !checksum_holds(bytes, end))
        return false;
    ppo->updates = header.updates;
    ppo->transitions = header.transitions;
    ppo->episodes = header.episodes;
    ppo->adam.step = header.optimizer_step;
    ppo->rng = header.rng;
    ppo->frozen = header.frozen;
    ppo->seen = header.seen;
    memcpy(ppo->recent, header.recent, sizeof header.recent);
    const unsigned char *at = bytes + sizeof header;
    memcpy(ppo->worlds->generators, at, generators_size(ppo));
    at += generators_size(ppo);
    memcpy(ppo->weights, at, vector);
    memcpy(ppo->adam.first, at + vector, vector);
    memcpy(ppo->adam.second, at + 2 * vector, vector);
    ppo->report = (struct ppo_report){.transitions = ppo->transitions,
                                      .episodes = ppo->episodes,
                                      .mean_return = ppo_mean_return(ppo)};
    return ppo_begin_episodes(ppo);
}
