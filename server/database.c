/* Opens the database and owns its connections. */
#include "server/database.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory/memory.h"
#include "server/os/clock.h"
#include "server/os/data_dir.h"
#include "server/os/log.h"
#include "storage/answers/answers.h"
#include "storage/db/db.h"
#include "storage/db/migrate.h"
#include "storage/jobs.h"
#include "storage/ledger/ledger_reduce.h"
#include "storage/ledger/ledger_verify.h"
#include "storage/upgrade.h"
#include "storage/uploads.h"

#define CONNECTIONS_MAX 256
#define PATH_BYTES      4096
/* The page cache of one connection. It is small, because there are a dozen or
 * two connections and the system caches the file too. */
#define CACHE_KIB 8192

struct database {
    struct db_store *store;
    char path[PATH_BYTES];
    bool remote;
    dev_t device; /* of the file, and its inode */
    ino_t inode;
    unsigned count;
    struct db *connections[CONNECTIONS_MAX];
};

struct db *database_connect(struct database *database, char *error, size_t error_size)
{
    char why[DB_ERROR_SIZE] = "";
    struct db *db = NULL;
    if (database->count == CONNECTIONS_MAX) {
        snprintf(error, error_size, "more than %d connections to the database", CONNECTIONS_MAX);
        return NULL;
    }
    if (db_open(database->store, &db, why) != DB_OK) {
        snprintf(error, error_size, "%.200s: %s", database->path, why);
        return NULL;
    }
    database->connections[database->count++] = db;
    return db;
}

bool database_stands(const struct database *database)
{
    struct stat status;
    if (database->remote)
        return true;
    return stat(database->path, &status) == 0 && status.st_dev == database->device &&
           status.st_ino == database->inode;
}

/* Notes which file it is, and that nobody else may read it. */
static bool database_note(struct database *database, char *error, size_t error_size)
{
    struct stat status;
    if (database->remote)
        return true;
    if (stat(database->path, &status) != 0) {
        snprintf(error, error_size, "%.200s: %s", database->path, strerror(errno));
        return false;
    }
    database->device = status.st_dev;
    database->inode = status.st_ino;
    return data_dir_check_mode(database->path, status.st_mode, error, error_size);
}

bool database_is_remote(const struct database_place *place)
{
    return place->url && place->url[0] != '\0' && strcmp(place->url, "sqlite") != 0;
}

/* DB_OK: the PostgreSQL database at URL has a service, which has a key somewhere; DB_NONE: it has
 * none. Otherwise WHY says why it cannot be asked. */
static enum db_status database_serves(const char *url, char why[DB_ERROR_SIZE])
{
    struct db *db = NULL;
    struct db_store *store =
        db_store_new(&db_driver_postgres, &(struct db_settings){.location = url});
    enum db_status status = db_open(store, &db, why);
    if (status == DB_OK && !storage_is_in_use(db))
        status = DB_NONE;
    db_close(db);
    db_store_free(store);
    return status;
}

/* Whether only the PostgreSQL database of PLACE can say that it has a service: no key is here. */
static bool database_must_say(const struct database_place *place)
{
    char path[PATH_BYTES];
    struct stat status;
    return database_is_remote(place) &&
           data_dir_path(place->directory, "signing.key", path, sizeof path) &&
           stat(path, &status) != 0 && errno == ENOENT;
}

/* Whether PLACE's directory says that its service is in PostgreSQL. */
static bool is_elsewhere(const struct database_place *place, char note[PATH_BYTES])
{
    struct stat status;
    return data_dir_path(place->directory, DATABASE_ELSEWHERE, note, PATH_BYTES) &&
           stat(note, &status) == 0;
}

enum data_dir_found database_find(const struct database_place *place, char *error,
                                  size_t error_size)
{
    char why[DB_ERROR_SIZE] = "", note[PATH_BYTES];
    if (!database_is_remote(place))
        return is_elsewhere(place, note) && !place->moves
                   ? DATA_DIR_THERE
                   : data_dir_find(place->directory, place->marks, error, error_size);
    enum db_status status = database_must_say(place) ? database_serves(place->url, why) : DB_OK;
    if (status == DB_OK || status == DB_NONE)
        return status == DB_OK ? DATA_DIR_THERE : DATA_DIR_NEW;
    snprintf(error, error_size, "%s", why);
    return DATA_DIR_LOST;
}

bool database_is_there(const struct database_place *place, char *error, size_t error_size)
{
    enum data_dir_found found = database_find(place, error, error_size);
    if (found == DATA_DIR_NEW)
        snprintf(error, error_size, "%.400s holds no service", place->directory);
    return found == DATA_DIR_THERE;
}

bool database_make(const struct database_place *place, char *error, size_t error_size)
{
    return (database_is_remote(place) ||
            data_dir_make_database(place->directory, error, error_size)) &&
           data_dir_make_signing_seed(place->directory, error, error_size);
}

bool database_digest_key(const struct database_place *place, unsigned char key[DB_KEY_SIZE],
                         char *error, size_t error_size)
{
    static const char purpose[] = "tacet: digests of stored rows, 1";
    unsigned char seed[32];
    char path[PATH_BYTES];
    if (!data_dir_signing_seed(place->directory, seed, error, error_size)) {
        if (database_is_remote(place) &&
            data_dir_path(place->directory, "signing.key", path, sizeof path) &&
            access(path, F_OK) != 0)
            snprintf(error, error_size,
                     "%.200s has no signing.key: bring the one that the other servers of the "
                     "database have (tacet key export, tacet key import)",
                     place->directory);
        return false;
    }
    crypto_generichash(key, DB_KEY_SIZE, (const unsigned char *)purpose, sizeof purpose, seed,
                       sizeof seed);
    sodium_memzero(seed, sizeof seed);
    return true;
}

/* Sets where the database is. False: it cannot be there. */
static bool database_locate(struct database *database, const struct database_place *place,
                            struct db_settings *settings, char *error, size_t error_size)
{
    struct stat status;
    char note[PATH_BYTES];
    bool elsewhere = is_elsewhere(place, note);
    if (!data_dir_path(place->directory, "tacet.db", database->path, sizeof database->path)) {
        snprintf(error, error_size, "the name of the data directory is too long");
        return false;
    }
    settings->location = database->path;
    if (!database_is_remote(place)) {
        if (!elsewhere || place->moves)
            return database_find(place, error, error_size) != DATA_DIR_LOST;
        snprintf(error, error_size,
                 "the service of %.200s is in PostgreSQL, and an empty database would forget its "
                 "budgets: give --database (the file %.200s says so)",
                 place->directory, note);
        return false;
    }
    if (!elsewhere && stat(database->path, &status) == 0) {
        snprintf(error, error_size,
                 "%.200s holds a service of its own, whose budgets an empty database would forget: "
                 "--database needs another data directory, or tacet migrate",
                 place->directory);
        return false;
    }
    database->remote = true;
    snprintf(database->path, sizeof database->path, "--database");
    settings->location = place->url;
    return true;
}

/* Notes in the data directory of PLACE that its service is in PostgreSQL. */
static bool database_note_elsewhere(const struct database_place *place, char *error,
                                    size_t error_size)
{
    char note[PATH_BYTES];
    return data_dir_path(place->directory, DATABASE_ELSEWHERE, note, sizeof note) &&
           data_dir_write_whole(note, "postgresql\n", strlen("postgresql\n"), error, error_size);
}

/* Opens the database of PLACE as it is. NULL: ERROR holds a sentence. */
static struct database *database_begin(const struct database_place *place, struct db **out_db,
                                       char *error, size_t error_size)
{
    unsigned char key[DB_KEY_SIZE] = {0};
    struct database *database = memory_new(1, sizeof *database);
    struct db_settings settings = {
        .cache_kib = CACHE_KIB, .digest_key = key, .unchanged = place->unchanged};
    if (!database_locate(database, place, &settings, error, error_size) ||
        !database_digest_key(place, key, error, error_size))
        goto cleanup;
    database->store = memory_must(
        db_store_new(database->remote ? &db_driver_postgres : &db_driver_sqlite, &settings));
    sodium_memzero(key, sizeof key);
    *out_db = database_connect(database, error, error_size);
    if (*out_db && database_note(database, error, error_size))
        return database;
cleanup:
    database_close(database);
    return NULL;
}

/* Brings DATABASE up to date. False: it is closed. */
static bool database_upgrade(struct database *database, struct db *db, char *error,
                             size_t error_size)
{
    char why[DB_ERROR_SIZE] = "";
    if (storage_upgrade(db, why) == DB_OK && storage_check(db, why) == DB_OK)
        return true;
    snprintf(error, error_size, "%.200s: %s", database->path, why);
    database_close(database);
    return false;
}

struct database *database_open(const struct database_place *place, char *error, size_t error_size)
{
    struct db *db = NULL;
    char note[PATH_BYTES];
    struct database *database = database_begin(place, &db, error, error_size);
    if (!database)
        return NULL;
    if (database->remote && is_elsewhere(place, note) && !storage_is_in_use(db)) {
        snprintf(
            error, error_size,
            "the database is empty, and the file %.200s says that it has a service: is the URL "
            "right, and did tacet migrate end well?",
            note);
        database_close(database);
        return NULL;
    }
    if (!database_upgrade(database, db, error, error_size))
        return NULL;
    if (!database->remote || database_note_elsewhere(place, error, error_size))
        return database;
    database_close(database);
    return NULL;
}

struct database *database_look(const struct database_place *place, bool *out_old, char *error,
                               size_t error_size)
{
    struct db *db = NULL;
    int64_t version = 0, target = 0;
    *out_old = false;
    struct database *database = database_begin(place, &db, error, error_size);
    if (!database)
        return NULL;
    *out_old = migrate_look(db, &version, &target) == DB_OK && version < target;
    if (*out_old) {
        database_close(database);
        return NULL;
    }
    return database_upgrade(database, db, error, error_size) ? database : NULL;
}

struct database *database_open_beside(const struct database_place *place, char *error,
                                      size_t error_size)
{
    bool old = false;
    int locks[2] = {-1, -1};
    char why[DB_ERROR_SIZE] = "";
    struct database *database = database_look(place, &old, error, error_size);
    if (database || !old)
        return database;
    if (data_dir_lock(place->directory, locks, why, sizeof why))
        database = database_open(place, error, error_size);
    else
        snprintf(error, error_size,
                 "the database is of an earlier version of this program, and %.200s: restart it "
                 "with this version first",
                 why);
    for (unsigned i = 0; i < 2; i++)
        if (locks[i] >= 0)
            close(locks[i]);
    return database;
}

bool database_verify_ledger(struct db *db, unsigned long long *out_entries, char *error,
                            size_t error_size)
{
    struct ledger_report report = {0};
    if (ledger_verify(db, &report) != DB_OK) {
        snprintf(error, error_size, "the ledger cannot be read: %s", db_last_error(db));
        return false;
    }
    if (report.fault_count != 0) {
        snprintf(error, error_size, "the ledger does not add up (%" PRId64 " faults): %s %s",
                 report.fault_count, report.faults[0].account, report.faults[0].what);
        return false;
    }
    *out_entries = (unsigned long long)report.entries;
    int64_t noted = db_noted_entries(db);
    if (report.entries >= noted)
        return true;
    snprintf(error, error_size,
             "the ledger has %" PRId64 " entries and once had %" PRId64
             " (ledger.head): this is an older copy of the database, or one without its log, and "
             "would spend again what was spent",
             report.entries, noted);
    return false;
}

bool database_verify_answers(struct db *db, unsigned long long *out_answers, char *error,
                             size_t error_size)
{
    char why[DB_ERROR_SIZE] = "";
    int64_t count = 0;
    enum db_status status = answers_verify(db, &count, why);
    *out_answers = (unsigned long long)count;
    if (status != DB_OK)
        snprintf(error, error_size, "a stored answer is not as it was stored: %s", why);
    return status == DB_OK;
}

bool database_sweep(struct db *db, char *error, size_t error_size)
{
    const char *what = "uploads";
    enum db_status status = uploads_sweep(db, clock_now_ms());
    if (status == DB_OK) {
        what = "leases";
        status = jobs_expire_leases(db);
    }
    if (status == DB_OK || status == DB_NONE)
        return true;
    snprintf(error, error_size, "%s of a former run cannot be swept (%d): %s", what, (int)status,
             db_last_error(db));
    return false;
}

bool database_make_ready(struct database *database, int64_t *out_answers_from_ms, char *error,
                         size_t error_size)
{
    unsigned long long entries = 0, answers = 0;
    int64_t begun = clock_now_us();
    struct db *db = database->connections[0];
    if (!database_sweep(db, error, error_size) ||
        !database_verify_ledger(db, &entries, error, error_size))
        return false;
    int64_t between = clock_now_us();
    if (!database_verify_answers(db, &answers, error, error_size))
        return false;
    enum db_status kept = ledger_head_keep_now(db);
    if (answers_kept_from(db, out_answers_from_ms) != DB_OK || (kept != DB_OK && kept != DB_FULL)) {
        snprintf(error, error_size, "the database cannot be used: %s", db_last_error(db));
        return false;
    }
    if (*out_answers_from_ms > clock_now_ms())
        log_event(LOG_LEVEL_WARN, "clock-behind",
                  "note=\"the clock is behind the time before which answers were removed: keys of "
                  "the present are refused\"");
    if (db_is_unchecked(db))
        log_event(LOG_LEVEL_WARN, "pages-unchecked",
                  "note=\"data_checksums of PostgreSQL is off: a flipped bit on its disk may be "
                  "taken for data\"");
    log_event(LOG_LEVEL_INFO, "ledger-verified", "entries=%llu ms=%" PRId64, entries,
              (between - begun) / 1000);
    log_event(LOG_LEVEL_INFO, "answers-verified", "answers=%llu ms=%" PRId64, answers,
              (clock_now_us() - between) / 1000);
    return true;
}

void database_heed(struct db *db)
{
    const char *damage = db_damage(db);
    if (damage[0] != '\0')
        log_event(LOG_LEVEL_ERROR, "row-damaged", "row=\"%s\"", damage);
    if (!db_broken(db))
        return;
    log_event(LOG_LEVEL_ERROR, "database-broken",
              "why=\"%s\" note=\"a commit may or may not be on disk; stopping "
              "without answering\"",
              db_last_error(db));
    _exit(1);
}

void database_close(struct database *database)
{
    if (!database)
        return;
    while (database->count > 0)
        db_close(database->connections[--database->count]);
    if (database->store)
        db_store_free(database->store);
    free(database);
}
