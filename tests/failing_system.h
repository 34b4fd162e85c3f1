/* The orders that tests/failing_system.c takes. */
#ifndef TACET_TESTS_FAILING_SYSTEM_H
#define TACET_TESTS_FAILING_SYSTEM_H

#include <stdatomic.h>

/* Calls that fail alike count together. */
enum failing_call {
    FAILING_NONE,
    FAILING_SYNC,     /* fsync, fdatasync */
    FAILING_PWRITE,   /* pwrite: the database's files */
    FAILING_WRITE,    /* write: the log */
    FAILING_READ,     /* read, pread */
    FAILING_OPEN,     /* open */
    FAILING_TRUNCATE, /* ftruncate */
    FAILING_MAP,      /* mmap */
    FAILING_RANDOM,   /* getrandom */
    FAILING_PIPE,     /* eventfd, pipe2 */
    FAILING_SEND,     /* send, sendmsg, writev */
    FAILING_RECEIVE,  /* recv */
    FAILING_ACCEPT,   /* accept4 */
    FAILING_WAIT,     /* poll, epoll_wait */
    FAILING_THREAD,   /* pthread_create */
    FAILING_NAME,     /* rename, renameat, link, unlink, mkdir */
    FAILING_LOOK,     /* stat, fstat, statvfs */
    FAILING_LOCK,     /* fcntl and flock, where they take a lock */
    FAILING_SHORT,    /* pwrite, write: half of the bytes are written, and it says so */
    FAILING_CALLS
};

struct failing_system {
    atomic_int call;       /* which fails; FAILING_NONE: none */
    atomic_int left;       /* calls to the one that fails */
    atomic_int stays;      /* all later ones fail, too */
    atomic_int in_jobs;    /* those of the threads that run jobs count alone */
    atomic_int error;      /* errno */
    atomic_int failures;   /* so many failed */
    atomic_llong ahead_ms; /* of the true time is the server's clock */
};

#endif
