/* Teachers that are asked often, decoded and kept (memory/shelf.h): a query then reads no weights
 * and computes no bound. Teachers and policies never change, so nothing here goes stale. */
#ifndef TACET_API_TEACHERS_TEACHER_SHELF_H
#define TACET_API_TEACHERS_TEACHER_SHELF_H

#include <stdint.h>

#include "api/teachers/teacher_payers.h"

#define TEACHER_RADIUS_BETA 0.05 /* an answer's error_radius holds it 19 times of 20 */

struct app;
struct shelf;
struct teacher_noise;

/* A teacher ready to answer; read-only while it is borrowed. */
struct shelved_teacher {
    struct teacher_row row;
    struct teacher teacher;
    char dataset[ID_SIZE];     /* whose deletion erases what the teacher teaches: an ensemble or a
                                  policy that is not released; "": none */
    struct policy *policy;     /* NULL where the row has shards */
    struct ensemble *ensemble; /* of the shards. Both NULL: the dataset was deleted, no answers */
    uint32_t state_dim;
    size_t work;                  /* parameters of all networks that one answer evaluates */
    double order[TEACHER_PAYERS]; /* at which each payer counts */
    struct teacher_prices price;  /* of one answer at the full concentration */
    double error_radius;          /* at the full concentration, 19 times of 20 */
};

/* The shelf of an app; the caller frees it with shelf_free. */
struct shelf *teacher_shelf_new(void);

/* Borrows the teacher ID, reading it from DB when it is not on the shelf. DB_NONE: unknown. Give it
 * back with teacher_shelf_return. shelf_drop(app->teachers, DATASET) wipes the ensembles and
 * secret policies that were trained on a dataset. Who began to read before that finds no key of
 * them, so they do not come back; those that are trained later are kept. */
enum db_status teacher_shelf_borrow(const struct app *app, struct db *db, const char *id,
                                    const struct shelved_teacher **out);

/* The same of a teacher that is on the shelf; NULL: it is not there, and nothing is read. */
const struct shelved_teacher *teacher_shelf_at_hand(const struct app *app, const char *id);

/* Ends a loan. */
void teacher_shelf_return(const struct app *app, const struct shelved_teacher *teacher);

/* Whether a question of BODY_SIZE bytes to the teacher ID[length] is heavy (ROUTE_HEAVY):
 * it asks many networks, or the teacher has to be read first. Any thread, no database. */
bool teacher_shelf_weighs(const struct app *app, const char *id, size_t length, size_t body_size);

/* Writes to P [count x actions] the teacher's distributions at COUNT finite states, before any
 * noise, as teacher_distributions does. False: one of them is not finite. */
bool teacher_shelf_distributions(const struct shelved_teacher *teacher, const float *states,
                                 uint32_t count, double *p);

/* The source of noise of all answers, not yet seeded. */
struct teacher_noise *teacher_noise_new(void);

/* Wipes the source. NULL is fine. */
void teacher_noise_free(struct teacher_noise *noise);

/* Takes the source for this thread alone until teacher_noise_give, which must follow in any case.
 * NULL: the system gives no randomness. */
struct noise_source *teacher_noise_take(struct teacher_noise *noise);

/* Gives back the source that teacher_noise_take took. */
void teacher_noise_give(struct teacher_noise *noise);

/* Fills OUT with the settings of ROW, except for the sensitivity. False: the mechanism is unknown.
 */
bool teacher_settings(const struct teacher_row *row, uint32_t actions, struct teacher *out);

/* As teacher_settings, with the sensitivity that was certified when the teacher was made. False:
 * the row was not written by this program. */
bool teacher_of_row(const struct teacher_row *row, uint32_t actions, struct teacher *out);

#endif
