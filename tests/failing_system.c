/* System calls that fail when they are told to: preloaded into a server (LD_PRELOAD), it stands
 * between the program, with its libraries, and libc.
 *
 * $FAILING_SYSTEM is the path of a file that holds a struct failing_system. It is shared memory of
 * the server and of who gives the orders, so that an order is no system call itself. */
#include "tests/failing_system.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static struct failing_system *orders;
static _Thread_local bool runs_jobs;

/* Straight to the system, because the names of libc are this file's. */
__attribute__((constructor)) static void system_begin(void)
{
    const char *path = getenv("FAILING_SYSTEM");
    long file = path ? syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    void *map = (void *)syscall(SYS_mmap, NULL, sizeof *orders, PROT_READ | PROT_WRITE, MAP_SHARED,
                                file, 0);
    syscall(SYS_close, file);
    if (map != MAP_FAILED)
        orders = map;
}

/* True: this call of NAME fails, and errno says why. */
static bool system_fails(enum failing_call name)
{
    if (!orders || atomic_load(&orders->call) != (int)name)
        return false;
    if (atomic_load(&orders->in_jobs) && !runs_jobs)
        return false;
    if (atomic_fetch_sub(&orders->left, 1) > 0)
        return false;
    bool first = atomic_fetch_add(&orders->failures, 1) == 0;
    if (!first && !atomic_load(&orders->stays)) {
        atomic_fetch_sub(&orders->failures, 1);
        return false;
    }
    errno = atomic_load(&orders->error);
    return true;
}

/* A cast by way of an integer: C knows no pointers to functions in void *. */
#define REAL(type, name) ((type)(uintptr_t)dlsym(RTLD_NEXT, name))

/* The function NAME of libc, which fails as CALL with BAD. */
#define STAND_IN(type, name, parameters, arguments, call, bad)                                     \
    type name parameters                                                                           \
    {                                                                                              \
        typedef type real_fn parameters;                                                           \
        static real_fn *real;                                                                      \
        if (!real)                                                                                 \
            real = REAL(real_fn *, #name);                                                         \
        return system_fails(call) ? bad : real arguments;                                          \
    }

STAND_IN(int, fsync, (int fd), (fd), FAILING_SYNC, -1)
STAND_IN(int, rename, (const char *from, const char *to), (from, to), FAILING_NAME, -1)
STAND_IN(int, renameat, (int old, const char *from, int new, const char *to), (old, from, new, to),
         FAILING_NAME, -1)
STAND_IN(int, link, (const char *from, const char *to), (from, to), FAILING_NAME, -1)
STAND_IN(int, unlink, (const char *path), (path), FAILING_NAME, -1)
STAND_IN(int, mkdir, (const char *path, mode_t mode), (path, mode), FAILING_NAME, -1)
STAND_IN(int, stat, (const char *path, struct stat *out), (path, out), FAILING_LOOK, -1)
STAND_IN(int, fstat, (int fd, struct stat *out), (fd, out), FAILING_LOOK, -1)
STAND_IN(int, stat64, (const char *path, struct stat64 *out), (path, out), FAILING_LOOK, -1)
STAND_IN(int, fstat64, (int fd, struct stat64 *out), (fd, out), FAILING_LOOK, -1)
STAND_IN(int, statvfs, (const char *path, struct statvfs *out), (path, out), FAILING_LOOK, -1)
STAND_IN(int, flock, (int fd, int how), (fd, how), FAILING_LOCK, -1) /* nobody unlocks by it */

/* A write of N bytes by CALL: it fails, or is of half of them, or as asked. */
static size_t written(enum failing_call call, size_t n)
{
    if (system_fails(call))
        return 0;
    return n > 1 && system_fails(FAILING_SHORT) ? n / 2 : n;
}

#define STAND_IN_PWRITE(name)                                                                      \
    ssize_t name(int fd, const void *b, size_t n, off_t at)                                        \
    {                                                                                              \
        typedef ssize_t real_fn(int, const void *, size_t, off_t);                                 \
        real_fn *real = REAL(real_fn *, #name);                                                    \
        size_t most = written(FAILING_PWRITE, n);                                                  \
        return most == 0 && n > 0 ? -1 : real(fd, b, most, at);                                    \
    }

STAND_IN_PWRITE(pwrite)
STAND_IN_PWRITE(pwrite64)

ssize_t write(int fd, const void *b, size_t n)
{
    typedef ssize_t real_fn(int, const void *, size_t);
    real_fn *real = REAL(real_fn *, "write");
    size_t most = written(FAILING_WRITE, n);
    return most == 0 && n > 0 ? -1 : real(fd, b, most);
}

#define STAND_IN_FCNTL(name)                                                                       \
    int name(int fd, int what, ...)                                                                \
    {                                                                                              \
        typedef int real_fn(int, int, ...);                                                        \
        real_fn *real = REAL(real_fn *, #name);                                                    \
        va_list rest;                                                                              \
        va_start(rest, what);                                                                      \
        void *with = va_arg(rest, void *);                                                         \
        va_end(rest);                                                                              \
        bool locks = (what == F_SETLK || what == F_SETLKW) &&                                      \
                     ((const struct flock *)with)->l_type != F_UNLCK;                              \
        return locks && system_fails(FAILING_LOCK) ? -1 : real(fd, what, with);                    \
    }

STAND_IN_FCNTL(fcntl)
STAND_IN_FCNTL(fcntl64)

STAND_IN(ssize_t, pread, (int fd, void *b, size_t n, off_t at), (fd, b, n, at), FAILING_READ, -1)
STAND_IN(ssize_t, pread64, (int fd, void *b, size_t n, off_t at), (fd, b, n, at), FAILING_READ, -1)
STAND_IN(ssize_t, read, (int fd, void *b, size_t n), (fd, b, n), FAILING_READ, -1)
STAND_IN(int, ftruncate, (int fd, off_t size), (fd, size), FAILING_TRUNCATE, -1)
STAND_IN(int, ftruncate64, (int fd, off_t size), (fd, size), FAILING_TRUNCATE, -1)
STAND_IN(void *, mmap, (void *to, size_t n, int may, int flags, int fd, off_t at),
         (to, n, may, flags, fd, at), FAILING_MAP, MAP_FAILED)
STAND_IN(void *, mmap64, (void *to, size_t n, int may, int flags, int fd, off_t at),
         (to, n, may, flags, fd, at), FAILING_MAP, MAP_FAILED)
STAND_IN(ssize_t, getrandom, (void *b, size_t n, unsigned flags), (b, n, flags), FAILING_RANDOM, -1)
STAND_IN(int, eventfd, (unsigned value, int flags), (value, flags), FAILING_PIPE, -1)
STAND_IN(int, pipe2, (int ends[2], int flags), (ends, flags), FAILING_PIPE, -1)
STAND_IN(ssize_t, send, (int fd, const void *b, size_t n, int flags), (fd, b, n, flags),
         FAILING_SEND, -1)
STAND_IN(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags),
         FAILING_SEND, -1)
STAND_IN(ssize_t, writev, (int fd, const struct iovec *parts, int n), (fd, parts, n), FAILING_SEND,
         -1)
STAND_IN(ssize_t, recv, (int fd, void *b, size_t n, int flags), (fd, b, n, flags), FAILING_RECEIVE,
         -1)
STAND_IN(int, accept4, (int fd, struct sockaddr *from, socklen_t *size, int flags),
         (fd, from, size, flags), FAILING_ACCEPT, -1)
STAND_IN(int, poll, (struct pollfd * fds, nfds_t n, int ms), (fds, n, ms), FAILING_WAIT, -1)
STAND_IN(int, epoll_wait, (int fd, struct epoll_event *events, int n, int ms), (fd, events, n, ms),
         FAILING_WAIT, -1)

/* SQLite goes on where it cannot sync a folder, which the product has synced before. */
int fdatasync(int fd)
{
    typedef int real_fn(int);
    typedef int look_fn(int, struct stat *);
    struct stat info;
    real_fn *real = REAL(real_fn *, "fdatasync");
    bool folder = REAL(look_fn *, "fstat")(fd, &info) == 0 && S_ISDIR(info.st_mode);
    return !folder && system_fails(FAILING_SYNC) ? -1 : real(fd);
}

int pthread_create(pthread_t *out, const pthread_attr_t *how, void *(*run)(void *), void *with)
{
    typedef int real_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    real_fn *real = REAL(real_fn *, "pthread_create");
    return system_fails(FAILING_THREAD) ? errno : real(out, how, run, with);
}

/* Workers, and who helps them, alone are of SCHED_BATCH. All threads keep their priority, so that a
 * busy machine lets them run. */
long syscall(long number, ...)
{
    typedef long real_fn(long, long, long, long, long, long, long);
    static real_fn *real;
    long value[6];
    va_list values;
    va_start(values, number);
    for (int i = 0; i < 6; i++)
        value[i] = va_arg(values, long);
    va_end(values);
    if (number == SYS_sched_setattr) {
        const uint32_t *attributes = (const uint32_t *)value[1]; /* size, policy */
        runs_jobs = runs_jobs || attributes[1] == SCHED_BATCH;
        return 0;
    }
    if (!real)
        real = REAL(real_fn *, "syscall");
    return real(number, value[0], value[1], value[2], value[3], value[4], value[5]);
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
    typedef int real_fn(clockid_t, struct timespec *);
    static real_fn *real;
    if (!real)
        real = REAL(real_fn *, "clock_gettime");
    int code = real(clock, out);
    if (!orders || clock != CLOCK_REALTIME)
        return code;
    long long ahead_ms = atomic_load(&orders->ahead_ms);
    long long ns = out->tv_nsec + ahead_ms % 1000 * 1000000;
    out->tv_sec += (time_t)(ahead_ms / 1000 + ns / 1000000000);
    out->tv_nsec = (long)(ns % 1000000000);
    return code;
}

/* A job that waits lets the clock go on instead. */
int nanosleep(const struct timespec *span, struct timespec *left)
{
    typedef int real_fn(const struct timespec *, struct timespec *);
    if (!orders || !runs_jobs)
        return REAL(real_fn *, "nanosleep")(span, left);
    atomic_fetch_add(&orders->ahead_ms, span->tv_sec * 1000LL + span->tv_nsec / 1000000);
    return 0;
}

/* The mode is there with O_CREAT and O_TMPFILE alone, but may be read always. */
#define STAND_IN_OPEN(name)                                                                        \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        typedef int real_fn(const char *, int, ...);                                               \
        real_fn *real = REAL(real_fn *, #name);                                                    \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        int mode = va_arg(rest, int);                                                              \
        va_end(rest);                                                                              \
        return system_fails(FAILING_OPEN) ? -1 : real(path, flags, mode);                          \
    }

STAND_IN_OPEN(open)
STAND_IN_OPEN(open64)
