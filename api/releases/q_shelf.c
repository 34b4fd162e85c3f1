/* A few dozen opened releases. */
#include "api/releases/q_shelf.h"

#include <errno.h>
#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>

#include "api/call/app.h"
#include "api/call/sealed.h"
#include "api/json/json_text.h"
#include "api/wire/q_terms_json.h"
#include "memory/shelf.h"
#include "storage/q_releases.h"

#define PLACES 32

static void q_shelf_close(void *release)
{
    q_release_free(release);
}

struct shelf *q_shelf_new(void)
{
    return shelf_new(&(struct shelf_kind){PLACES, SIZE_MAX, q_shelf_close});
}

/* The release that ROW's terms and SEALED text make; NULL: it cannot be opened, and errno is ENOMEM
 * if memory is short. */
static struct q_release *open_release(const struct app *app, const struct q_release_row *row,
                                      const void *sealed, size_t size)
{
    struct q_terms terms;
    json_t *json = json_text_stored(row->terms);
    bool good = q_terms_read(json, &terms);
    json_decref(json);
    if (!good)
        return NULL;
    size_t length = 0;
    unsigned char *secret = sealed_open(app, "", row->id, sealed, size, &length);
    if (!secret)
        return NULL;
    errno = 0;
    struct q_release *release = q_release_from_bytes(&terms, secret, length);
    sodium_free(secret);
    return release;
}

struct q_reading {
    const struct app *app;
    struct db *db;
    enum db_status status;
};

static bool read_release(void *context, const char *id, struct shelf_opened *out)
{
    struct q_reading *reading = context;
    struct q_release_row row;
    void *sealed = NULL;
    size_t size = 0;
    reading->status = q_releases_find(reading->db, id, &row);
    if (reading->status == DB_OK)
        reading->status = q_releases_sealed(reading->db, id, &sealed, &size);
    if (reading->status == DB_OK) {
        errno = 0;
        out->thing = open_release(reading->app, &row, sealed, size);
        if (!out->thing)
            reading->status = db_undecoded();
    }
    free(sealed);
    q_release_row_done(&row);
    return reading->status == DB_OK;
}

enum db_status q_shelf_borrow(const struct app *app, struct db *db, const char *id,
                              const struct q_release **out)
{
    struct q_reading reading = {app, db, q_releases_answers(db, id)};
    if (reading.status == DB_OK)
        *out = shelf_borrow(app->q_releases, id, read_release, &reading);
    return reading.status;
}

void q_shelf_return(const struct app *app, const struct q_release *release)
{
    shelf_return(app->q_releases, release);
}

void q_shelf_drop(const struct app *app, const char *id)
{
    shelf_drop(app->q_releases, id);
}
