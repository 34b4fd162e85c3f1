/* One table by the hash of token and path, one lock: two threads meet here, seldom.
 *
 * DESIGN. The lock is held while a pass is used, a millisecond at most (PASS_WORK_MAX), so that a
 * thing cannot go away under an answer. Two callers whose hashes share a place take turns: the
 * place keeps the last one, and the other asks the database. */
#include "api/call/pass.h"

#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "memory/memory.h"

#define PLACES      1024
#define LIVES_MS    1000
#define HEADER_MOST 256
#define PATH_MOST   128

struct pass_place {
    unsigned char key[32];
    struct pass pass; /* thing NULL: empty */
    int64_t made_ms;
    uint64_t batch; /* that made it */
};

struct passes {
    pthread_mutex_t lock;
    uint64_t batch; /* how many have ended */
    struct pass_place places[PLACES];
};

struct passes *passes_new(void)
{
    struct passes *passes = memory_new(1, sizeof *passes);
    pthread_mutex_init(&passes->lock, NULL);
    return passes;
}

static void empty_place(const struct app *app, struct pass_place *place)
{
    if (place->pass.thing)
        place->pass.give_back(app, place->pass.thing);
    memset(place, 0, sizeof *place);
}

static void empty_all(const struct app *app, struct passes *passes)
{
    for (unsigned i = 0; i < PLACES; i++)
        empty_place(app, &passes->places[i]);
}

void passes_free(const struct app *app, struct passes *passes)
{
    if (!passes)
        return;
    empty_all(app, passes);
    pthread_mutex_destroy(&passes->lock);
    free(passes);
}

/* Hashes token and path into KEY. False: no token, or a certificate counts too, or token or path is
 * too long. */
static bool hash_caller(const struct api_request *request, unsigned char key[32])
{
    const char *header = request->header(request->header_context, "Authorization");
    unsigned char text[HEADER_MOST + PATH_MOST];
    if (!header || request->certificate)
        return false;
    size_t length = strlen(header), path = strlen(request->path);
    if (length == 0 || length >= HEADER_MOST || path >= PATH_MOST)
        return false;
    memcpy(text, header, length + 1); /* its NUL keeps the two apart */
    memcpy(text + length + 1, request->path, path);
    crypto_generichash(key, 32, text, length + 1 + path, NULL, 0);
    sodium_memzero(text, sizeof text);
    return true;
}

static struct pass_place *place_of(struct passes *passes, const unsigned char key[32])
{
    return &passes->places[(key[0] | (unsigned)key[1] << 8) % PLACES];
}

void pass_put(struct call *call, const void *thing, size_t body_most,
              void (*give_back)(const struct app *app, const void *thing))
{
    struct passes *passes = call->app->passes;
    unsigned char key[32];
    if (!hash_caller(call->request, key)) {
        give_back(call->app, thing);
        return;
    }
    struct pass_place *place = place_of(passes, key);
    pthread_mutex_lock(&passes->lock);
    empty_place(call->app, place);
    memcpy(place->key, key, sizeof key);
    place->pass = (struct pass){call->route, call->caller, thing, body_most, give_back};
    place->made_ms = call->now_ms;
    place->batch = passes->batch;
    pthread_mutex_unlock(&passes->lock);
}

const struct pass *pass_take(struct app *app, const struct api_request *request, int64_t now_ms)
{
    struct passes *passes = app->passes;
    unsigned char key[32];
    if (!hash_caller(request, key))
        return NULL;
    struct pass_place *place = place_of(passes, key);
    pthread_mutex_lock(&passes->lock);
    int64_t age = now_ms - place->made_ms;
    if (place->pass.thing && request->body_size <= place->pass.body_most &&
        place->batch < passes->batch && age >= 0 && age < LIVES_MS &&
        now_ms < place->pass.caller.ends_ms && sodium_memcmp(place->key, key, sizeof key) == 0)
        return &place->pass;
    pthread_mutex_unlock(&passes->lock);
    return NULL;
}

void pass_return(struct app *app)
{
    pthread_mutex_unlock(&app->passes->lock);
}

void pass_settle(struct app *app, bool good)
{
    pthread_mutex_lock(&app->passes->lock);
    app->passes->batch++;
    if (!good)
        empty_all(app, app->passes);
    pthread_mutex_unlock(&app->passes->lock);
}

void pass_end_all(struct app *app)
{
    pthread_mutex_lock(&app->passes->lock);
    empty_all(app, app->passes);
    pthread_mutex_unlock(&app->passes->lock);
}
