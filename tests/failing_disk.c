/* A disk that fails when it is told to: preloaded into a server (LD_PRELOAD), it stands between the
 * program and the files of its database.
 *
 * $FAILING_DISK is the path of a file whose first word is the order of the hour; without the file
 * all goes well:
 *
 *   sync            fsync and fdatasync of the write-ahead log fail with EIO
 *   sync-database   those of the database itself do
 *   hold            syncs of the log do not return before another order is given
 *   write           writes to the log fail with EIO, the first half of each having reached it
 *   full            the same with ENOSPC
 *   full-columns    no file gets room ahead (posix_fallocate): those of a job's data
 *
 * A sync that fails may have lost everything that was written since the last good one, though this
 * machine's page cache still shows it. So the lowest offset of the log that was not synced then is
 * written to $FAILING_DISK.lost: who cuts the log there after the server's end sees what a machine
 * would see that has lost its power. (The log must not have begun anew in between.) */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define NOTHING INT64_MAX
/* Long enough for a reply to arrive that did not wait for its sync. */
#define FAILING_TAKES_US 50000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t unsynced = NOTHING; /* the lowest offset of the log that was written since a sync */

static bool ends_with(int fd, const char *ending)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    size_t wanted = strlen(ending);
    return length >= (ssize_t)wanted &&
           memcmp(path + length - (ssize_t)wanted, ending, wanted) == 0;
}

static bool ordered(const char *order)
{
    const char *path = getenv("FAILING_DISK");
    char word[32] = "";
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, word, sizeof word - 1);
    close(fd);
    word[n > 0 ? n : 0] = '\0';
    word[strcspn(word, "\n")] = '\0';
    return strcmp(word, order) == 0;
}

/* Under the lock. */
static void tell_what_is_lost(void)
{
    char path[4096], number[32];
    const char *orders = getenv("FAILING_DISK");
    if (orders == NULL || unsynced == NOTHING)
        return;
    snprintf(path, sizeof path, "%s.lost", orders);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int length = snprintf(number, sizeof number, "%lld\n", (long long)unsynced);
    if (fd < 0 || write(fd, number, (size_t)length) != length)
        abort();
    close(fd);
}

static int sync_log(int fd, int (*real)(int))
{
    while (ordered("hold"))
        usleep(1000);
    pthread_mutex_lock(&lock);
    int64_t from = unsynced;
    unsynced = NOTHING;
    pthread_mutex_unlock(&lock);
    /* With nothing to write there is nothing to fail at. */
    bool fails = from != NOTHING && ordered("sync");
    if (fails)
        usleep(FAILING_TAKES_US);
    int result = fails ? -1 : real(fd);
    if (result == 0)
        return 0;
    int code = fails ? EIO : errno;
    pthread_mutex_lock(&lock);
    unsynced = from < unsynced ? from : unsynced;
    tell_what_is_lost();
    pthread_mutex_unlock(&lock);
    errno = code;
    return -1;
}

static int sync_file(int fd, const char *name)
{
    /* A cast by way of an integer: C knows no pointers to functions in void *. */
    int (*real)(int) = (int (*)(int))(uintptr_t)dlsym(RTLD_NEXT, name);
    if (real == NULL)
        abort();
    if (ends_with(fd, "-wal"))
        return sync_log(fd, real);
    if (ends_with(fd, ".db") && ordered("sync-database")) {
        errno = EIO;
        return -1;
    }
    return real(fd);
}

static ssize_t write_file(int fd, const void *bytes, size_t count, off_t at, const char *name)
{
    typedef ssize_t write_fn(int, const void *, size_t, off_t);
    write_fn *real = (write_fn *)(uintptr_t)dlsym(RTLD_NEXT, name);
    if (real == NULL)
        abort();
    if (!ends_with(fd, "-wal"))
        return real(fd, bytes, count, at);
    pthread_mutex_lock(&lock);
    unsynced = at < unsynced ? at : unsynced;
    pthread_mutex_unlock(&lock);
    int code = ordered("write") ? EIO : ordered("full") ? ENOSPC : 0;
    if (code == 0)
        return real(fd, bytes, count, at);
    (void)real(fd, bytes, count / 2, at);
    errno = code;
    return -1;
}

/* The names of libc that are stood in for. */
int fsync(int fd)
{
    return sync_file(fd, "fsync");
}

int fdatasync(int fd)
{
    return sync_file(fd, "fdatasync");
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at)
{
    return write_file(fd, bytes, count, at, "pwrite");
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t at)
{
    return write_file(fd, bytes, count, at, "pwrite64");
}

static int take_room(int fd, off_t at, off_t size, const char *name)
{
    typedef int room_fn(int, off_t, off_t);
    room_fn *real = (room_fn *)(uintptr_t)dlsym(RTLD_NEXT, name);
    if (real == NULL)
        abort();
    return ordered("full-columns") ? ENOSPC : real(fd, at, size);
}

int posix_fallocate(int fd, off_t at, off_t size)
{
    return take_room(fd, at, size, "posix_fallocate");
}

int posix_fallocate64(int fd, off_t at, off_t size)
{
    return take_room(fd, at, size, "posix_fallocate64");
}
