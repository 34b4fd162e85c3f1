/* A few dozen teachers and a few sources of noise behind one lock. When the shelf is full the
 * teacher that was borrowed longest ago, and is in nobody's hands, goes; when all are in use, the
 * new one is read for this call alone. */
#include "api/teachers/teacher_shelf.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "api/call/app.h"
#include "api/call/sealed.h"
#include "api/policies/policies.h"
#include "api/teachers/query_event.h"
#include "storage/policies.h"

#define PLACES    32
#define NOISE_MAX 32
#define GONE_MAX  64           /* datasets that are remembered as deleted */
#define BYTES_MAX (256U << 20) /* of the networks on the shelf together */

/* Multiply-adds that take longer than handing a call from thread to thread: some 50 us. */
#define HEAVY_WORK   100000
#define NUMBER_BYTES 16 /* of one number in a body, about */

struct book {
    struct shelved_teacher teacher; /* first: its address is the book's */
    unsigned borrowers;
    uint64_t used; /* tick of the last borrowing */
    bool shelved;
    size_t bytes;
};

struct teacher_shelf {
    const struct app *app;
    pthread_mutex_t lock;
    struct book *places[PLACES];
    size_t bytes;
    uint64_t tick;
    char gone[GONE_MAX][ID_SIZE];
    unsigned gone_count; /* of all, the oldest of which are forgotten */
    struct noise_source *noise[NOISE_MAX];
    unsigned noise_count;
    struct id_stock ids;
};

struct teacher_shelf *teacher_shelf_new(const struct app *app)
{
    struct teacher_shelf *shelf = calloc(1, sizeof *shelf);
    if (shelf && pthread_mutex_init(&shelf->lock, NULL) != 0) {
        free(shelf);
        return NULL;
    }
    if (shelf)
        shelf->app = app;
    return shelf;
}

static void free_book(struct book *book)
{
    if (book) {
        policy_free(book->teacher.policy);
        ensemble_free(book->teacher.ensemble);
        free(book);
    }
}

void teacher_shelf_free(struct teacher_shelf *shelf)
{
    if (!shelf)
        return;
    for (unsigned i = 0; i < PLACES; i++)
        free_book(shelf->places[i]);
    for (unsigned i = 0; i < shelf->noise_count; i++)
        noise_source_free(shelf->noise[i]);
    pthread_mutex_destroy(&shelf->lock);
    free(shelf);
}

bool teacher_settings(const struct teacher_row *row, uint32_t actions, struct teacher *out)
{
    *out = (struct teacher){.mechanism = teacher_mechanism_find(row->mechanism),
                            .actions = actions,
                            .temperature = row->temperature,
                            .shards = row->shards,
                            .radius = row->radius,
                            .lipschitz = row->lipschitz};
    if (out->mechanism == &teacher_dirichlet) {
        out->dirichlet = (struct dirichlet){.concentration = row->concentration,
                                            .min_probability = row->min_probability};
    } else if (out->mechanism == &teacher_gaussian_simplex) {
        out->gaussian = (struct gaussian_simplex){.sigma = row->sigma};
    } else {
        return false;
    }
    return true;
}

bool teacher_of_row(const struct teacher_row *row, uint32_t actions, struct teacher *out)
{
    return teacher_settings(row, actions, out) && !teacher_complete(out, row->sensitivity);
}

/* Into *T: its ensemble (none when it was erased), and the policy's number of actions. */
static enum db_status read_ensemble(const struct app *app, struct db *db, struct shelved_teacher *t,
                                    uint32_t *out_actions)
{
    struct policy_row policy;
    void *bytes = NULL;
    size_t size = 0, length = 0;
    enum db_status status = policies_find(db, t->row.policy, &policy);
    if (status == DB_OK)
        status = policies_bytes(db, t->row.policy, &bytes, &size);
    if (status != DB_OK)
        return status;
    *out_actions = policy.action_count;
    t->state_dim = policy.state_dim;
    if (size > 0) {
        unsigned char *secret = sealed_open(app, policy.id, bytes, size, &length);
        t->ensemble = ensemble_from_bytes(secret, length);
        sodium_free(secret);
        bool good = t->ensemble && t->ensemble->actions == policy.action_count &&
                    t->ensemble->count == t->row.shards &&
                    t->ensemble->shape.input == policy.state_dim;
        status = good ? DB_OK : DB_FAILED;
    }
    free(bytes);
    if (status == DB_OK && t->ensemble)
        t->work = mlp_parameter_count(&t->ensemble->shape) * t->ensemble->count;
    return status;
}

static enum db_status read_policy(struct db *db, struct shelved_teacher *t, uint32_t *out_actions)
{
    enum db_status status = policy_load(db, t->row.policy, &t->policy);
    if (status == DB_OK) {
        *out_actions = t->policy->shape.width[t->policy->shape.layer_count - 1];
        t->state_dim = t->policy->shape.input;
        t->work = mlp_parameter_count(&t->policy->shape);
    }
    return status;
}

static enum db_status read_book(const struct app *app, struct db *db, const char *id,
                                struct book **out)
{
    uint32_t actions = 0;
    struct book *book = calloc(1, sizeof *book);
    if (!book)
        return DB_FAILED;
    struct shelved_teacher *t = &book->teacher;
    enum db_status status = teachers_find(db, id, &t->row);
    if (status == DB_OK) {
        status =
            t->row.shards > 0 ? read_ensemble(app, db, t, &actions) : read_policy(db, t, &actions);
        status = status == DB_NONE ? DB_FAILED : status;
    }
    if (status != DB_OK) {
        free_book(book);
        return status;
    }
    if (!teacher_of_row(&t->row, actions, &t->teacher) ||
        !teacher_price(&t->teacher, t->row.concentration, t->row.renyi_order, t->row.delta_share,
                       &t->price)) {
        free_book(book);
        return DB_FAILED;
    }
    t->error_radius = teacher_error_radius(&t->teacher, t->row.concentration, TEACHER_RADIUS_BETA);
    query_event_write(t, 1, t->row.concentration, t->event);
    if (isfinite(t->error_radius)) /* else it cannot answer */
        query_reply_settings(t->row.concentration, t->row.sigma, t->error_radius, t->settings);
    book->bytes = t->work * sizeof(float);
    book->borrowers = 1;
    *out = book;
    return DB_OK;
}

static struct book *find(struct teacher_shelf *shelf, const char *id)
{
    for (unsigned i = 0; i < PLACES; i++) {
        struct book *book = shelf->places[i];
        if (book && strcmp(book->teacher.row.id, id) == 0)
            return book;
    }
    return NULL;
}

/* Whether DATASET was deleted not long ago: whoever began to read before that may come only now. */
static bool is_gone(const struct teacher_shelf *shelf, const char *dataset)
{
    for (unsigned i = 0; i < GONE_MAX && i < shelf->gone_count; i++)
        if (strcmp(shelf->gone[i], dataset) == 0)
            return true;
    return false;
}

/* Drops the book that nobody has had for longest; false when all are in somebody's hands. */
static bool drop_oldest(struct teacher_shelf *shelf)
{
    struct book **oldest = NULL;
    for (unsigned i = 0; i < PLACES; i++) {
        struct book *book = shelf->places[i];
        if (book && book->borrowers == 0 && (!oldest || book->used < (*oldest)->used))
            oldest = &shelf->places[i];
    }
    if (!oldest)
        return false;
    shelf->bytes -= (*oldest)->bytes;
    free_book(*oldest);
    *oldest = NULL;
    return true;
}

/* A free place for BYTES more, or NULL. */
static struct book **make_room(struct teacher_shelf *shelf, size_t bytes)
{
    while (bytes <= BYTES_MAX) {
        struct book **place = NULL;
        for (unsigned i = 0; i < PLACES && !place; i++)
            place = !shelf->places[i] ? &shelf->places[i] : NULL;
        if (place && shelf->bytes + bytes <= BYTES_MAX)
            return place;
        if (!drop_oldest(shelf))
            return NULL;
    }
    return NULL;
}

enum db_status teacher_shelf_borrow(struct teacher_shelf *shelf, struct db *db, const char *id,
                                    const struct shelved_teacher **out)
{
    pthread_mutex_lock(&shelf->lock);
    struct book *book = find(shelf, id);
    if (book) {
        book->borrowers++;
        book->used = ++shelf->tick;
    }
    pthread_mutex_unlock(&shelf->lock);
    if (!book) {
        enum db_status status = read_book(shelf->app, db, id, &book);
        if (status != DB_OK)
            return status;
        pthread_mutex_lock(&shelf->lock);
        const struct teacher_row *row = &book->teacher.row;
        bool wanted = !find(shelf, id) /* else a twin was faster */ &&
                      !(row->shards > 0 && is_gone(shelf, row->dataset));
        struct book **place = wanted ? make_room(shelf, book->bytes) : NULL;
        if (place) {
            *place = book;
            shelf->bytes += book->bytes;
            book->shelved = true;
            book->used = ++shelf->tick;
        }
        pthread_mutex_unlock(&shelf->lock);
    }
    *out = &book->teacher;
    return DB_OK;
}

void teacher_shelf_return(struct teacher_shelf *shelf, const struct shelved_teacher *teacher)
{
    struct book *book = (struct book *)teacher;
    pthread_mutex_lock(&shelf->lock);
    bool last = --book->borrowers == 0 && !book->shelved;
    pthread_mutex_unlock(&shelf->lock);
    if (last)
        free_book(book);
}

void teacher_shelf_forget(struct teacher_shelf *shelf, const char *dataset)
{
    pthread_mutex_lock(&shelf->lock);
    if (!is_gone(shelf, dataset))
        snprintf(shelf->gone[shelf->gone_count++ % GONE_MAX], ID_SIZE, "%s", dataset);
    for (unsigned i = 0; i < PLACES; i++) {
        struct book *book = shelf->places[i];
        if (!book || book->teacher.row.shards == 0 ||
            strcmp(book->teacher.row.dataset, dataset) != 0)
            continue;
        shelf->places[i] = NULL;
        shelf->bytes -= book->bytes;
        book->shelved = false;
        if (book->borrowers == 0)
            free_book(book);
    }
    pthread_mutex_unlock(&shelf->lock);
}

bool teacher_shelf_weighs(struct teacher_shelf *shelf, const char *id, size_t length,
                          size_t body_size)
{
    bool weighs = true;
    pthread_mutex_lock(&shelf->lock);
    for (unsigned i = 0; i < PLACES; i++) {
        const struct book *book = shelf->places[i];
        if (book && strncmp(book->teacher.row.id, id, length) == 0 &&
            book->teacher.row.id[length] == '\0') {
            const struct shelved_teacher *t = &book->teacher;
            size_t states = body_size / (NUMBER_BYTES * t->state_dim);
            weighs = t->ensemble && t->work * (states > 1 ? states : 1) >= HEAVY_WORK;
            break;
        }
    }
    pthread_mutex_unlock(&shelf->lock);
    return weighs;
}

bool teacher_shelf_distributions(const struct shelved_teacher *t, const float *states,
                                 uint32_t count, double *p)
{
    return teacher_distributions(&t->teacher, t->policy, t->ensemble, states, count, p);
}

struct noise_source *teacher_shelf_take_noise(struct teacher_shelf *shelf)
{
    struct noise_source *noise = NULL;
    pthread_mutex_lock(&shelf->lock);
    if (shelf->noise_count > 0)
        noise = shelf->noise[--shelf->noise_count];
    pthread_mutex_unlock(&shelf->lock);
    return noise ? noise : noise_source_new("dirichlet");
}

void teacher_shelf_query_id(struct teacher_shelf *shelf, char out[ID_SIZE])
{
    pthread_mutex_lock(&shelf->lock);
    id_take(&shelf->ids, "qry_", out);
    pthread_mutex_unlock(&shelf->lock);
}

void teacher_shelf_give_noise(struct teacher_shelf *shelf, struct noise_source *noise)
{
    bool kept = false;
    pthread_mutex_lock(&shelf->lock);
    if (shelf->noise_count < NOISE_MAX) {
        shelf->noise[shelf->noise_count++] = noise;
        kept = true;
    }
    pthread_mutex_unlock(&shelf->lock);
    if (!kept)
        noise_source_free(noise);
}
