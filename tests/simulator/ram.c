#include "tests/simulator/ram.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/simulator/quick.h"

#define RAM_FILES       32
#define RAM_DESCRIPTORS 1024
#define RAM_ROOM        (256u << 20) /* bytes of address space for each; it never moves */

struct ram_file {
    ino_t inode;          /* all files are in one file system; 0: unused */
    unsigned char *bytes; /* kept for the next file when this one is forgotten */
    size_t size;
};

static struct {
    struct ram_file files[RAM_FILES];
    struct ram_file *open[RAM_DESCRIPTORS]; /* by descriptor */
} ram;

static struct ram_file *ram_find(ino_t inode)
{
    for (int i = 0; i < RAM_FILES; i++)
        if (ram.files[i].inode == inode)
            return &ram.files[i];
    return NULL;
}

static struct ram_file *ram_add(ino_t inode)
{
    struct ram_file *file = ram_find(inode);
    if (file)
        return file;
    file = ram_find(0);
    assert(file);
    if (!file->bytes) {
        file->bytes = mmap(NULL, RAM_ROOM, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        assert(file->bytes != MAP_FAILED);
    }
    file->inode = inode;
    return file;
}

static struct ram_file *ram_at(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? ram_find(info.st_ino) : NULL;
}

static void ram_resize(struct ram_file *file, size_t size)
{
    assert(size <= RAM_ROOM);
    if (size > file->size)
        memset(file->bytes + file->size, 0, size - file->size);
    file->size = size;
}

bool ram_copy(const char *from, const char *to)
{
    struct stat info;
    const struct ram_file *source = ram_at(from);
    if (!source)
        return true; /* not a file of SQLite's */
    if (stat(to, &info) != 0)
        return false;
    struct ram_file *target = ram_add(info.st_ino);
    ram_resize(target, source->size);
    memcpy(target->bytes, source->bytes, source->size);
    return true;
}

unsigned char *ram_bytes(const char *path, size_t *out_size)
{
    const struct ram_file *file = ram_at(path);
    *out_size = file ? file->size : 0;
    return file ? file->bytes : NULL;
}

void ram_cut(const char *path, size_t size)
{
    struct ram_file *file = ram_at(path);
    assert(file && size <= file->size);
    ram_resize(file, size);
}

void ram_forget(const char *path)
{
    struct ram_file *file = ram_at(path);
    if (!file)
        return;
    ram_resize(file, 0);
    file->inode = 0;
}

unsigned ram_count(void)
{
    unsigned count = 0;
    for (int i = 0; i < RAM_FILES; i++)
        count += ram.files[i].inode != 0;
    return count;
}

/* ---- the system's calls, as SQLite's VFS makes them */

static int ram_open(const char *path, int flags, int mode)
{
    struct stat info;
    int descriptor = open(path, flags, mode);
    if (descriptor < 0)
        return descriptor;
    assert(descriptor < RAM_DESCRIPTORS);
    bool regular = fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode);
    ram.open[descriptor] = regular ? ram_add(info.st_ino) : NULL;
    /* Who looks at the file itself must not take it for a new one. */
    if (regular && info.st_size == 0 && pwrite(descriptor, "", 1, 0) != 1)
        return -1;
    return descriptor;
}

static int ram_close(int descriptor)
{
    ram.open[descriptor] = NULL;
    return close(descriptor);
}

static int ram_unlink(const char *path)
{
    ram_forget(path);
    return unlink(path);
}

static int ram_stat(const char *path, struct stat *out)
{
    int code = stat(path, out);
    const struct ram_file *file = code == 0 ? ram_find(out->st_ino) : NULL;
    if (file)
        out->st_size = (off_t)file->size;
    return code;
}

static int ram_fstat(int descriptor, struct stat *out)
{
    int code = fstat(descriptor, out);
    if (code == 0 && ram.open[descriptor])
        out->st_size = (off_t)ram.open[descriptor]->size;
    return code;
}

static int ram_truncate(int descriptor, off_t size)
{
    ram_resize(ram.open[descriptor], (size_t)size);
    return 0;
}

static ssize_t ram_read(int descriptor, void *out, size_t size, off_t at)
{
    const struct ram_file *file = ram.open[descriptor];
    if ((size_t)at >= file->size)
        return 0;
    size_t left = file->size - (size_t)at;
    size = size < left ? size : left;
    memcpy(out, file->bytes + at, size);
    return (ssize_t)size;
}

static ssize_t ram_write(int descriptor, const void *bytes, size_t size, off_t at)
{
    struct ram_file *file = ram.open[descriptor];
    if ((size_t)at > file->size)
        ram_resize(file, (size_t)at);
    assert((size_t)at + size <= RAM_ROOM);
    memcpy(file->bytes + at, bytes, size);
    if ((size_t)at + size > file->size)
        file->size = (size_t)at + size;
    return (ssize_t)size;
}

static int ram_lock(int descriptor, int command, ...)
{
    va_list arguments;
    (void)descriptor;
    assert(command == F_SETLK || command == F_GETLK);
    va_start(arguments, command);
    struct flock *lock = va_arg(arguments, struct flock *);
    if (command == F_GETLK)
        lock->l_type = F_UNLCK;
    va_end(arguments);
    return 0;
}

/* The log's index, which all connections share. */
static void *ram_map(void *near, size_t size, int protection, int flags, int descriptor, off_t at)
{
    (void)near;
    (void)protection;
    (void)flags;
    assert((size_t)at + size <= ram.open[descriptor]->size);
    return ram.open[descriptor]->bytes + at;
}

static int ram_unmap(void *bytes, size_t size)
{
    (void)bytes;
    (void)size;
    return 0;
}

void ram_use(void)
{
    static const struct {
        const char *name;
        sqlite3_syscall_ptr call;
    } calls[] = {
        {"open", (sqlite3_syscall_ptr)ram_open},
        {"close", (sqlite3_syscall_ptr)ram_close},
        {"unlink", (sqlite3_syscall_ptr)ram_unlink},
        {"stat", (sqlite3_syscall_ptr)ram_stat},
        {"fstat", (sqlite3_syscall_ptr)ram_fstat},
        {"fcntl", (sqlite3_syscall_ptr)ram_lock},
        {"ftruncate", (sqlite3_syscall_ptr)ram_truncate},
        {"pread", (sqlite3_syscall_ptr)ram_read},
        {"pread64", (sqlite3_syscall_ptr)ram_read},
        {"pwrite", (sqlite3_syscall_ptr)ram_write},
        {"pwrite64", (sqlite3_syscall_ptr)ram_write},
        {"mmap", (sqlite3_syscall_ptr)ram_map},
        {"munmap", (sqlite3_syscall_ptr)ram_unmap},
    };
    (void)sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); /* as driver_sqlite.c; here it is in time */
    quick_memory();
    sqlite3_vfs *vfs = sqlite3_vfs_find("unix");
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        int code = vfs->xSetSystemCall(vfs, calls[i].name, calls[i].call);
        assert(code == SQLITE_OK);
        (void)code;
    }
}
