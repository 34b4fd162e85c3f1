/* DESIGN. No single thing ends every program on every system without privileges:
 *
 * - In a namespace of processes the first one takes all others with it, at once and for certain.
 *   Systems may forbid such namespaces, containers often do.
 * - Everywhere, the warden is the parent of whatever loses its parent (PR_SET_CHILD_SUBREAPER), so
 *   its descendants can be found in /proc, and it knows that none is left when it has no child.
 *
 * So both are done. Processes are counted in /proc, because RLIMIT_NPROC counts all processes of a
 * user and does not bind root. */
#include "programs/warden.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "programs/descent.h"
#include "programs/limited.h"
#include "programs/sealed.h"

#define COUNT_EVERY_MS        250
#define COUNT_EVERY_MS_SEALED 100
#define CONTROL               3
#define SOURCE                4

/* ---- namespaces */

static bool warden_write(const char *path, const char *text, size_t size)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    bool written = file >= 0 && write(file, text, size) == (ssize_t)size;
    if (file >= 0)
        close(file);
    return written;
}

/* A stranger's program has no part in what root may do. */
static bool warden_leave_root(void)
{
    return geteuid() != 0 ||
           (setgroups(0, NULL) == 0 && setresgid(SEALED_USER, SEALED_USER, SEALED_USER) == 0 &&
            setresuid(SEALED_USER, SEALED_USER, SEALED_USER) == 0 &&
            prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0); /* or its files in /proc stay root's */
}

/* The caller's next child is the first of its namespace; its user stays who it is. */
static bool warden_move_apart(bool network)
{
    char user[64], group[64];
    int user_size = snprintf(user, sizeof user, "%u %u 1", geteuid(), geteuid());
    int group_size = snprintf(group, sizeof group, "%u %u 1", getegid(), getegid());
    int flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWIPC;
    if (!network)
        flags |= CLONE_NEWNET;
    return unshare(flags) == 0 && warden_write("/proc/self/setgroups", "deny", 4) &&
           warden_write("/proc/self/uid_map", user, (size_t)user_size) &&
           warden_write("/proc/self/gid_map", group, (size_t)group_size);
}

/* The same for a program that is to be sealed. Where /proc hides the processes of others (hidepid),
 * it would hide this program's too, and nobody could count them. */
static bool warden_move_far(void)
{
    return warden_leave_root() && warden_move_apart(false) && unshare(CLONE_NEWUTS) == 0 &&
           access("/proc/1/stat", R_OK) == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
}

bool warden_has_namespaces(void)
{
    int status = 1;
    signal(SIGCHLD, SIG_DFL);
    pid_t pid = fork();
    if (pid == 0) {
        pid_t first = -1;
        int code = 1;
        if (warden_move_apart(false))
            first = fork();
        if (first == 0)
            _exit(0);
        if (first > 0)
            waitpid(first, &code, 0);
        _exit(code == 0 ? 0 : 1);
    }
    if (pid > 0)
        waitpid(pid, &status, 0);
    signal(SIGCHLD, SIG_IGN);
    return status == 0;
}

/* ---- the program */

static void warden_say(char byte)
{
    ssize_t ignored =
        write(CONTROL, &byte, 1); /* SIGPIPE is ignored, and a call that is permitted */
    (void)ignored;
}

static _Noreturn void warden_refuse(void)
{
    warden_say(WARDEN_REFUSED);
    _exit(1);
}

/* The first process of a namespace: parent of orphans until there are none. */
static _Noreturn void warden_be_first(const char *command, const struct program_limits *limits)
{
    signal(SIGCHLD, SIG_DFL);
    if (limits->sealed) {
        limited_volunteer();
        if (!sealed_enter(limits, SOURCE))
            warden_refuse();
        warden_say(WARDEN_STARTED);
    }
    pid_t pid = fork();
    if (pid == 0)
        limited_run(command, limits);
    for (int i = 0; i <= SOURCE; i++)
        close(i);
    while (pid > 0 && wait(NULL) > 0)
        continue;
    _exit(0);
}

static pid_t warden_start(const char *command, const struct program_limits *limits, bool namespaces)
{
    if (limits->sealed && (!namespaces || !warden_move_far()))
        warden_refuse();
    if (!limits->sealed && namespaces && !warden_move_apart(limits->network))
        return -1;
    pid_t pid = fork();
    if (pid == 0 && namespaces)
        warden_be_first(command, limits);
    if (pid == 0)
        limited_run(command, limits);
    return pid;
}

/* ---- its end */

/* Returns when there is no descendant. FIRST (pidfd_open; -1: it has ended) is killed even where
 * /proc does not show it, and takes its namespace with it. SIGCHLD is ignored, so the kernel may
 * have given its number to another process. */
static void warden_kill_all(struct descent *descent, int first)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    if (first >= 0)
        pidfd_send_signal(first, SIGKILL, NULL, 0);
    while (waitpid(-1, NULL, WNOHANG) >= 0) {
        descent_find(descent);
        for (size_t i = 0; i < descent->count; i++)
            kill(descent->pid[i], SIGKILL);
        nanosleep(&pause, NULL);
    }
}

/* Waits until the control ends, or there are more processes than the limit, or more memory. What
 * /proc does not show is over every limit. */
static void warden_watch(struct descent *descent, const struct program_limits *limits,
                         bool namespaces)
{
    struct pollfd control = {.fd = CONTROL, .events = POLLIN};
    /* The first of a namespace is not the program's. */
    uint64_t processes = limits->processes > 0 ? limits->processes + namespaces : UINT64_MAX;
    uint64_t memory = UINT64_MAX;
    if (limits->sealed && limits->memory_bytes > 0)
        memory = limits->memory_bytes;
    int every_ms = limits->sealed ? COUNT_EVERY_MS_SEALED : COUNT_EVERY_MS;
    bool counts = processes < UINT64_MAX || memory < UINT64_MAX;
    while (poll(&control, 1, counts ? every_ms : -1) <= 0) {
        if (!counts)
            continue;
        descent_find(descent);
        if (descent->count == 0 || descent->threads > processes || descent->memory_bytes > memory)
            return;
    }
}

/* Puts ENDS at 0, 1, 2, CONTROL and SOURCE, and closes all others. They come from a keeper, in
 * which lower descriptors are open: none of ENDS is below CONTROL. */
static void warden_place(const int ends[WARDEN_ENDS])
{
    int lifted[WARDEN_ENDS];
    int count = ends[SOURCE] < 0 ? SOURCE : WARDEN_ENDS;
    for (int i = 0; i < count; i++)
        lifted[i] = fcntl(ends[i], F_DUPFD, 16);
    for (int i = 0; i < count; i++)
        dup2(lifted[i], i);
    closefrom(count);
}

_Noreturn void warden_run(const char *command, const struct program_limits *limits,
                          const int ends[WARDEN_ENDS], bool namespaces)
{
    struct descent descent;
    prctl(PR_SET_NAME, "tacet-warden");
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    warden_place(ends);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
        _exit(1);
    descent_open(&descent);
    pid_t pid = warden_start(command, limits, namespaces);
    if (pid > 0) {
        int first = pidfd_open(pid, 0);
        for (int i = 0; i < CONTROL; i++)
            close(i);
        if (limits->sealed)
            close(SOURCE);
        else /* otherwise the first of the namespace says so */
            warden_say(WARDEN_STARTED);
        warden_watch(&descent, limits, namespaces);
        warden_kill_all(&descent, first);
    }
    _exit(0);
}
