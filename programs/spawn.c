/* Starting and ending. The keeper starts the program, its warden ends it; here are the pipes. */
#include "programs/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "programs/warden.h"

#define START_MS    10000 /* for a process that is made on a loaded machine */
#define END_MS      5000  /* killed processes that take longer hang in the kernel: left alone */
#define NOEXEC_SEAL 8u    /* MFD_NOEXEC_SEAL: a system may demand it */

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

/* Waits for a byte or the end of HANDLE. Gives the byte; '\0': none came. */
static char wait_for_warden(int handle, int timeout_ms)
{
    char byte = '\0';
    struct pollfd one = {.fd = handle, .events = POLLIN};
    int ready = 0;
    do
        ready = poll(&one, 1, timeout_ms);
    while (ready < 0 && errno == EINTR);
    if (ready > 0 && read(handle, &byte, 1) != 1)
        byte = '\0';
    return byte;
}

/* Writes SOURCE to a file in memory; *OUT reads it. A pipe may not hold so much when other programs
 * of this user fill theirs: the system counts them together. */
static bool make_source(const char *source, size_t size, int *out)
{
    if (size > PROGRAM_SOURCE_MAX)
        return false;
    int file = memfd_create("world", MFD_CLOEXEC | NOEXEC_SEAL);
    if (file < 0 && errno == EINVAL) /* Linux before 6.3 */
        file = memfd_create("world", MFD_CLOEXEC);
    *out = file;
    return file >= 0 && write(file, source, size) == (ssize_t)size && lseek(file, 0, SEEK_SET) == 0;
}

/* Orders the program. THEIRS are its ends of PIPES, with room for two more. */
static enum spawn_status spawn_order(const struct keeper *keeper, const char *command,
                                     const struct program_limits *limits, int theirs[5],
                                     int *out_control)
{
    int control[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) != 0)
        return SPAWN_FAILED;
    theirs[3] = control[1];
    bool ordered = keeper_order(keeper, command, limits, theirs);
    close(control[1]);
    char said = ordered ? wait_for_warden(control[0], START_MS) : '\0';
    if (said == WARDEN_STARTED) {
        *out_control = control[0];
        return SPAWN_DONE;
    }
    close(control[0]);
    return said == WARDEN_REFUSED ? SPAWN_REFUSED : SPAWN_FAILED;
}

enum spawn_status spawn(const struct keeper *keeper, const char *command, const char *source,
                        size_t source_size, const struct program_limits *limits,
                        struct spawned *out)
{
    struct pipes pipes;
    int control = -1;
    if (!make_pipes(&pipes))
        return SPAWN_FAILED;
    int theirs[] = {pipes.ends[STDIN_FILENO][0], pipes.ends[STDOUT_FILENO][1],
                    pipes.ends[STDERR_FILENO][1], -1, -1};
    enum spawn_status status = SPAWN_FAILED;
    if (!limits->sealed || make_source(source, source_size, &theirs[4]))
        status = spawn_order(keeper, command, limits, theirs, &control);
    if (theirs[4] >= 0)
        close(theirs[4]);
    if (status != SPAWN_DONE) {
        close_pipes(&pipes);
        return status;
    }
    close(pipes.ends[STDOUT_FILENO][1]);
    close(pipes.ends[STDERR_FILENO][1]);
    *out = (struct spawned){.control = control,
                            .to = pipes.ends[STDIN_FILENO][1],
                            .to_far = pipes.ends[STDIN_FILENO][0],
                            .from = pipes.ends[STDOUT_FILENO][0],
                            .errors = pipes.ends[STDERR_FILENO][0]};
    return SPAWN_DONE;
}

void spawned_close_input(struct spawned *process)
{
    close(process->to);
    close(process->to_far);
    process->to = process->to_far = -1;
}

void spawned_kill(struct spawned *process)
{
    shutdown(process->control, SHUT_WR);
    wait_for_warden(process->control, END_MS);
    close(process->control);
    close(process->from);
    if (process->errors >= 0)
        close(process->errors);
    if (process->to >= 0)
        spawned_close_input(process);
}
