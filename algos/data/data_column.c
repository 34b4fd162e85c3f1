/* A file has no name from the start and gets none (O_TMPFILE, O_EXCL): nobody else can open it, and
 * nothing is left of it after a crash. It is mapped, so that the system keeps in memory what is
 * asked for often and drops the rest when memory is short. */
#include "algos/data/data_column.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "memory/wipe.h"

/* The mapping of COLUMN with SIZE bytes, or MAP_FAILED. */
static void *data_column_map(const struct data_column *column, size_t size)
{
    if (column->items)
        return mremap(column->items, column->size, size, MREMAP_MAYMOVE);
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, column->file, 0);
}

static bool file_resize(struct data_column *column, size_t size)
{
    if (!column->items)
        column->file =
            open(column->directory, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (column->file < 0)
        return false;
    void *items = MAP_FAILED;
    size_t had = column->size;
    if (size <= had || posix_fallocate(column->file, (off_t)had, (off_t)(size - had)) == 0)
        items = data_column_map(column, size);
    if (items == MAP_FAILED) {
        if (!column->items)
            close(column->file);
        return false;
    }
    column->items = items;
    column->size = size;
    if (size < had) /* where this fails, room is wasted, no more */
        (void)!ftruncate(column->file, (off_t)size);
    return true;
}

bool data_column_resize(struct data_column *column, size_t size)
{
    size = size > 0 ? size : 1;
    if (column->directory)
        return file_resize(column, size);
    void *items = wipe_resize(column->items, size);
    if (!items)
        return false;
    column->items = items;
    column->size = size;
    return true;
}

bool data_column_store(const struct data_column *column)
{
    return !column->directory || !column->items || msync(column->items, column->size, MS_SYNC) == 0;
}

bool data_columns_have_room(const char *directory, uint64_t bytes)
{
    struct statvfs disk;
    if (statvfs(directory, &disk) != 0)
        return false;
    uint64_t room = (uint64_t)disk.f_bavail * disk.f_frsize;
    return room >= DATA_COLUMNS_SPARE && bytes <= room - DATA_COLUMNS_SPARE;
}

void data_column_free(struct data_column *column)
{
    if (column->directory && column->items) {
        munmap(column->items, column->size);
        close(column->file);
    } else {
        wipe_free(column->items);
    }
    *column = (struct data_column){.directory = column->directory};
}
