/* The life of what all threads share. */
#include "api/call/app.h"

#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/call/pass.h"
#include "api/call/tlog.h"
#include "api/pages.h"
#include "api/releases/q_shelf.h"
#include "api/teachers/teacher_shelf.h"
#include "memory/memory.h"
#include "memory/shelf.h"
#include "memory/wipe.h"
#include "storage/refusals.h"
#include "storage/signing_keys.h"

struct app *api_open(const struct api_settings *settings)
{
    if (sodium_init() < 0)
        return NULL;
    json_set_alloc_funcs(memory_bytes, wipe_free); /* want of memory ends the process */
    struct app *app = memory_new(1, sizeof *app);
    app->settings = *settings;
    atomic_init(&app->answers_from_ms, settings->answers_from_ms);
    sodium_memzero(app->settings.signing_seed, sizeof app->settings.signing_seed);
    app->secret_key = sodium_malloc(crypto_sign_SECRETKEYBYTES); /* not swapped, not dumped */
    app->teachers = teacher_shelf_new();
    app->q_releases = q_shelf_new();
    app->noise = teacher_noise_new();
    app->passes = passes_new();
    app->refusals = refusals_new();
    pages_tag_files(app->page_tags);
    memory_must(app->secret_key);
    crypto_sign_seed_keypair(app->public_key, app->secret_key, settings->signing_seed);
    signing_key_id(app->public_key, app->key_id);
    snprintf(app->log_origin, sizeof app->log_origin, "tacet/%s", app->key_id);
    if (settings->log_origin && settings->log_origin[0] != '\0')
        snprintf(app->log_origin, sizeof app->log_origin, "%s", settings->log_origin);
    size_t length = strlen(app->log_origin);
    /* A restored log is another one: it goes on neither from the lost one nor from another that was
     * restored from the same backup. */
    if (settings->life > 1)
        snprintf(app->log_origin + length, sizeof app->log_origin - length, "/%s",
                 settings->life_id);
    return app;
}

bool api_log_origin_good(const char *name)
{
    return tlog_name_good(name) && strlen(name) < TLOG_NAME_SIZE - ID_SIZE; /* "/" and a life */
}

void api_close(struct app *app)
{
    if (!app)
        return;
    shelf_free(app->teachers);
    passes_free(app, app->passes);
    refusals_free(app->refusals);
    shelf_free(app->q_releases);
    teacher_noise_free(app->noise);
    sodium_free(app->secret_key); /* wipes it */
    free(app);
}
