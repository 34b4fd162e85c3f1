/* One table by the hash of token and path, one lock: two threads meet here, seldom.
 *
 * DESIGN. The lock is held while a pass is used, some microseconds, so that a release cannot go
 * away under an answer. A place that two callers share serves the last one; the other asks the
 * database. */
#include "api/releases/q_pass.h"

#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/releases/q_shelf.h"

#define PLACES      1024
#define LIVES_MS    1000
#define HEADER_MOST 256
#define PATH_MOST   128

struct place {
    unsigned char key[32];
    struct q_pass pass; /* release NULL: empty */
    int64_t made_ms;
};

struct q_passes {
    pthread_mutex_t lock;
    struct place places[PLACES];
};

struct q_passes *q_passes_new(void)
{
    struct q_passes *passes = calloc(1, sizeof *passes);
    if (passes && pthread_mutex_init(&passes->lock, NULL) != 0) {
        free(passes);
        return NULL;
    }
    return passes;
}

static void empty(const struct app *app, struct place *place)
{
    if (place->pass.release)
        q_shelf_return(app, place->pass.release);
    memset(place, 0, sizeof *place);
}

void q_passes_free(const struct app *app, struct q_passes *passes)
{
    if (!passes)
        return;
    for (unsigned i = 0; i < PLACES; i++)
        empty(app, &passes->places[i]);
    pthread_mutex_destroy(&passes->lock);
    free(passes);
}

/* False: no token, or one that is none. */
static bool key_of(const struct api_request *request, unsigned char key[32])
{
    const char *header = request->header(request->header_context, "Authorization");
    size_t length = !header ? 0 : strlen(header), path = strlen(request->path);
    unsigned char text[HEADER_MOST + PATH_MOST];
    if (length == 0 || length >= HEADER_MOST || path >= PATH_MOST)
        return false;
    memcpy(text, header, length + 1); /* its end keeps the two apart */
    memcpy(text + length + 1, request->path, path);
    crypto_generichash(key, 32, text, length + 1 + path, NULL, 0);
    sodium_memzero(text, sizeof text);
    return true;
}

static struct place *place_of(struct q_passes *passes, const unsigned char key[32])
{
    return &passes->places[(key[0] | (unsigned)key[1] << 8) % PLACES];
}

void q_pass_put(struct call *call, const char *release_id)
{
    struct q_passes *passes = call->app->passes;
    const struct q_release *release = NULL;
    unsigned char key[32];
    if (!key_of(call->request, key) ||
        q_shelf_borrow(call->app, call->db, release_id, &release) != DB_OK)
        return;
    struct place *place = place_of(passes, key);
    pthread_mutex_lock(&passes->lock);
    empty(call->app, place);
    memcpy(place->key, key, sizeof key);
    place->pass = (struct q_pass){call->route, call->caller, release};
    place->made_ms = call->now_ms;
    pthread_mutex_unlock(&passes->lock);
}

const struct q_pass *q_pass_take(struct app *app, const struct api_request *request, int64_t now_ms)
{
    struct q_passes *passes = app->passes;
    unsigned char key[32];
    if (!key_of(request, key))
        return NULL;
    struct place *place = place_of(passes, key);
    pthread_mutex_lock(&passes->lock);
    int64_t age = now_ms - place->made_ms;
    if (place->pass.release && age >= 0 && age < LIVES_MS &&
        sodium_memcmp(place->key, key, sizeof key) == 0)
        return &place->pass;
    pthread_mutex_unlock(&passes->lock);
    return NULL;
}

void q_pass_return(struct app *app)
{
    pthread_mutex_unlock(&app->passes->lock);
}

void q_pass_end_all(struct app *app)
{
    struct q_passes *passes = app->passes;
    pthread_mutex_lock(&passes->lock);
    for (unsigned i = 0; i < PLACES; i++)
        empty(app, &passes->places[i]);
    pthread_mutex_unlock(&passes->lock);
}
