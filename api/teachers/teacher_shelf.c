/* Teachers ready to answer, and the noise of their answers. */
#include "api/teachers/teacher_shelf.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "api/call/app.h"
#include "api/call/sealed.h"
#include "api/policies/policies.h"
#include "memory/memory.h"
#include "memory/shelf.h"
#include "storage/policies.h"

#define PLACES    32
#define BYTES_MAX (256U << 20) /* of the networks on the shelf together */

/* Multiply-adds that take longer than handing a call from thread to thread: some 50 us. */
#define HEAVY_WORK   100000
#define NUMBER_BYTES 16 /* about how many a number takes in a body */

/* ---- from rows */

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

/* Reads into *T the ensemble of POLICY; NULL when it was erased. */
static enum db_status read_ensemble(const struct app *app, struct db *db,
                                    const struct policy_row *policy, struct shelved_teacher *t)
{
    void *bytes = NULL;
    size_t size = 0, length = 0;
    enum db_status status = policies_bytes(db, policy->id, &bytes, &size);
    if (status == DB_OK && size > 0) {
        unsigned char *secret = sealed_open(app, policy->dataset, policy->id, bytes, size, &length);
        if (!secret && errno == ESTALE)
            goto cleanup; /* deleted since this view began */
        if (secret)
            errno = 0;
        t->ensemble = ensemble_from_bytes(secret, length);
        sodium_free(secret);
        bool good = t->ensemble && t->ensemble->actions == policy->action_count &&
                    t->ensemble->count == t->row.shards &&
                    t->ensemble->shape.input == policy->state_dim;
        if (!good)
            status = db_undecoded();
    }
cleanup:
    free(bytes);
    return status;
}

/* Parameters that one answer multiplies with; 1 where nothing is left to ask. */
static size_t shelved_work(const struct shelved_teacher *t)
{
    if (t->ensemble)
        return mlp_parameter_count(&t->ensemble->shape) * t->ensemble->count;
    if (t->policy)
        return mlp_parameter_count(&t->policy->shape);
    return 1;
}

/* Reads into *T the network or ensemble (NULL when it was erased) that its row names. */
static enum db_status read_networks(const struct app *app, struct db *db, struct shelved_teacher *t,
                                    uint32_t *out_actions)
{
    struct policy_row policy;
    enum db_status status = policies_find(db, t->row.policy, &policy);
    if (status != DB_OK)
        return status;
    *out_actions = policy.action_count;
    t->state_dim = policy.state_dim;
    if (policy_is_secret(&policy))
        memcpy(t->dataset, policy.dataset, sizeof t->dataset);
    if (t->row.shards > 0)
        status = read_ensemble(app, db, &policy, t);
    else
        status = policy_load(app, db, &policy, &t->policy);
    t->work = shelved_work(t);
    return status;
}

/* ---- the shelf */

struct teacher_reading {
    const struct app *app;
    struct db *db;
    enum db_status status;
};

static void shelved_teacher_close(void *thing)
{
    struct shelved_teacher *t = thing;
    policy_free(t->policy);
    ensemble_free(t->ensemble);
    free(t);
}

/* Reads the policy or ensemble that T's row names. */
static enum db_status read_teacher(const struct teacher_reading *reading, struct shelved_teacher *t)
{
    uint32_t actions = 0;
    enum db_status status = read_networks(reading->app, reading->db, t, &actions);
    if (status == DB_OK)
        status = teacher_orders_find(reading->db, &t->row, t->order);
    if (status != DB_OK)
        return db_owed(status);
    if (!teacher_of_row(&t->row, actions, &t->teacher) ||
        !teacher_prices_at(&t->teacher, &t->row, t->order, t->row.concentration, 1, &t->price))
        return DB_FAILED;
    t->error_radius = teacher_error_radius(&t->teacher, t->row.concentration, TEACHER_RADIUS_BETA);
    return DB_OK;
}

static bool shelved_teacher_open(void *context, const char *id, struct shelf_opened *out)
{
    struct teacher_reading *reading = context;
    struct shelved_teacher *t = memory_new(1, sizeof *t);
    reading->status = teachers_find(reading->db, id, &t->row);
    if (reading->status == DB_OK)
        reading->status = read_teacher(reading, t);
    if (reading->status != DB_OK) {
        shelved_teacher_close(t);
        return false;
    }
    *out = (struct shelf_opened){.thing = t, .bytes = t->work * sizeof(float)};
    snprintf(out->group, sizeof out->group, "%s", t->dataset);
    return true;
}

struct shelf *teacher_shelf_new(void)
{
    return shelf_new(&(struct shelf_kind){PLACES, BYTES_MAX, shelved_teacher_close});
}

enum db_status teacher_shelf_borrow(const struct app *app, struct db *db, const char *id,
                                    const struct shelved_teacher **out)
{
    struct teacher_reading reading = {app, db, DB_NONE};
    *out = shelf_borrow(app->teachers, id, shelved_teacher_open, &reading);
    if (*out)
        return DB_OK;
    return reading.status;
}

const struct shelved_teacher *teacher_shelf_at_hand(const struct app *app, const char *id)
{
    return shelf_borrow(app->teachers, id, NULL, NULL);
}

void teacher_shelf_return(const struct app *app, const struct shelved_teacher *teacher)
{
    shelf_return(app->teachers, teacher);
}

bool teacher_shelf_weighs(const struct app *app, const char *id, size_t length, size_t body_size)
{
    char name[ID_SIZE];
    snprintf(name, sizeof name, "%.*s", (int)length, id);
    const struct shelved_teacher *t = teacher_shelf_at_hand(app, name);
    if (!t)
        return true;
    size_t states = body_size / (NUMBER_BYTES * t->state_dim);
    if (states == 0)
        states = 1;
    bool weighs = t->ensemble && t->work * states >= HEAVY_WORK;
    teacher_shelf_return(app, t);
    return weighs;
}

bool teacher_shelf_distributions(const struct shelved_teacher *t, const float *states,
                                 uint32_t count, double *p)
{
    return teacher_distributions(&t->teacher, t->policy, t->ensemble, states, count, p);
}

/* ---- noise */

struct teacher_noise {
    pthread_mutex_t lock;
    struct noise_source *source; /* NULL until it is first drawn from */
};

struct teacher_noise *teacher_noise_new(void)
{
    struct teacher_noise *noise = memory_new(1, sizeof *noise);
    pthread_mutex_init(&noise->lock, NULL);
    return noise;
}

void teacher_noise_free(struct teacher_noise *noise)
{
    if (!noise)
        return;
    noise_source_free(noise->source);
    pthread_mutex_destroy(&noise->lock);
    free(noise);
}

struct noise_source *teacher_noise_take(struct teacher_noise *noise)
{
    pthread_mutex_lock(&noise->lock);
    if (!noise->source)
        noise->source = noise_source_new("dirichlet");
    return noise->source;
}

void teacher_noise_give(struct teacher_noise *noise)
{
    pthread_mutex_unlock(&noise->lock);
}
