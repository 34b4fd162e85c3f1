/* Starting and ending.
 *
 * DESIGN. posix_spawn, because a fork of a server with many threads would copy their locks as they
 * happen to be. What posix_spawn cannot set, a line of shell does before it hands over to COMMAND:
 * limits, and the wish to be the first victim of a machine out of memory. All descriptors above the
 * three pipes are closed in the child whatever their flags, so that neither the database nor a
 * socket nor another child's pipe gets there. Signals are as in a fresh process. */
#include "programs/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DESCRIPTORS_MAX                                                                            \
    1024             /* of a child; the server's own limit would be too much for select()          \
                      */
#define REAP_MS 5000 /* a killed process that takes longer hangs in the kernel: left alone */

/* ---- pipes */

struct pipes {
    int ends[3][2]; /* of standard input, output and error: for reading, for writing */
};

static void close_both(int ends[2])
{
    for (int k = 0; k < 2; k++) {
        if (ends[k] >= 0)
            close(ends[k]);
        ends[k] = -1;
    }
}

static void close_pipes(struct pipes *pipes)
{
    for (int i = 0; i < 3; i++)
        close_both(pipes->ends[i]);
}

/* Makes a pipe whose ends are above standard error, because dup2 in the child is for 0, 1 and 2. */
static bool make_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) != 0) {
        ends[0] = ends[1] = -1;
        return false;
    }
    for (int k = 0; k < 2; k++) {
        if (ends[k] > STDERR_FILENO)
            continue;
        int higher = fcntl(ends[k], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        close(ends[k]);
        ends[k] = higher;
    }
    return ends[0] >= 0 && ends[1] >= 0;
}

static bool set_nonblocking(int handle)
{
    int flags = fcntl(handle, F_GETFL);
    return flags >= 0 && fcntl(handle, F_SETFL, flags | O_NONBLOCK) == 0;
}

static bool make_pipes(struct pipes *pipes)
{
    memset(pipes, -1, sizeof *pipes);
    for (int i = 0; i < 3; i++) {
        int ours = i == STDIN_FILENO ? 1 : 0;
        if (!make_pipe(pipes->ends[i]) || !set_nonblocking(pipes->ends[i][ours])) {
            close_pipes(pipes);
            return false;
        }
    }
    return true;
}

/* ---- the process */

/* $0 is the command. If a limit cannot be set, the program does not run. */
static bool write_prelude(char *out, size_t size, uint64_t memory_bytes, uint64_t cpu_s)
{
    char memory[64] = "", cpu[64] = "";
    if (memory_bytes > 0)
        snprintf(memory, sizeof memory, "ulimit -v %" PRIu64 " || exit 126; ", memory_bytes / 1024);
    if (cpu_s > 0)
        snprintf(cpu, sizeof cpu, "ulimit -t %" PRIu64 " || exit 126; ", cpu_s);
    int length = snprintf(out, size,
                          "%s%sulimit -c 0 || exit 126; ulimit -S -n %d 2>/dev/null; "
                          "{ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null; "
                          "exec /bin/sh -c \"$0\"",
                          memory, cpu, DESCRIPTORS_MAX);
    return length > 0 && (size_t)length < size;
}

static bool set_attributes(posix_spawnattr_t *attributes)
{
    const int usual[] = {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGUSR1, SIGUSR2};
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
        sigaddset(&defaults, usual[i]);
    return posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                    POSIX_SPAWN_SETSIGDEF) == 0 &&
           posix_spawnattr_setpgroup(attributes, 0) == 0 &&
           posix_spawnattr_setsigmask(attributes, &none) == 0 &&
           posix_spawnattr_setsigdefault(attributes, &defaults) == 0;
}

static bool set_actions(posix_spawn_file_actions_t *actions, const struct pipes *pipes)
{
    for (int i = 0; i < 3; i++) {
        int theirs = pipes->ends[i][i == STDIN_FILENO ? 0 : 1];
        if (posix_spawn_file_actions_adddup2(actions, theirs, i) != 0)
            return false;
    }
    return posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1) == 0;
}

/* Starts the shell. Returns its process id, or 0. */
static pid_t run_shell(const char *prelude, const char *command, const struct pipes *pipes)
{
    static const char *const environment[] = {
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", NULL};
    const char *const arguments[] = {"sh", "-c", prelude, command, NULL};
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;
    if (posix_spawnattr_init(&attributes) != 0)
        return 0;
    if (posix_spawn_file_actions_init(&actions) == 0) {
        if (!set_attributes(&attributes) || !set_actions(&actions, pipes) ||
            posix_spawn(&pid, "/bin/sh", &actions, &attributes, (char *const *)arguments,
                        (char *const *)environment) != 0)
            pid = 0;
        posix_spawn_file_actions_destroy(&actions);
    }
    posix_spawnattr_destroy(&attributes);
    return pid;
}

bool spawn(const char *command, uint64_t memory_bytes, uint64_t cpu_s, struct spawned *out)
{
    struct pipes pipes;
    char prelude[512];
    if (!write_prelude(prelude, sizeof prelude, memory_bytes, cpu_s) || !make_pipes(&pipes))
        return false;
    pid_t pid = run_shell(prelude, command, &pipes);
    if (pid == 0) {
        close_pipes(&pipes);
        return false;
    }
    close(pipes.ends[STDOUT_FILENO][1]);
    close(pipes.ends[STDERR_FILENO][1]);
    *out = (struct spawned){.pid = pid,
                            .to = pipes.ends[STDIN_FILENO][1],
                            .to_far = pipes.ends[STDIN_FILENO][0],
                            .from = pipes.ends[STDOUT_FILENO][0],
                            .errors = pipes.ends[STDERR_FILENO][0]};
    return true;
}

void spawned_close_input(struct spawned *process)
{
    close(process->to);
    close(process->to_far);
    process->to = process->to_far = -1;
}

void spawned_kill(struct spawned *process)
{
    /* The group is killed before the shell is waited for: until then its number cannot belong to
     * another group. */
    kill(-process->pid, SIGKILL);
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int waited = 0; waited < REAP_MS; waited++) {
        pid_t reaped = waitpid(process->pid, NULL, WNOHANG);
        if (reaped != 0 && !(reaped < 0 && errno == EINTR))
            break;
        nanosleep(&pause, NULL);
    }
    close(process->from);
    if (process->errors >= 0)
        close(process->errors);
    if (process->to >= 0)
        spawned_close_input(process);
}
