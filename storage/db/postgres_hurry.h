/* A connection whose reader cannot wait: it opens anew on a thread of its own, and gives up a
 * server that does not answer. */
#ifndef TACET_STORAGE_DB_POSTGRES_HURRY_H
#define TACET_STORAGE_DB_POSTGRES_HURRY_H

#include <libpq-fe.h>

#include "storage/db/db.h"

struct postgres_opening;

/* For postgres_hurry_open; postgres_hurry_free takes it back. Copies SETTINGS, with its location,
 * and PASSWORD (or NULL). */
struct postgres_opening *postgres_hurry_new(const struct db_settings *settings,
                                            const char *password);

/* Waits for nothing: an attempt that is under way cleans up after itself. NULL is fine. */
void postgres_hurry_free(struct postgres_opening *opening);

/* As postgres_open, for at most a second; then the attempt goes on by itself, and a later call has
 * what came of it. Until then: DB_FULL. */
enum db_status postgres_hurry_open(struct postgres_opening *opening, PGconn **out,
                                   struct db_fault *fault);

/* Waits for the answer to what was sent on HANDLE. If nothing comes for PATIENCE_MS, it ends the
 * connection, so that reading on it fails. */
void postgres_await(PGconn *handle, int patience_ms);

#endif
