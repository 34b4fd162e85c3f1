/* The waist between what storage/ says and the database that keeps it.
 *
 * SQL is written once, in the dialect that SQLite and PostgreSQL share ($1, ON CONFLICT DO NOTHING,
 * RETURNING, row values); a driver runs it. A store is one database shared by all threads of the
 * process, a db is one connection to it, used by one thread at a time.
 *
 * Writers of one process queue in the order they came, so that none sleeps in the database's own
 * back-off. A thread must not write through two connections at once. */
#ifndef TACET_STORAGE_DB_DB_H
#define TACET_STORAGE_DB_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum db_status {
    DB_OK,
    DB_NONE,   /* no such row, or it was taken, or the work asked for its own roll-back: not a
                  failure */
    DB_RETRY,  /* another transaction was in the way; nothing was stored, the same may be tried
                  again */
    DB_FULL,   /* disk full, not writable, or not to be reached; nothing was stored, the process may
                  go on */
    DB_MEMORY, /* no memory for a value whose size a user has chosen; nothing was stored, and the
                  same may be tried again later */
    DB_FAILED, /* anything else; nothing was stored, unless db_broken says that nobody knows */
};

#define DB_ERROR_SIZE  256 /* bytes of an error text */
#define DB_KEY_SIZE    32
#define DB_COLUMNS_MAX 48
#define DB_VALUES_MAX  48

/* ---- values */

enum db_type { DB_NULL, DB_INTEGER, DB_REAL, DB_TEXT, DB_BYTES, DB_LIST };

/* One parameter or one column. Text and bytes are borrowed; text ends in a NUL that SIZE does not
 * count. */
struct db_value {
    enum db_type type;
    union {
        int64_t integer;
        double real;
        const void *data;
    };
    size_t size; /* bytes of text or bytes; values of a list */
};

/* SQL's NULL. */
struct db_value db_null(void);

/* An integer; flags are 0 and 1. */
struct db_value db_integer(int64_t value);

/* A finite double: databases disagree about the rest. */
struct db_value db_real(double value);

/* A text, borrowed; not NULL. */
struct db_value db_text(const char *text);

/* The same; NULL is "". */
struct db_value db_text_or_empty(const char *text);

/* SIZE bytes, borrowed. */
struct db_value db_bytes(const void *data, size_t size);

/* COUNT values of one type, which is not NULL and no list, borrowed; COUNT is not 0. Only for
 * drivers with lists. */
struct db_value db_list(const struct db_value *values, size_t count);

/* A row of a result; lives until the row function returns. */
struct db_row {
    const struct db_value *values;
    unsigned count;
    bool again; /* db_run_known shows it again: EACH has seen it in this batch, and gave DB_OK */
};

/* Column INDEX as a type. NULL reads as 0, "" or no bytes. A column of another type than the schema
 * says is our bug and asserts (an integer may be read as real). */
int64_t db_row_integer(const struct db_row *row, unsigned index);

/* The same as a double. */
double db_row_real(const struct db_row *row, unsigned index);

/* The same as a text that NUL ends, borrowed from the row. */
const char *db_row_text(const struct db_row *row, unsigned index);

/* The same as bytes, borrowed from the row. */
const void *db_row_bytes(const struct db_row *row, unsigned index, size_t *out_size);

/* Copies a text column into OUT of SIZE bytes. False: it does not fit or is no text, and OUT is "".
 */
bool db_row_copy(const struct db_row *row, unsigned index, char *out, size_t size);

/* Sees one row; anything but DB_OK ends the statement and is what db_run gives. It may run other
 * statements on the same connection, but not the one it is called from. */
typedef enum db_status db_row_fn(void *context, const struct db_row *row);

/* ---- the driver: what another database has to bring */

struct db_settings {
    const char *location;     /* SQLite: path of the file; its folder must exist. PostgreSQL: URL */
    unsigned busy_timeout_ms; /* wait for writers of other processes; 0 means 10 s */
    unsigned cache_kib;       /* page cache of one connection; 0 means 64 MiB */
    int64_t max_pages;        /* the file may not grow past this; 0 means no limit */
    bool not_durable;         /* tests only: commits without fsync */
    bool unchanged;           /* SQLite: read alone, without any change to its files or others
                                 beside them; no other process may have it open */
    /* DB_KEY_SIZE bytes, the key of digest.h; NULL: zeros, for tests alone. A store copies it. */
    const unsigned char *digest_key;
};

/* How a driver tells what went wrong. */
struct db_fault {
    char text[DB_ERROR_SIZE];   /* for the log; carries no parameter's value but a row's name */
    bool broken;                /* sticky: a commit or fsync failed with an I/O error */
    char damage[DB_ERROR_SIZE]; /* as of db_damage; "": none, or it was told */
};

/* The tables in a database's own types. Lists end in NULL. A version, once released, never changes:
 * a step is added, and TABLES become what it leads to. */
struct db_schema {
    const char *const *tables;       /* make an empty database one of the newest version */
    const char *const *before;       /* run before TABLES; NULL: nothing */
    int64_t oldest;                  /* version from which a database can be brought to today's */
    const char *const *const *steps; /* steps[i] leads from version oldest + i to the next */
    /* Gives a statement of TABLES and STEPS in the SQL of the database; the caller frees it. NULL:
     * they are in it. */
    char *(*translate)(const char *statement);
};

struct db_driver {
    const char *name;
    const struct db_schema *schema;
    /* Opens one connection. DB_FAILED with a sentence in FAULT when the location holds something
     * that is not ours; the file is then untouched. */
    enum db_status (*open)(const struct db_settings *settings, void **out_connection,
                           struct db_fault *fault);
    void (*close)(void *connection);
    enum db_status (*begin)(void *connection, bool will_write, struct db_fault *fault);
    /* Anything but DB_OK: nothing of the transaction is stored (or fault->broken), it is over. One
     * that only read: DB_OK says what settle says. */
    enum db_status (*commit)(void *connection, struct db_fault *fault);
    /* As db_settle. NULL: what can be read is stored for good. */
    enum db_status (*settle)(void *connection, struct db_fault *fault);
    void (*rollback)(void *connection);
    /* As db_hurry. NULL: nothing is waited for. */
    void (*hurry)(void *connection);
    /* Runs one statement to its end; EACH may be NULL. SQL is keyed by address and text. */
    enum db_status (*run)(void *connection, const char *sql, const struct db_value *values,
                          unsigned count, db_row_fn *each, void *context, struct db_fault *fault);
    /* Rows that this connection has inserted, updated or deleted since it was opened. */
    int64_t (*changes)(void *connection);
    /* Whether begin's transaction still stands: some failures end it. */
    bool (*in_transaction)(void *connection);
    /* How many entries the ledger once had, by a note outside of the database; 0: no note. NULL: a
     * database that cannot be replaced by an older copy of a file. */
    int64_t (*noted_entries)(void *connection);
    /* Reads all tables but those named in BUT, which ends in NULL, and their indexes: DB_FAILED
     * with a sentence in FAULT when one is damaged. NULL: the database looks after itself. */
    enum db_status (*check)(void *connection, const char *const *but, struct db_fault *fault);
    /* Writes the database, as one moment shows it, to the new file PATH. NULL: it has backups of
     * its own. */
    enum db_status (*copy)(void *connection, const char *path, struct db_fault *fault);
    /* In a writing transaction: whether no other process has the database open; none can open it
     * before the transaction's end. NULL: who opens it sees to that. */
    bool (*alone)(void *connection);
    /* SQL that gives the milliseconds since 1970 by the clock of the database; NULL: it has none of
     * its own. */
    const char *clock;
    /* SQL that gives 1 if the database does not check what it reads from its disk; NULL: ours does.
     */
    const char *unchecked;
    /* Processes on several machines may work on the database at once. */
    bool shared;
    /* Each statement is a message to another process. Its parameters may be lists, which SQL reads
     * as unnest($1, ...). */
    bool lists;
    /* A statement that fails ends the transaction when it has no savepoint. */
    bool fails_whole;
};

extern const struct db_driver db_driver_sqlite;
extern const struct db_driver db_driver_postgres;

/* ---- stores and connections */

struct db_store;
struct db;

/* A store for DRIVER and SETTINGS (copied, LOCATION included); opens nothing yet. */
struct db_store *db_store_new(const struct db_driver *driver, const struct db_settings *settings);

/* All its connections must be closed. NULL is allowed. */
void db_store_free(struct db_store *store);

/* Opens a connection. DB_OK, or a sentence for the operator in ERROR. The schema is migrate.h's:
 * the first connection of a process calls migrate() before anything else is asked. */
enum db_status db_open(struct db_store *store, struct db **out, char error[DB_ERROR_SIZE]);
/* Rolls back what is open. NULL is allowed. */
void db_close(struct db *db);

/* From now on what is read on DB waits neither for a standby nor long for the database: a
 * connection that gives no answer for two seconds, or eight in a view, is lost. A failover may take
 * back what was read. So it may decide who may ask, be counted, or refuse; nothing else of it
 * leaves the process before db_settle, which waits all the same. */
void db_hurry(struct db *db);

/* The driver of the store. */
const struct db_driver *db_driver_of(const struct db *db);

/* How many entries the ledger once had, by a note beside the database; 0: there is none. Fewer
 * entries: the database is an older copy. */
int64_t db_noted_entries(const struct db *db);

/* Reads all tables but those named in BUT, which ends in NULL, with their indexes. DB_FAILED: one
 * is damaged; db_last_error names it. */
enum db_status db_check(struct db *db, const char *const *but);

/* Copies the database, as one moment shows it, to the new file PATH, while others write. DB_FAILED:
 * or it is no file. */
enum db_status db_copy(struct db *db, const char *path);

/* Whether other processes may work on the database now: nothing of it that can change may then be
 * remembered from one transaction to the next. */
bool db_is_shared(const struct db *db);

/* In a writing transaction. DB_OK: no other process has the database open, and none can open it
 * before the transaction ends; it has no other connection of this process either. DB_NONE: one has.
 */
enum db_status db_alone(struct db *db);

/* Replaces *ms, the time by the caller's clock, by that of the database's clock if it is shared. So
 * all who compare times of the database have one clock. */
enum db_status db_clock(struct db *db, int64_t *ms);

/* Whether a flipped bit on the disk of the database may be taken for data. */
bool db_is_unchecked(struct db *db);

/* What the last failure on this connection was, for the log; "" when there was none. */
const char *db_last_error(const struct db *db);

/* Gives DB_FAILED, and db_last_error says WHERE and WHAT: a caller found stored rows damaged. */
enum db_status db_fail(struct db *db, const char *where, const char *what);

/* The row whose digest did not hold (digest.h) since the last call, by its table and key, or the
 * page that is not as it was written, for the log; "" when there was none. The text lives until the
 * next such row. */
const char *db_damage(struct db *db);

/* A commit gave an I/O error: nobody knows what is on disk. The process must stop without another
 * reply. Never goes back to false. */
bool db_broken(const struct db *db);

/* ---- guards */

/* What has to happen around every commit of a store. */
struct db_guard {
    /* Before the commit of a writing transaction. Anything but DB_OK, with a sentence in WHY: it is
     * rolled back and gives that. */
    enum db_status (*before)(struct db_guard *guard, char why[DB_ERROR_SIZE]);
    /* After the end of every writing transaction, before the next one: whether it is stored. */
    void (*after)(struct db_guard *guard, bool stored);
};

/* Gives DB's store a guard, which outlives it, before anything is written. */
void db_set_guard(struct db *db, struct db_guard *guard);

/* The guard of DB's store; NULL: none. */
struct db_guard *db_guard_of(const struct db *db);

/* Derives a key for PURPOSE from the key of the store's digests. */
void db_derive_key(const struct db *db, const char *purpose, unsigned char out[DB_KEY_SIZE]);

/* ---- statements */

/* The values $1, $2, ... of a statement: two arguments, VALUES and COUNT, of what follows. */
#define DB_VALUES(...)                                                                             \
    (const struct db_value[]){__VA_ARGS__},                                                        \
        (unsigned)(sizeof((struct db_value[]){__VA_ARGS__}) / sizeof(struct db_value))

/* A page of a list: at most LIMIT rows, from after the row that was made at the time NUMBER and has
 * the id AFTER, whether or not there is such a row. 0 and NULL: from the first. */
struct listing_page {
    int64_t number;
    const char *after;
    unsigned limit;
};

/* Runs SQL with COUNT values; EACH (or NULL) sees every row. DB_OK whether or not there were rows.
 * SQL should be a literal: prepared statements are kept by its address.
 * Writing needs a transaction: see db_change and db_transact. */
enum db_status db_run(struct db *db, const char *sql, const struct db_value *values, unsigned count,
                      db_row_fn *each, void *context);

/* The same for at most one row: DB_NONE when there was none. */
enum db_status db_one(struct db *db, const char *sql, const struct db_value *values, unsigned count,
                      db_row_fn *each, void *context);

/* As db_run, of rows that are often asked for: what the statement gave for these values is
 * remembered and shown again, as long as the batch is open, takes no savepoints, and has changed
 * nothing but what table_append added. So the statement reads no row that is added in this way, and
 * no clock; EACH runs no other statement. Nothing is remembered from one transaction to the next.
 */
enum db_status db_run_known(struct db *db, const char *sql, const struct db_value *values,
                            unsigned count, db_row_fn *each, void *context);

/* A single writing statement, in the open transaction or else in one of its own. DB_NONE: it
 * changed no row. */
enum db_status db_change(struct db *db, const char *sql, const struct db_value *values,
                         unsigned count);

/* The same with RETURNING: DB_NONE when no row came back. */
enum db_status db_change_one(struct db *db, const char *sql, const struct db_value *values,
                             unsigned count, db_row_fn *each, void *context);

/* What it means that stored bytes could not be decoded: DB_MEMORY when errno is ENOMEM, else
 * DB_FAILED, because they are damaged. The caller sets errno to 0 before it decodes them. */
enum db_status db_undecoded(void);

/* STATUS for a caller who must find a row: DB_NONE becomes DB_FAILED. */
enum db_status db_owed(enum db_status status);

/* True when the same may go through later: DB_RETRY, DB_FULL, DB_MEMORY. */
bool db_may_pass(enum db_status status);

/* STATUS for a caller to whom a missing row is fine: DB_NONE becomes DB_OK. */
enum db_status db_optional(enum db_status status);

/* ---- transactions */

/* The work of one transaction. DB_OK keeps it, everything else rolls it back; a verdict of another
 * kind lives in CONTEXT. It may be called again from the start (DB_RETRY). */
typedef enum db_status db_work_fn(struct db *db, void *context);

/* Runs WORK in one writing transaction and commits it; gives what WORK gave, or how the commit
 * failed. DB_RETRY is tried again a few times. Inside an open transaction or batch: in a savepoint,
 * which is rolled back alone when WORK fails, and without retries (the outermost one retries). */
enum db_status db_transact(struct db *db, db_work_fn *work, void *context);

/* Runs WORK against one unchanging view of the database (reading only); nests in anything. */
enum db_status db_view(struct db *db, db_work_fn *work, void *context);

/* Outside of a transaction. DB_OK: what was read on DB is stored as well as what is committed, and
 * may leave the process. Otherwise it must not: a failover may take it back. The commit of a batch
 * says the same of what the batch has read; the end of a view does not. */
enum db_status db_settle(struct db *db);

/* Whether a transaction, batch or view is open on DB. */
bool db_in_transaction(const struct db *db);

/* A batch: one transaction on one thread that carries many requests, each in its db_transact.
 *
 * It is hopeful: as long as no request fails after it changed something, none needs a savepoint,
 * which is a fifth of a query's whole cost. When one does, the batch is lost with DB_RETRY, and the
 * next batches of this connection take savepoints. A failure that ends the transaction early (full
 * disk, I/O error) loses the batch with its own status. Once lost, every later call in the batch
 * gives that status, and so does db_commit_batch.
 *
 * Where each statement is a message to another process, rows that table_append adds are put off and
 * sent together: before the next statement that the database is asked, and before the commit.
 */

/* From now on this connection's writes go before those of all others, which then have one turn. At
 * most one connection of a store may ask for that. */
void db_go_first(struct db *db);

/* Opens a batch. Not DB_OK: nothing is open. Without WILL_WRITE, db_transact and db_change fail. */
enum db_status db_begin_batch(struct db *db, bool will_write);

/* DB_OK: the batch is durable. Anything else: nothing of it is stored (unless db_broken); DB_RETRY:
 * run all its requests again in a new batch. The batch is over in both cases. */
enum db_status db_commit_batch(struct db *db);

/* Ends the batch without a trace; does nothing when none is open. */
void db_rollback_batch(struct db *db);

#define DB_BATCH_STATES 2

typedef enum db_status db_batch_write_fn(struct db *db, void *state);

/* SIZE bytes that belong to the open batch and are zero at first, for a file that puts changes of
 * rows off: WRITE is called with them before the commit, and anything but DB_OK loses the batch.
 * There is one such state for each WRITE, of which there are at most DB_BATCH_STATES. NULL outside
 * of batches that take no savepoints, where nothing that was put off could be undone. What is put
 * off must come with a change of a row. */
void *db_batch_state(struct db *db, size_t size, db_batch_write_fn *write);

#endif
