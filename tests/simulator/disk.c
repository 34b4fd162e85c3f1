#include "tests/simulator/disk.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/db/schema_sqlite.h"
#include "tests/simulator/lists.h"
#include "tests/simulator/ram.h"

extern const struct db_driver __real_db_driver_sqlite;
extern struct db_driver __wrap_db_driver_sqlite;

struct disk disk = {.fails_at = DISK_NEVER,
                    .dies_at = DISK_NEVER,
                    .dies_at_try = DISK_NEVER,
                    .waits_at_try = DISK_NEVER,
                    .moves_at = DISK_NEVER};

void disk_heal(void)
{
    disk.fails_at = DISK_NEVER;
    disk.stays = false;
}

bool disk_is_dead(void)
{
    return disk.dead || disk.ended & 1u << disk.server;
}

unsigned disk_enter(unsigned server)
{
    unsigned before = disk.server;
    disk.server = server;
    return before;
}

void disk_end_alone(void)
{
    if (disk_is_dead())
        return;
    disk.unheeded = false;
    disk.ended |= 1u << disk.server;
    disk.dead = disk.ended == disk.servers;
    if (!disk.dead)
        disk.alone(disk.context);
}

/* ---- the standby
 *
 * It has what the primary has up to some commit. So all that is kept of it is where the log ended
 * then: SQLite writes a commit behind the log, and it counts when the log's index says so. Nothing
 * of the log is copied into the file while the standby lags. */

#define LOG_HEAD   32 /* bytes, and so many before each page in it */
#define FRAME_HEAD 24

static unsigned char *disk_index(void)
{
    size_t size;
    char path[160];
    snprintf(path, sizeof path, "%s/tacet.db-shm", disk.place);
    return ram_bytes(path, &size);
}

void disk_catch_up(void)
{
    if (!disk.lags)
        return;
    disk.lags = false;
    disk.settled(disk.context, false);
}

/* Puts the end of the log back to where the standby had it. */
static void disk_put_back(void)
{
    char path[160];
    uint16_t page;
    uint32_t frames;
    unsigned char *index = disk_index();
    memcpy(&page, disk.standby + 14, sizeof page); /* struct WalIndexHdr */
    memcpy(&frames, disk.standby + 16, sizeof frames);
    if (index) {
        assert(frames == 0 || memcmp(index + 32, disk.standby + 32, 8) == 0); /* the same log */
        memcpy(index, disk.standby, DISK_INDEX);
    }
    snprintf(path, sizeof path, "%s/tacet.db-wal", disk.place);
    ram_cut(path, frames == 0 ? 0 : LOG_HEAD + (size_t)frames * (FRAME_HEAD + page));
}

/* The old primary, at which a server is still connected: a copy of the files. */
static struct {
    char place[128];
    void *connection;
    struct db_settings settings;
} disk_old;

static bool disk_copy_file(const char *from, const char *to);
static bool disk_each_file(const char *from, const char *to,
                           bool (*one)(const char *from, const char *to));

static void disk_strand(void)
{
    char path[160];
    struct db_fault fault = {.broken = false};
    unsigned others = disk.servers & ~disk.ended & ~(1u << disk.server);
    if (disk.strands == 0 || disk.behind != 0 || disk.running > 0 || others == 0 ||
        (others & (others - 1)) != 0)
        return;
    snprintf(disk_old.place, sizeof disk_old.place, "%s-old", disk.place);
    snprintf(path, sizeof path, "%s/tacet.db", disk_old.place);
    disk_old.settings.location = path;
    bool copied = disk_each_file(disk.place, disk_old.place, disk_copy_file);
    assert(copied);
    (void)copied;
    enum db_status status =
        __real_db_driver_sqlite.open(&disk_old.settings, &disk_old.connection, &fault);
    assert(status == DB_OK);
    (void)status;
    disk.behind = others;
    disk.leaves_at = disk.calls + disk.strands;
    disk.stranded(disk.context);
}

void disk_leave_old(void)
{
    if (disk.behind == 0)
        return;
    disk.behind = 0;
    __real_db_driver_sqlite.close(disk_old.connection);
    disk_remove(disk_old.place);
}

/* CONNECTION, or that of the old primary. */
static void *disk_at(void *connection)
{
    bool behind = !disk.aside && disk.behind & 1u << disk.server;
    return behind ? disk_old.connection : connection;
}

void disk_fail_over(void)
{
    bool lagged = disk.lags;
    disk.moves++;
    disk_strand();
    disk.strands = 0;
    disk.lags = false;
    if (!lagged)
        return;
    disk_put_back();
    disk.settled(disk.context, true);
}

/* ---- the driver */

static enum db_status disk_die(enum disk_end where, struct db_fault *fault)
{
    disk.ends[where]++;
    disk.dead = true;
    fault->broken = true;
    return DB_FAILED;
}

static bool disk_in_transaction(void *connection)
{
    return __real_db_driver_sqlite.in_transaction(disk_at(connection));
}

/* The connection is lost, at a failover or because it was to the old primary: the transaction is no
 * more. Without one it is opened anew, and nobody notices. */
static enum db_status disk_lose_connection(void *connection, struct db_fault *fault)
{
    bool within = disk_in_transaction(connection);
    if (within)
        __real_db_driver_sqlite.rollback(disk_at(connection));
    if (disk.behind & 1u << disk.server) {
        disk_leave_old();
    } else {
        disk.moves_at = DISK_NEVER;
        disk_fail_over();
    }
    if (!within)
        return DB_OK;
    disk.failures++;
    snprintf(fault->text, sizeof fault->text, "the connection was lost");
    return DB_FULL;
}

/* DB_OK: the call goes through. */
static enum db_status disk_count(void *connection, bool commits, struct db_fault *fault)
{
    if (disk.aside)
        return DB_OK;
    int64_t call = disk.calls++;
    if (disk_is_dead()) {
        fault->broken = true;
        return DB_FAILED;
    }
    if (call == disk.dies_at) {
        enum disk_end open =
            disk_in_transaction(connection) ? DISK_ENDED_WITHIN : DISK_ENDED_BETWEEN;
        enum disk_end last = disk.keeps ? DISK_ENDED_COMMITTED : DISK_ENDED_NOT_COMMITTED;
        return disk_die(commits ? last : open, fault);
    }
    int64_t lost_at = disk.behind & 1u << disk.server ? disk.leaves_at : disk.moves_at;
    if (call >= lost_at && !commits && disk.running == 0)
        return disk_lose_connection(connection, fault);
    if (call < disk.fails_at || (call > disk.fails_at && !disk.stays))
        return DB_OK;
    disk.failures++;
    disk.hits += call == disk.fails_at;
    snprintf(fault->text, sizeof fault->text, "made to fail");
    return disk.failure;
}

static struct {
    void *connection;
    unsigned count;
} disk_shared;

static enum db_status disk_open(const struct db_settings *settings, void **out,
                                struct db_fault *fault)
{
    enum db_status status = DB_OK;
    disk_old.settings = *settings;
    if (!disk.shares)
        return __real_db_driver_sqlite.open(settings, out, fault);
    if (!disk_shared.connection)
        status = __real_db_driver_sqlite.open(settings, &disk_shared.connection, fault);
    disk_shared.count += status == DB_OK;
    *out = disk_shared.connection;
    return status;
}

/* What the process that ends has not committed is gone. */
static void disk_close(void *connection)
{
    if (connection != disk_shared.connection)
        __real_db_driver_sqlite.close(connection);
    else if (--disk_shared.count == 0)
        __real_db_driver_sqlite.rollback(connection);
}

void disk_part(void)
{
    if (disk_shared.connection)
        __real_db_driver_sqlite.close(disk_shared.connection);
    disk_shared.connection = NULL;
}

static enum db_status disk_begin(void *connection, bool will_write, struct db_fault *fault)
{
    enum db_status status = disk_count(connection, false, fault);
    if (status != DB_OK)
        return status;
    disk.writes = will_write;
    disk.savepoints = 0;
    return __real_db_driver_sqlite.begin(disk_at(connection), will_write, fault);
}

/* A commit for which the standby is waited. As driver_postgres.c has it: it is durable, or nobody
 * knows what became of it. */
static enum db_status disk_wait(void *connection, struct db_fault *fault)
{
    enum disk_wait wait = disk.lags ? disk.next : disk.first;
    if (disk.behind & 1u << disk.server)
        wait = DISK_OUTDATED;
    else
        disk.waits_at_try = DISK_NEVER;
    if (wait == DISK_LOST && disk.running > 0)
        wait = DISK_SHOWN; /* what a statement still reads is not put back */
    disk.waits[wait]++;
    if ((wait == DISK_SHOWN || wait == DISK_LOST) && !disk.lags) {
        memcpy(disk.standby, disk_index(), DISK_INDEX);
        disk.lags = true;
    }
    enum db_status status = __real_db_driver_sqlite.commit(disk_at(connection), fault);
    if (wait == DISK_TAKEN || wait == DISK_IN_STEP)
        disk_catch_up();
    if (wait == DISK_TAKEN || wait == DISK_LOST)
        disk_fail_over();
    if (wait == DISK_IN_STEP || status != DB_OK)
        return status;
    disk.failures++;
    disk.unheeded = true;
    fault->broken = true;
    snprintf(fault->text, sizeof fault->text, "nobody says what became of a commit");
    return DB_FAILED;
}

static enum db_status disk_commit(void *connection, struct db_fault *fault)
{
    bool counts = !disk.aside && !disk_is_dead();
    bool waits = counts && disk.writes &&
                 (disk.lags || disk.behind & 1u << disk.server || disk.tries >= disk.waits_at_try);
    if (counts && disk.tries++ == disk.dies_at_try)
        disk.dies_at = disk.calls;
    bool last = counts && disk.calls == disk.dies_at;
    enum db_status status = disk_count(connection, true, fault);
    disk.commits += status == DB_OK || (last && disk.keeps);
    if (status == DB_OK && waits)
        return disk_wait(connection, fault);
    if (status == DB_OK)
        return __real_db_driver_sqlite.commit(disk_at(connection), fault);
    if (last && disk.keeps)
        (void)__real_db_driver_sqlite.commit(disk_at(connection), fault);
    if (!disk_is_dead())
        __real_db_driver_sqlite.rollback(disk_at(connection));
    return status;
}

static void disk_rollback(void *connection)
{
    if (!disk_is_dead())
        __real_db_driver_sqlite.rollback(disk_at(connection));
}

/* Others come in between when a thread is outside of any transaction. */
static void disk_let_others(bool within)
{
    if (disk.between && !disk.aside && !disk.unheeded && !disk_is_dead() && !within)
        disk.between(disk.context);
}

/* A change: before it takes its turn among the writers, for who has the turn holds all others up.
 */
enum db_status __real_db_transact(struct db *db, db_work_fn *work, void *context);
enum db_status __wrap_db_transact(struct db *db, db_work_fn *work, void *context);
enum db_status __wrap_db_transact(struct db *db, db_work_fn *work, void *context)
{
    disk_let_others(db_in_transaction(db));
    return __real_db_transact(db, work, context);
}

static enum db_status disk_run(void *connection, const char *sql, const struct db_value *values,
                               unsigned count, db_row_fn *each, void *context,
                               struct db_fault *fault)
{
    disk_let_others(disk_in_transaction(connection));
    enum db_status status = disk_count(connection, false, fault);
    if (status != DB_OK && __wrap_db_driver_sqlite.fails_whole && disk.savepoints == 0)
        disk_rollback(connection);
    if (status != DB_OK)
        return status;
    disk.running++;
    status = lists_run(&__real_db_driver_sqlite, disk_at(connection), sql, values, count, each,
                       context, fault);
    disk.running--;
    disk.savepoints += status == DB_OK && strncmp(sql, "SAVEPOINT", 9) == 0;
    disk.savepoints -= status == DB_OK && strncmp(sql, "RELEASE", 7) == 0;
    return status;
}

static int64_t disk_changes(void *connection)
{
    return __real_db_driver_sqlite.changes(disk_at(connection));
}

static int64_t disk_noted_entries(void *connection)
{
    return __real_db_driver_sqlite.noted_entries(connection);
}

static enum db_status disk_check(void *connection, const char *const *but, struct db_fault *fault)
{
    enum db_status status = disk_count(connection, false, fault);
    return status == DB_OK && !disk.sound ? __real_db_driver_sqlite.check(connection, but, fault)
                                          : status;
}

struct db_driver __wrap_db_driver_sqlite = {
    .name = "sqlite",
    .schema = &schema_sqlite,
    .open = disk_open,
    .close = disk_close,
    .begin = disk_begin,
    .commit = disk_commit,
    .rollback = disk_rollback,
    .run = disk_run,
    .changes = disk_changes,
    .in_transaction = disk_in_transaction,
    .noted_entries = disk_noted_entries,
    .check = disk_check,
};

void disk_is_shared(bool shared)
{
    __wrap_db_driver_sqlite.shared = shared;
    __wrap_db_driver_sqlite.lists = shared;
    __wrap_db_driver_sqlite.fails_whole = shared;
    /* A note beside the database knows nothing of a standby, and PostgreSQL has none. */
    __wrap_db_driver_sqlite.noted_entries = shared ? NULL : disk_noted_entries;
}

/* ---- files */

static const char *const disk_files[] = {"tacet.db", "tacet.db-wal", "ledger.head", "signing.key"};

static bool disk_copy_file(const char *from, const char *to)
{
    bool good = false;
    struct stat status;
    char *bytes = NULL;
    int out = -1, in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return true; /* there may be no log */
    if (fstat(in, &status) != 0 || !(bytes = malloc((size_t)status.st_size + 1)))
        goto cleanup;
    out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR);
    good = out >= 0 && read(in, bytes, (size_t)status.st_size) == status.st_size &&
           write(out, bytes, (size_t)status.st_size) == status.st_size && ram_copy(from, to);
cleanup:
    free(bytes);
    close(in);
    if (out >= 0)
        close(out);
    return good;
}

/* Moves one; there may be no log. */
static bool disk_move_file(const char *from, const char *to)
{
    return rename(from, to) == 0 || access(from, F_OK) != 0;
}

/* Calls ONE for each file of folder FROM, with its place in the new folder TO. */
static bool disk_each_file(const char *from, const char *to,
                           bool (*one)(const char *from, const char *to))
{
    bool good = true;
    char source[160], target[160];
    mkdir(to, S_IRWXU);
    for (size_t i = 0; i < sizeof disk_files / sizeof disk_files[0]; i++) {
        snprintf(source, sizeof source, "%s/%s", from, disk_files[i]);
        snprintf(target, sizeof target, "%s/%s", to, disk_files[i]);
        good = one(source, target) && good;
    }
    return good;
}

/* Copies the keys in folder FROM into the new folder TO; without TO removes them and FROM. */
static bool disk_each_key(const char *from, const char *to)
{
    bool good = true;
    char source[420], target[420];
    DIR *folder = opendir(from);
    if (!folder)
        return true; /* there may be no keys */
    if (to)
        mkdir(to, S_IRWXU);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(source, sizeof source, "%s/%s", from, entry->d_name);
        snprintf(target, sizeof target, "%s/%s", to ? to : "", entry->d_name);
        good = (to ? disk_copy_file(source, target) : unlink(source) == 0) && good;
    }
    closedir(folder);
    return good && (to || rmdir(from) == 0);
}

bool disk_copy(const char *from, const char *to)
{
    char source[160], target[160];
    snprintf(source, sizeof source, "%s/keys", from);
    snprintf(target, sizeof target, "%s/keys", to);
    return disk_each_file(from, to, disk_copy_file) && disk_each_key(source, target);
}

bool disk_move(const char *from, const char *to)
{
    char source[160], target[160];
    snprintf(source, sizeof source, "%s/keys", from);
    snprintf(target, sizeof target, "%s/keys", to);
    /* What a life left there that did not begin is in the way of a folder. */
    return disk_each_key(target, NULL) && disk_each_file(from, to, disk_move_file) &&
           disk_move_file(source, target);
}

/* SQLite calls it for every connection that is opened. */
static int disk_keep_log(sqlite3 *handle, char **error, const void *api)
{
    (void)error;
    (void)api;
    return sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
}

void disk_keeps_logs(void)
{
    sqlite3_auto_extension((void (*)(void))disk_keep_log);
}

void disk_remove(const char *directory)
{
    char path[160];
    for (size_t i = 0; i < sizeof disk_files / sizeof disk_files[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, disk_files[i]);
        ram_forget(path);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/tacet.db-shm", directory);
    ram_forget(path);
    unlink(path);
    snprintf(path, sizeof path, "%s/keys", directory);
    disk_each_key(path, NULL);
    rmdir(directory);
}
