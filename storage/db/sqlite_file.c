/* Opens a database file, checks its first bytes, and applies the settings. */
#include "storage/db/sqlite_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/db/sqlite_pages.h"

#define PATH_BYTES         4096
#define HEADER_BYTES       100
#define HEADER_APPLICATION 68 /* where the application id stands, big endian */
#define JOURNAL_BYTES      20 /* of a rollback journal, up to the size of the database before */
#define JOURNAL_SIZE       16 /* where that stands */

enum db_status sqlite_file_refuse(struct db_fault *fault, const char *path, const char *why)
{
    snprintf(fault->text, sizeof fault->text, "%.*s: %s", SQLITE_FILE_TEXT_SIZE - 40, path, why);
    return DB_FAILED;
}

/* True when a rollback journal beside PATH says that the database was empty before. SQLite syncs
 * the journal before it writes the first page, and makes the database empty again when it opens it.
 * So when the power goes within the first start, the file may hold anything, and nothing is in it.
 */
static bool file_was_empty(const char *path)
{
    static const unsigned char magic[] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    static const unsigned char none[JOURNAL_BYTES - JOURNAL_SIZE];
    unsigned char head[JOURNAL_BYTES];
    char journal[PATH_BYTES];
    int n = snprintf(journal, sizeof journal, "%s-journal", path);
    int fd = n > 0 && (size_t)n < sizeof journal ? open(journal, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return false;
    bool whole = read(fd, head, sizeof head) == (ssize_t)sizeof head;
    close(fd);
    return whole && memcmp(head, magic, sizeof magic) == 0 &&
           memcmp(head + JOURNAL_SIZE, none, sizeof none) == 0;
}

enum db_status sqlite_file_find(const char *path, bool *out_empty, struct db_fault *fault)
{
    struct stat info;
    if (stat(path, &info) == 0) {
        *out_empty = info.st_size == 0 || file_was_empty(path);
        return S_ISREG(info.st_mode) ? DB_OK : sqlite_file_refuse(fault, path, "is not a file");
    }
    if (errno != ENOENT)
        return sqlite_file_refuse(fault, path, strerror(errno));
    int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd < 0 && errno != EEXIST)
        return sqlite_file_refuse(fault, path, strerror(errno));
    if (fd >= 0)
        close(fd);
    *out_empty = true;
    return DB_OK;
}

/* Opens a database without a log as one that does not change, so that none is made. */
static int open_without_log(const char *path, sqlite3 **out)
{
    char uri[3 * PATH_BYTES + 32] = "file:";
    size_t size = strlen(uri);
    for (; *path && size < 3 * (size_t)PATH_BYTES; path++)
        size += (size_t)snprintf(uri + size, 4, "%%%02x", (unsigned char)*path);
    snprintf(uri + size, sizeof uri - size, "?immutable=1");
    return sqlite3_open_v2(uri, out, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI,
                           sqlite_pages_vfs(NULL));
}

int sqlite_file_open(const struct db_settings *settings, sqlite3 **out)
{
    char log[PATH_BYTES];
    const char *path = settings->location;
    if (!settings->unchanged)
        return sqlite3_open_v2(path, out, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                               sqlite_pages_vfs(NULL));
    int n = snprintf(log, sizeof log, "%s-wal", path);
    if (n < 0 || (size_t)n >= sizeof log || access(log, F_OK) != 0)
        return open_without_log(path, out);
    /* Without locks, and with the log's index in memory, the log is read where it lies. */
    int code = sqlite3_open_v2(path, out, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
                               sqlite_pages_vfs("unix-none"));
    if (code == SQLITE_OK)
        code = sqlite3_db_config(*out, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
    if (code == SQLITE_OK)
        code = sqlite3_exec(*out, "PRAGMA locking_mode=EXCLUSIVE", NULL, NULL, NULL);
    return code;
}

static int see_number(void *context, int columns, char **values, char **names)
{
    (void)names;
    *(long long *)context = columns > 0 && values[0] != NULL ? strtoll(values[0], NULL, 10) : 0;
    return 0;
}

int sqlite_ask(sqlite3 *handle, const char *sql, long long *out)
{
    *out = 0;
    return sqlite3_exec(handle, sql, see_number, out, NULL);
}

enum db_status sqlite_file_inspect(sqlite3 *handle, const char *path, struct db_fault *fault)
{
    unsigned char header[HEADER_BYTES];
    sqlite3_file *file = NULL;
    int code = sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code != SQLITE_OK || !file || !file->pMethods)
        return sqlite_file_refuse(fault, path, "cannot be read");
    code = file->pMethods->xRead(file, header, sizeof header, 0);
    if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ)
        return sqlite_file_refuse(fault, path, sqlite3_errstr(code));
    if (code != SQLITE_OK || memcmp(header, "SQLite format 3", 16) != 0)
        return sqlite_file_refuse(fault, path, "is not a database; it was left as it is");
    const unsigned char *number = header + HEADER_APPLICATION;
    uint32_t application = (uint32_t)number[0] << 24 | (uint32_t)number[1] << 16 |
                           (uint32_t)number[2] << 8 | number[3];
    if (application != SQLITE_FILE_APPLICATION_ID) {
        return sqlite_file_refuse(fault, path,
                                  "is a database of another program; it was left as it is");
    }
    return DB_OK;
}

bool sqlite_file_sync_folder(sqlite3 *handle)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s", sqlite3_db_filename(handle, "main"));
    int folder = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool synced = folder >= 0 && fsync(folder) == 0;
    if (folder >= 0)
        close(folder);
    return synced;
}

bool sqlite_file_stands(sqlite3 *handle, struct sqlite_log_place *log)
{
    struct stat info;
    int moved = 1;
    const char *name = sqlite3_db_filename(handle, "main");
    if (sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK || moved)
        return false;
    if (stat(sqlite3_filename_wal(name), &info) != 0)
        return log->inode == 0 && errno == ENOENT;
    if (log->inode == 0)
        *log = (struct sqlite_log_place){info.st_dev, info.st_ino};
    return log->device == info.st_dev && log->inode == info.st_ino;
}

bool sqlite_pragma(sqlite3 *handle, const char *format, long long value)
{
    char sql[96];
    snprintf(sql, sizeof sql, format, value);
    return sqlite3_exec(handle, sql, NULL, NULL, NULL) == SQLITE_OK;
}

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

/* What SQLite finds first in TABLE: a page that is none, an index that lacks a row, NULL where none
 * may be. It names tables, indexes and pages, and no value. */
static enum db_status file_check_table(sqlite3 *handle, const char *table, struct db_fault *fault)
{
    char sql[128], why[SQLITE_FILE_TEXT_SIZE];
    sqlite3_stmt *stmt = NULL;
    const char *found = NULL;
    snprintf(sql, sizeof sql, "PRAGMA integrity_check('%s')", table);
    if (sqlite3_prepare_v2(handle, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        found = (const char *)sqlite3_column_text(stmt, 0);
    bool whole = found && strcmp(found, "ok") == 0;
    bool page = sqlite_pages_damaged(handle);
    sqlite_pages_explain(handle, page ? SQLITE_IOERR_DATA : SQLITE_ERROR, why, sizeof why);
    if (!whole)
        snprintf(fault->text, sizeof fault->text, "table %s is damaged: %.160s", table,
                 found && !page ? found : why);
    sqlite3_finalize(stmt);
    return whole ? DB_OK : DB_FAILED;
}

enum db_status sqlite_file_check(sqlite3 *handle, const char *const *but, struct db_fault *fault)
{
    static const char names[] = "SELECT name FROM sqlite_schema WHERE type = 'table'";
    char why[SQLITE_FILE_TEXT_SIZE];
    sqlite3_stmt *stmt = NULL;
    enum db_status status = DB_OK;
    int code = sqlite3_prepare_v2(handle, names, -1, &stmt, NULL);
    while (code == SQLITE_OK && status == DB_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(stmt, 0);
        if (name && !is_one_of(name, but))
            status = file_check_table(handle, name, fault);
        code = SQLITE_OK;
    }
    if (status == DB_OK && code != SQLITE_DONE) {
        sqlite_pages_explain(handle, code, why, sizeof why);
        snprintf(fault->text, sizeof fault->text, "the tables cannot be read: %s", why);
        status = DB_FAILED;
    }
    sqlite3_finalize(stmt);
    return status;
}

bool sqlite_use_log(sqlite3 *handle)
{
    sqlite3_stmt *stmt = NULL;
    bool is_wal =
        sqlite3_prepare_v2(handle, "PRAGMA journal_mode=WAL", -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW &&
        strcmp((const char *)sqlite3_column_text(stmt, 0), "wal") == 0;
    sqlite3_finalize(stmt);
    return is_wal;
}

enum db_status sqlite_file_copy(sqlite3 *handle, const char *path, struct db_fault *fault)
{
    char why[SQLITE_FILE_TEXT_SIZE];
    sqlite3 *copy = NULL;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int code = sqlite3_open_v2(path, &copy, flags, sqlite_pages_vfs(NULL));
    if (code == SQLITE_OK && sqlite_pages_begun(handle))
        sqlite_pages_begin(copy); /* the first page may be written last */
    sqlite3_backup *backup =
        code == SQLITE_OK ? sqlite3_backup_init(copy, "main", handle, "main") : NULL;
    if (backup) {
        (void)sqlite3_backup_step(backup, -1); /* all pages in one view: others may write */
        code = sqlite3_backup_finish(backup);
    }
    sqlite_pages_explain(code == SQLITE_IOERR_DATA ? handle : copy, code, why, sizeof why);
    if (!backup || code != SQLITE_OK)
        snprintf(fault->text, sizeof fault->text, "the database cannot be copied: %s", why);
    sqlite3_close(copy);
    if (backup && code == SQLITE_OK)
        return DB_OK;
    return (code & 0xff) == SQLITE_FULL ? DB_FULL : DB_FAILED;
}
