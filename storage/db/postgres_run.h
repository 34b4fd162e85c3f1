/* One connection to PostgreSQL and the statements on it: for the files of this driver alone. */
#ifndef TACET_STORAGE_DB_POSTGRES_RUN_H
#define TACET_STORAGE_DB_POSTGRES_RUN_H

#include <libpq-fe.h>

#include "storage/db/db.h"
#include "storage/db/postgres_hurry.h"

#define POSTGRES_MARK_SIZE  64
#define POSTGRES_NAME_SIZE  33  /* hexadecimal, with the NUL */
#define POSTGRES_STATEMENTS 512 /* a power of two */

struct postgres_statement {
    const char *sql; /* the caller's pointer: key of the slot */
    char *text;
    unsigned long long number; /* its name on the server */
    unsigned count;
    Oid types[DB_VALUES_MAX];
};

/* The rows of a statement that is being shown. */
struct postgres_stream {
    PGresult **kept; /* results that arrived before they were asked for */
    size_t count, room, shown;
    bool ended; /* no more come from the server */
};

struct postgres_connection {
    PGconn *handle; /* NULL: lost */
    struct db_settings settings;
    char *location, *password;
    int64_t changes;
    bool open; /* a transaction of begin */
    bool writes;
    bool warned;                    /* the server said something besides its answer */
    struct postgres_opening *hurry; /* NULL: it has time */
    bool torn;                      /* what was read since it was settled may be of two histories */
    unsigned savepoints;
    char name[POSTGRES_NAME_SIZE];    /* random: of its row in `commits` */
    unsigned long long number;        /* of the newest transaction that writes: 1, 2, ... */
    bool noted;                       /* it has such a row */
    char history[POSTGRES_MARK_SIZE]; /* the server's own name, and its timeline */
    unsigned long long rows;          /* that were shown */
    struct postgres_stream *live;     /* whose rows come next from the server */
    unsigned long long numbers;
    struct postgres_statement statements[POSTGRES_STATEMENTS];
};

/* Makes sure that there is a connection: opens a new one when it was lost. Inside a transaction it
 * gives DB_FULL instead, and the transaction is over: on a new connection its statements would each
 * be stored alone. */
enum db_status postgres_ready(struct postgres_connection *connection, struct db_fault *fault);

/* Closes what is left of a connection. */
void postgres_drop(struct postgres_connection *connection);

/* As PQexec; in a hurry, a connection that does not answer soon is lost. */
PGresult *postgres_exec(struct postgres_connection *connection, const char *sql);

/* Ends the open transaction; drops a connection that stays in it. */
void postgres_roll_back(struct postgres_connection *connection);

/* Says why RESULT (or NULL) is a failure of DOING. A transaction that cannot go on is over
 * afterwards. */
enum db_status postgres_explain(struct postgres_connection *connection, const char *doing,
                                const PGresult *result, struct db_fault *fault);

/* Keeps the rows that are still to come, so that another statement can run. */
void postgres_keep_rest(struct postgres_connection *connection);

/* Counts what RESULT changed, or explains its failure; clears it. */
enum db_status postgres_take(struct postgres_connection *connection, PGresult *result,
                             struct db_fault *fault);

/* As the driver's run. */
enum db_status postgres_run(struct postgres_connection *connection, const char *sql,
                            const struct db_value *values, unsigned count, db_row_fn *each,
                            void *context, struct db_fault *fault);

#endif
