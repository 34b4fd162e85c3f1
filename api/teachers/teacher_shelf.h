/* Teachers that are asked often, decoded and kept: a query then reads no weights and computes no
 * bound. Teachers and policies never change, so nothing here goes stale. Shared by all threads. */
#ifndef TACET_API_TEACHERS_TEACHER_SHELF_H
#define TACET_API_TEACHERS_TEACHER_SHELF_H

#include <stdint.h>

#include "algos/release/teacher.h"
#include "api/teachers/query_reply.h"
#include "storage/teachers.h"

#define TEACHER_RADIUS_BETA 0.05 /* an answer's error_radius holds it 19 times of 20 */

#define TEACHER_EVENT_SIZE  400 /* of the event text of its answers, query_event.h */

struct app;
struct teacher_shelf;

/* A teacher ready to answer; read-only while it is borrowed. */
struct shelved_teacher {
    struct teacher_row row;
    struct teacher teacher;
    struct policy *policy;     /* NULL where the row has shards */
    struct ensemble *ensemble; /* there; NULL when it went with its dataset: no answers any more */
    uint32_t state_dim;
    size_t work;               /* parameters that one answer multiplies with */
    struct filter_price price; /* of one answer at the full concentration, on the row's accounts */
    double error_radius;       /* at the full concentration, 19 times of 20 */
    char event[TEACHER_EVENT_SIZE];     /* of one answer at the full concentration */
    char settings[QUERY_SETTINGS_SIZE]; /* its answers' text of them, at the full concentration */
};

/* APP opens sealed ensembles and outlives the shelf. NULL: no memory. */
struct teacher_shelf *teacher_shelf_new(const struct app *app);
void teacher_shelf_free(struct teacher_shelf *shelf);

/* Borrows the teacher ID, reading it from DB when it is not on the shelf. DB_NONE: unknown. Give it
 * back with teacher_shelf_return. */
enum db_status teacher_shelf_borrow(struct teacher_shelf *shelf, struct db *db, const char *id,
                                    const struct shelved_teacher **out);
void teacher_shelf_return(struct teacher_shelf *shelf, const struct shelved_teacher *teacher);

/* DATASET is deleted: wipes its ensembles, at once or when the last borrower returns them, and
 * takes none of them again. */
void teacher_shelf_forget(struct teacher_shelf *shelf, const char *dataset);

/* Whether a question of BODY_SIZE bytes to the teacher ID[length] should be run ahead of its turn:
 * it asks many networks, or the teacher has to be read first. Any thread, no database. */
bool teacher_shelf_weighs(struct teacher_shelf *shelf, const char *id, size_t length,
                          size_t body_size);

/* What its answers at COUNT finite states are about, as teacher_distributions says. */
bool teacher_shelf_distributions(const struct shelved_teacher *teacher, const float *states,
                                 uint32_t count, double *p);

/* A source of noise for this thread while it draws; NULL: the system gives no randomness. */
struct noise_source *teacher_shelf_take_noise(struct teacher_shelf *shelf);
void teacher_shelf_give_noise(struct teacher_shelf *shelf, struct noise_source *noise);

/* A fresh "qry_" id. */
void teacher_shelf_query_id(struct teacher_shelf *shelf, char out[ID_SIZE]);

/* The settings that ROW tells of, sensitivity aside; false when its mechanism is not known. */
bool teacher_settings(const struct teacher_row *row, uint32_t actions, struct teacher *out);

/* The same with what was certified when the teacher was made. False when the row is none of this
 * program's. */
bool teacher_of_row(const struct teacher_row *row, uint32_t actions, struct teacher *out);

#endif
