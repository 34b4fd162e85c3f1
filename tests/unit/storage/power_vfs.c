/* SQLite's own VFS behind one that tells the disk what is done. It syncs nothing: a cut is drawn,
 * and a test need not wait for the machine's disk. It offers no memory maps of files, past which
 * writes could go. */
#include <criterion/criterion.h>
#include <sqlite3.h>

#include "tests/unit/storage/power_disk.h"

struct handle {
    sqlite3_file base;
    struct power_file *file; /* NULL: not on the disk */
    bool syncs_folder;       /* with its next sync */
    sqlite3_file *real;      /* behind this struct */
};

static sqlite3_vfs *own; /* SQLite's */

static sqlite3_file *real_of(sqlite3_file *file)
{
    return ((struct handle *)file)->real;
}

static int handle_close(sqlite3_file *file)
{
    return real_of(file)->pMethods->xClose(real_of(file));
}

static int handle_read(sqlite3_file *file, void *out, int size, sqlite3_int64 at)
{
    return real_of(file)->pMethods->xRead(real_of(file), out, size, at);
}

static int handle_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 at)
{
    int code = real_of(file)->pMethods->xWrite(real_of(file), bytes, size, at);
    if (code == SQLITE_OK)
        power_disk_wrote(((struct handle *)file)->file, bytes, (size_t)size, at);
    return code;
}

static int handle_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    int code = real_of(file)->pMethods->xTruncate(real_of(file), size);
    if (code == SQLITE_OK)
        power_disk_wrote(((struct handle *)file)->file, NULL, (size_t)size, 0);
    return code;
}

static int handle_sync(sqlite3_file *file, int flags)
{
    struct handle *handle = (struct handle *)file;
    (void)flags;
    power_disk_synced(handle->file);
    if (handle->file && handle->syncs_folder)
        power_disk_folder_synced();
    handle->syncs_folder = false;
    return SQLITE_OK;
}

static int handle_size(sqlite3_file *file, sqlite3_int64 *out)
{
    return real_of(file)->pMethods->xFileSize(real_of(file), out);
}

static int handle_lock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int handle_unlock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int handle_reserved(sqlite3_file *file, int *out)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), out);
}

static int handle_control(sqlite3_file *file, int operation, void *argument)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), operation, argument);
}

static int handle_sector(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int handle_traits(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int handle_shared_map(sqlite3_file *file, int page, int size, int extend,
                             void volatile **out)
{
    return real_of(file)->pMethods->xShmMap(real_of(file), page, size, extend, out);
}

static int handle_shared_lock(sqlite3_file *file, int offset, int count, int flags)
{
    return real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
}

static void handle_shared_barrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int handle_shared_unmap(sqlite3_file *file, int delete_it)
{
    return real_of(file)->pMethods->xShmUnmap(real_of(file), delete_it);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = handle_close,
    .xRead = handle_read,
    .xWrite = handle_write,
    .xTruncate = handle_truncate,
    .xSync = handle_sync,
    .xFileSize = handle_size,
    .xLock = handle_lock,
    .xUnlock = handle_unlock,
    .xCheckReservedLock = handle_reserved,
    .xFileControl = handle_control,
    .xSectorSize = handle_sector,
    .xDeviceCharacteristics = handle_traits,
    .xShmMap = handle_shared_map,
    .xShmLock = handle_shared_lock,
    .xShmBarrier = handle_shared_barrier,
    .xShmUnmap = handle_shared_unmap,
};

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                    int *out_flags)
{
    const int logs = SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL;
    struct handle *handle = (struct handle *)file;
    (void)vfs;
    *handle = (struct handle){.real = (sqlite3_file *)(handle + 1)};
    int code = own->xOpen(own, name, handle->real, flags, out_flags);
    if (code != SQLITE_OK)
        return code;
    handle->base.pMethods = &methods;
    handle->file = power_disk_file(name);
    handle->syncs_folder = (flags & logs) != 0 && (flags & SQLITE_OPEN_CREATE) != 0;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync_folder)
{
    (void)vfs;
    int code = own->xDelete(own, name, 0);
    if (code == SQLITE_OK)
        power_disk_removed(name);
    if (code == SQLITE_OK && sync_folder)
        power_disk_folder_synced();
    return code;
}

/* What SQLite draws (salts of its log) is the same in every run. */
static int vfs_randomness(sqlite3_vfs *vfs, int size, char *out)
{
    (void)vfs;
    for (int i = 0; i < size; i++)
        out[i] = (char)(i * 89 + 17);
    return size;
}

void power_vfs_use(void)
{
    static sqlite3_vfs ours;
    if (own)
        return;
    cr_assert_eq(sqlite3_initialize(), SQLITE_OK);
    own = sqlite3_vfs_find(NULL);
    ours = *own; /* what has to do with no file */
    ours.zName = "power";
    ours.pNext = NULL;
    ours.szOsFile = (int)sizeof(struct handle) + own->szOsFile;
    ours.xOpen = vfs_open;
    ours.xDelete = vfs_delete;
    ours.xRandomness = vfs_randomness;
    cr_assert_eq(sqlite3_vfs_register(&ours, 1), SQLITE_OK);
}
