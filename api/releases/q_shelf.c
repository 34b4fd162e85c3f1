/* A few dozen releases behind one lock; the one that was borrowed longest ago makes room. */
#include "api/releases/q_shelf.h"

#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/call/sealed.h"
#include "api/json/json_load.h"
#include "api/wire/q_terms_json.h"
#include "storage/q_releases.h"

#define PLACES 32

struct book {
    char id[ID_SIZE];
    struct q_release *release;
    unsigned borrowers;
    uint64_t used; /* tick of the last borrowing */
    bool shelved;
    struct book *next; /* of the books that are borrowed and not shelved */
};

struct q_shelf {
    pthread_mutex_t lock;
    struct book *places[PLACES];
    struct book *loose;
    uint64_t tick;
};

struct q_shelf *q_shelf_new(void)
{
    struct q_shelf *shelf = calloc(1, sizeof *shelf);
    if (shelf && pthread_mutex_init(&shelf->lock, NULL) != 0) {
        free(shelf);
        return NULL;
    }
    return shelf;
}

static void free_book(struct book *book)
{
    if (book) {
        q_release_free(book->release);
        free(book);
    }
}

void q_shelf_free(struct q_shelf *shelf)
{
    if (!shelf)
        return;
    for (unsigned i = 0; i < PLACES; i++)
        free_book(shelf->places[i]);
    pthread_mutex_destroy(&shelf->lock);
    free(shelf);
}

/* The release that ROW's terms and SEALED text make; NULL: it cannot be opened. */
static struct q_release *open_release(const struct app *app, const struct q_release_row *row,
                                      const void *sealed, size_t size)
{
    struct q_terms terms;
    json_t *json = json_load_stored(row->terms);
    bool good = q_terms_read(json, &terms);
    json_decref(json);
    size_t length = 0;
    unsigned char *secret = good ? sealed_open(app, row->id, sealed, size, &length) : NULL;
    struct q_release *release = !secret ? NULL : q_release_from_bytes(&terms, secret, length);
    if (secret)
        sodium_free(secret);
    return release;
}

static enum db_status read_book(const struct app *app, struct db *db, const char *id,
                                struct book **out)
{
    struct q_release_row row;
    void *sealed = NULL;
    size_t size = 0;
    enum db_status status = q_releases_find(db, id, &row);
    if (status == DB_OK)
        status = q_releases_sealed(db, id, &sealed, &size);
    struct book *book = status == DB_OK ? calloc(1, sizeof *book) : NULL;
    if (book) {
        book->release = open_release(app, &row, sealed, size);
        memcpy(book->id, row.id, sizeof book->id);
        book->borrowers = 1;
    }
    if (status == DB_OK && (!book || !book->release)) {
        free_book(book);
        status = DB_FAILED;
    }
    free(sealed);
    q_release_row_done(&row);
    *out = book;
    return status;
}

static struct book **find(struct q_shelf *shelf, const char *id)
{
    for (unsigned i = 0; i < PLACES; i++)
        if (shelf->places[i] && strcmp(shelf->places[i]->id, id) == 0)
            return &shelf->places[i];
    return NULL;
}

/* A free place; NULL when every book is in somebody's hands. */
static struct book **make_room(struct q_shelf *shelf)
{
    struct book **oldest = NULL;
    for (unsigned i = 0; i < PLACES; i++) {
        struct book *book = shelf->places[i];
        if (!book)
            return &shelf->places[i];
        if (book->borrowers == 0 && (!oldest || book->used < (*oldest)->used))
            oldest = &shelf->places[i];
    }
    if (oldest) {
        free_book(*oldest);
        *oldest = NULL;
    }
    return oldest;
}

enum db_status q_shelf_borrow(const struct app *app, struct db *db, const char *id,
                              const struct q_release **out)
{
    struct q_shelf *shelf = app->q_releases;
    enum db_status status = q_releases_answers(db, id);
    if (status != DB_OK)
        return status;
    pthread_mutex_lock(&shelf->lock);
    struct book **place = find(shelf, id), *book = !place ? NULL : *place;
    if (book) {
        book->borrowers++;
        book->used = ++shelf->tick;
    }
    pthread_mutex_unlock(&shelf->lock);
    if (!book) {
        status = read_book(app, db, id, &book);
        if (status != DB_OK)
            return status;
        pthread_mutex_lock(&shelf->lock);
        place = !find(shelf, id) ? make_room(shelf) : NULL; /* a twin was faster */
        book->shelved = place != NULL;
        book->used = ++shelf->tick;
        if (place) {
            *place = book;
        } else {
            book->next = shelf->loose;
            shelf->loose = book;
        }
        pthread_mutex_unlock(&shelf->lock);
    }
    *out = book->release;
    return DB_OK;
}

static struct book *holder(struct q_shelf *shelf, const struct q_release *release)
{
    for (unsigned i = 0; i < PLACES; i++)
        if (shelf->places[i] && shelf->places[i]->release == release)
            return shelf->places[i];
    struct book *book = shelf->loose;
    while (book && book->release != release)
        book = book->next;
    return book;
}

/* Takes BOOK, which nobody has, out of the list of loose ones. */
static void unlink_loose(struct q_shelf *shelf, struct book *book)
{
    struct book **at = &shelf->loose;
    while (*at != book)
        at = &(*at)->next;
    *at = book->next;
}

void q_shelf_return(const struct app *app, const struct q_release *release)
{
    struct q_shelf *shelf = app->q_releases;
    pthread_mutex_lock(&shelf->lock);
    struct book *book = holder(shelf, release);
    bool last = --book->borrowers == 0 && !book->shelved;
    if (last)
        unlink_loose(shelf, book);
    pthread_mutex_unlock(&shelf->lock);
    if (last)
        free_book(book);
}

void q_shelf_drop(const struct app *app, const char *id)
{
    struct q_shelf *shelf = app->q_releases;
    struct book *gone = NULL;
    pthread_mutex_lock(&shelf->lock);
    struct book **place = find(shelf, id);
    if (place) {
        struct book *book = *place;
        *place = NULL;
        book->shelved = false;
        if (book->borrowers == 0) {
            gone = book;
        } else {
            book->next = shelf->loose;
            shelf->loose = book;
        }
    }
    pthread_mutex_unlock(&shelf->lock);
    free_book(gone);
}
