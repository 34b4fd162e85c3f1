/* Connections to a PostgreSQL server, and what is demanded of its database. */
#ifndef TACET_STORAGE_DB_POSTGRES_OPEN_H
#define TACET_STORAGE_DB_POSTGRES_OPEN_H

#include <libpq-fe.h>

#include "storage/db/db.h"

#define POSTGRES_SCHEMA "tacet"

/* Advisory locks are pairs of numbers: this one, and which lock. */
#define POSTGRES_LOCKS         "1413563749" /* "TACe" */
#define POSTGRES_WRITE_LOCK    "0"
#define POSTGRES_PRESENCE_LOCK "1" /* each connection shares it */

/* Connects to SETTINGS and checks the database: it is a primary, its commits are durable, it is
 * empty or ours. PASSWORD is used where the URL has none, and may be NULL. Not DB_OK: FAULT holds a
 * sentence without anything of the URL, and nothing was changed. DB_FULL: the server cannot be
 * reached at present. */
enum db_status postgres_open(const struct db_settings *settings, const char *password, PGconn **out,
                             struct db_fault *fault);

/* Copies the first text of RESULT (or NULL), which is one row, into OUT, and clears it. False: it
 * is none, and OUT is "". */
bool postgres_first(PGresult *result, char *out, size_t size);

/* Runs SQL, which gives one row of texts; as postgres_first. */
bool postgres_ask(PGconn *handle, const char *sql, char *out, size_t size);

#endif
