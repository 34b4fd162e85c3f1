/* Simulated agents and their collector. */
#include "algos/online/pgc_a3c.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"

bool pgc_init(struct pgc *pgc, const struct pgc_settings *settings)
{
    *pgc = (struct pgc){.settings = *settings, .count = actor_critic_count(&settings->net)};
    assert(settings->buffer > 0 && settings->max_steps > 0);
    assert(!settings->private || settings->scheme.parameters.dimension == pgc->count);
    pgc->state = env_open(settings->world);
    if (!pgc->state)
        return false;
    size_t length = settings->private ? settings->scheme.report_length : 1;
    pgc->parameters = memory_new(pgc->count, sizeof *pgc->parameters);
    pgc->gradient = memory_new(pgc->count, sizeof *pgc->gradient);
    pgc->estimate = memory_new(pgc->count, sizeof *pgc->estimate);
    pgc->sum = memory_new(pgc->count, sizeof *pgc->sum);
    pgc->report = memory_new(length, sizeof *pgc->report);
    a3c_episode_init(&pgc->episode, &settings->net, settings->max_steps);
    struct rng rng;
    rng_seed(&rng, settings->seed, 0);
    actor_critic_initialize(&settings->net, &rng, pgc->parameters);
    return true;
}

void pgc_clear(struct pgc *pgc)
{
    free(pgc->parameters);
    free(pgc->gradient);
    free(pgc->estimate);
    free(pgc->sum);
    free(pgc->report);
    if (pgc->settings.world)
        env_close(pgc->settings.world, pgc->state);
    a3c_episode_clear(&pgc->episode);
    *pgc = (struct pgc){0};
}

/* An agent's world: its gravity is one of three. */
static void draw_agent_physics(const struct pgc_settings *settings, struct rng *rng,
                               double *physics)
{
    memcpy(physics, settings->physics, settings->world->parameter_count * sizeof *physics);
    int gravity = env_parameter_index(settings->world, "gravity");
    if (settings->gravity_spread > 0.0 && gravity >= 0)
        physics[gravity] += settings->gravity_spread * ((double)rng_below(rng, 3) - 1.0);
}

/* What the collector adds for this agent, in pgc->estimate. */
static bool simulated_report(struct pgc *pgc)
{
    const struct local_scheme *scheme = &pgc->settings.scheme;
    unsigned char seed[LOCAL_SEED_SIZE];
    if (!pgc->settings.private) {
        memcpy(pgc->estimate, pgc->gradient, pgc->count * sizeof *pgc->estimate);
        return true;
    }
    noise_bytes(pgc->settings.noise, seed, sizeof seed); /* of the projection; public */
    return scheme->mechanism->randomise(scheme, seed, pgc->gradient, pgc->settings.noise,
                                        pgc->report) == LOCAL_OK &&
           scheme->mechanism->decode(scheme, seed, pgc->report, pgc->estimate) == LOCAL_OK;
}

bool pgc_update(struct pgc *pgc, void (*score)(void *context, double score), void *context)
{
    const struct pgc_settings *settings = &pgc->settings;
    uint64_t first = pgc->updates * settings->buffer;
    memset(pgc->sum, 0, pgc->count * sizeof *pgc->sum);
    for (uint32_t i = 0; i < settings->buffer; i++) {
        double physics[ENV_MAX_PARAMETERS];
        struct rng rng;
        rng_seed(&rng, settings->seed, 1 + first + i);
        draw_agent_physics(settings, &rng, physics);
        /* Exploration falls with every report, as an aggregation tells its agents. */
        const struct a3c_choice choice = {collection_explore(&settings->exploration, first + i),
                                          settings->greedy};
        bool played = a3c_play(&pgc->episode, &settings->net, pgc->parameters, settings->world,
                               pgc->state, physics, choice, &rng);
        if (!played)
            return false;
        if (!a3c_gradient(&pgc->episode, &settings->net, pgc->parameters, &settings->loss,
                          pgc->gradient))
            memset(pgc->gradient, 0, pgc->count * sizeof *pgc->gradient);
        if (score)
            score(context, pgc->episode.score);
        if (!simulated_report(pgc))
            return false;
        for (size_t j = 0; j < pgc->count; j++)
            pgc->sum[j] += pgc->estimate[j];
    }
    collection_update(&settings->net, pgc->parameters, pgc->sum, settings->buffer,
                      settings->learning_rate);
    pgc->updates++;
    return true;
}
