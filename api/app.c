/* The life of what all threads share. */
#include "api/app.h"

#include <sodium.h>
#include <stdlib.h>

#include "api/api.h"
#include "api/teacher_shelf.h"

struct app *api_open(const struct api_settings *settings)
{
    if (sodium_init() < 0) {
        return NULL;
    }
    struct app *app =
        sodium_malloc(sizeof *app); /* holds the signing key: not swapped, not dumped */
    if (app == NULL) {
        return NULL;
    }
    sodium_memzero(app, sizeof *app);
    app->settings = *settings;
    crypto_sign_seed_keypair(app->public_key, app->secret_key, settings->signing_seed);
    sodium_memzero(app->settings.signing_seed, sizeof app->settings.signing_seed);
    unsigned char hash[16];
    crypto_generichash(hash, sizeof hash, app->public_key, sizeof app->public_key, NULL, 0);
    sodium_bin2hex(app->key_id, sizeof app->key_id, hash, 8);
    app->teachers = teacher_shelf_new();
    if (app->teachers == NULL) {
        sodium_free(app);
        return NULL;
    }
    return app;
}

void api_close(struct app *app)
{
    if (app != NULL) {
        teacher_shelf_free(app->teachers);
    }
    sodium_free(app); /* wipes it */
}
