/* Released Q-functions that are asked often, opened and kept (memory/shelf.h). A release never
 * changes, and its sample path was drawn once, before it was stored: opening it draws nothing.
 * Every loan asks the database whether the release has ended. */
#ifndef TACET_API_RELEASES_Q_SHELF_H
#define TACET_API_RELEASES_Q_SHELF_H

#include "algos/release/q_release.h"
#include "storage/db/db.h"

struct app;

/* The shelf of an app; the caller frees it with shelf_free. */
struct shelf *q_shelf_new(void);

/* Borrows the release ID, reading and opening it when it is not on the shelf. DB_NONE: unknown, or
 * ended. Give it back with q_shelf_return. */
enum db_status q_shelf_borrow(const struct app *app, struct db *db, const char *id,
                              const struct q_release **out);

/* Ends a loan. */
void q_shelf_return(const struct app *app, const struct q_release *release);

/* Takes the release, which has ended, off the shelf. A thread that has it keeps it until it gives
 * it back. */
void q_shelf_drop(const struct app *app, const char *id);

#endif
