/* Released Q-functions that are asked often, opened and kept. A release never changes, so nothing
 * here goes stale; whether it has ended is asked of the database. Shared by all threads. */
#ifndef TACET_API_RELEASES_Q_SHELF_H
#define TACET_API_RELEASES_Q_SHELF_H

#include "algos/release/q_release.h"
#include "storage/db/db.h"

struct app;
struct q_shelf;

struct q_shelf *q_shelf_new(void); /* NULL: no memory */
void q_shelf_free(struct q_shelf *shelf);

/* Borrows the release ID, reading and opening it when it is not on the shelf. DB_NONE: unknown, or
 * ended. Give it back with q_shelf_return. */
enum db_status q_shelf_borrow(const struct app *app, struct db *db, const char *id,
                              const struct q_release **out);
void q_shelf_return(const struct app *app, const struct q_release *release);

/* Takes the release off the shelf; who has it keeps it until it is given back. */
void q_shelf_drop(const struct app *app, const char *id);

#endif
