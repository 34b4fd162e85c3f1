/* A thin layer over SQLite's default VFS; files that are no log pass through untouched.
 *
 * DESIGN. Frames are appended as a header of 24 bytes and a page; the header of a commit's last
 * frame says so. Only appends are gathered; whatever lands elsewhere first pushes out what was
 * gathered and then goes to the file itself, so the order of writes stays. Other connections read
 * frames that a commit has published, which SQLite does after the write of its last page has
 * returned: by then it is in the file. If pushing out fails, the frames are lost and everything
 * appended behind them fails too, until SQLite has rolled back.
 *
 * What a transaction has gathered before its commit (pages that its cache had no room for) dies
 * with a rollback, which the driver says: the write lock is gone then, another connection commits
 * at that very place, and frames pushed out later would overwrite what it has committed. */
#include "storage/db/log_gather.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NAME         "tacet-log"
#define BUFFER_BYTES (120 << 10) /* SQLite's Unix layer cannot write 128 KiB at once */
#define FRAME_HEADER 24          /* bytes */
#define FRAME_COMMIT 4           /* where in it stands the database's size, when it ends a commit */

struct log_file {
    sqlite3_file base; /* first: SQLite sees this */
    sqlite3_file *real;
    unsigned char *buffer;
    sqlite3_int64 start; /* where the buffer's first byte goes */
    sqlite3_int64 top;   /* end of the furthest write since the log began anew */
    int used;
    int lost; /* not SQLITE_OK: what was to stand from START on did not get there */
    bool ends_commit;
};

static struct log_file *log_of(sqlite3_file *file)
{
    return (struct log_file *)(void *)file;
}

static int push_out(struct log_file *log)
{
    if (log->used == 0)
        return SQLITE_OK;
    int code = log->real->pMethods->xWrite(log->real, log->buffer, log->used, log->start);
    log->used = 0;
    if (code != SQLITE_OK) {
        log->lost = code;
        log->top = log->start;
    }
    return code;
}

/* Before anything but an append. */
static int settle(sqlite3_file *file)
{
    return push_out(log_of(file));
}

static bool ends_commit(const void *header)
{
    static const unsigned char no[4];
    return memcmp((const unsigned char *)header + FRAME_COMMIT, no, sizeof no) != 0;
}

static bool can_gather(const struct log_file *log, int size, sqlite3_int64 offset)
{
    return log->buffer && offset >= log->top && size <= BUFFER_BYTES - log->used &&
           (log->used == 0 || offset == log->start + log->used);
}

static int log_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 offset)
{
    struct log_file *log = log_of(file);
    if (log->lost != SQLITE_OK && offset > log->start)
        return log->lost;
    log->lost = SQLITE_OK;
    if (offset == 0)
        log->top = 0;         /* the log begins anew */
    if (size == FRAME_HEADER) /* gathered or not: its page may be */
        log->ends_commit = ends_commit(bytes);
    bool append = offset >= log->top;
    if (!can_gather(log, size, offset)) {
        int code = push_out(log);
        if (code != SQLITE_OK)
            return code;
    }
    if (append)
        log->top = offset + size;
    if (!append || !log->buffer || size > BUFFER_BYTES)
        return log->real->pMethods->xWrite(log->real, bytes, size, offset);
    if (log->used == 0)
        log->start = offset;
    memcpy(log->buffer + log->used, bytes, (size_t)size);
    log->used += size;
    return log->ends_commit && size != FRAME_HEADER ? push_out(log) : SQLITE_OK;
}

static int log_read(sqlite3_file *file, void *out, int size, sqlite3_int64 offset)
{
    int code = settle(file);
    sqlite3_file *real = log_of(file)->real;
    return code == SQLITE_OK ? real->pMethods->xRead(real, out, size, offset) : code;
}

static int log_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    int code = settle(file);
    sqlite3_file *real = log_of(file)->real;
    return code == SQLITE_OK ? real->pMethods->xTruncate(real, size) : code;
}

static int log_sync(sqlite3_file *file, int flags)
{
    int code = settle(file);
    sqlite3_file *real = log_of(file)->real;
    return code == SQLITE_OK ? real->pMethods->xSync(real, flags) : code;
}

static int log_size(sqlite3_file *file, sqlite3_int64 *out)
{
    int code = settle(file);
    sqlite3_file *real = log_of(file)->real;
    return code == SQLITE_OK ? real->pMethods->xFileSize(real, out) : code;
}

static int log_close(sqlite3_file *file)
{
    struct log_file *log = log_of(file);
    /* What is not pushed out by now belongs to no commit. */
    free(log->buffer);
    log->buffer = NULL;
    return log->real->pMethods->xClose(log->real);
}

static int log_lock(sqlite3_file *file, int level)
{
    sqlite3_file *real = log_of(file)->real;
    return real->pMethods->xLock(real, level);
}

static int log_unlock(sqlite3_file *file, int level)
{
    sqlite3_file *real = log_of(file)->real;
    return real->pMethods->xUnlock(real, level);
}

static int log_check_lock(sqlite3_file *file, int *out)
{
    sqlite3_file *real = log_of(file)->real;
    return real->pMethods->xCheckReservedLock(real, out);
}

static int log_control(sqlite3_file *file, int what, void *argument)
{
    sqlite3_file *real = log_of(file)->real;
    return real->pMethods->xFileControl(real, what, argument);
}

static int log_sector_size(sqlite3_file *file)
{
    sqlite3_file *real = log_of(file)->real;
    return real->pMethods->xSectorSize(real);
}

static int log_traits(sqlite3_file *file)
{
    sqlite3_file *real = log_of(file)->real;
    return real->pMethods->xDeviceCharacteristics(real);
}

static const sqlite3_io_methods log_methods = {
    .iVersion = 1, /* shared memory and maps belong to the database's own file */
    .xClose = log_close,
    .xRead = log_read,
    .xWrite = log_write,
    .xTruncate = log_truncate,
    .xSync = log_sync,
    .xFileSize = log_size,
    .xLock = log_lock,
    .xUnlock = log_unlock,
    .xCheckReservedLock = log_check_lock,
    .xFileControl = log_control,
    .xSectorSize = log_sector_size,
    .xDeviceCharacteristics = log_traits,
};

/* ---- the layer */

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                     int *out_flags)
{
    sqlite3_vfs *below = vfs->pAppData;
    if ((flags & SQLITE_OPEN_WAL) == 0)
        return below->xOpen(below, name, file, flags, out_flags);
    struct log_file *log = log_of(file);
    *log = (struct log_file){.real = (sqlite3_file *)(void *)(log + 1)};
    int code = below->xOpen(below, name, log->real, flags, out_flags);
    if (!log->real->pMethods)
        return code;
    log->buffer = malloc(BUFFER_BYTES); /* without it every write goes straight through */
    log->base.pMethods = &log_methods;
    return code;
}

static sqlite3_vfs layer;
static bool known;

static void make_known(void)
{
    sqlite3_vfs *below = sqlite3_vfs_find(NULL);
    if (!below)
        return;
    layer = *below;
    layer.pNext = NULL;
    layer.zName = NAME;
    layer.pAppData = below;
    layer.szOsFile = (int)sizeof(struct log_file) + below->szOsFile;
    layer.xOpen = open_file;
    known = sqlite3_vfs_register(&layer, 0) == SQLITE_OK;
}

void log_gather_rolled_back(sqlite3 *handle)
{
    sqlite3_file *file = NULL;
    int code = sqlite3_file_control(handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, (void *)&file);
    if (code != SQLITE_OK || !file || file->pMethods != &log_methods)
        return;
    struct log_file *log = log_of(file);
    if (log->used > 0)
        log->top = log->start;
    log->used = 0;
    log->lost = SQLITE_OK;
}

const char *log_gather_name(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_known);
    return known ? NAME : NULL;
}
