/* Starting and ending. The keeper starts the program, its warden ends it; here are the pipes. */
#include "programs/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define START_MS 10000 /* for a process that is made on a loaded machine */
#define END_MS   5000  /* killed processes that take longer hang in the kernel: left alone */

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

/* Waits for a byte or the end of HANDLE. True: a byte came. */
static bool wait_for_warden(int handle, int timeout_ms)
{
    char byte;
    struct pollfd one = {.fd = handle, .events = POLLIN};
    int ready = 0;
    do
        ready = poll(&one, 1, timeout_ms);
    while (ready < 0 && errno == EINTR);
    return ready > 0 && read(handle, &byte, 1) == 1;
}

bool spawn(const struct keeper *keeper, const char *command, const struct program_limits *limits,
           struct spawned *out)
{
    struct pipes pipes;
    int control[2];
    if (!make_pipes(&pipes))
        return false;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) != 0) {
        close_pipes(&pipes);
        return false;
    }
    const int theirs[] = {pipes.ends[STDIN_FILENO][0], pipes.ends[STDOUT_FILENO][1],
                          pipes.ends[STDERR_FILENO][1], control[1]};
    bool ordered = keeper_order(keeper, command, limits, theirs);
    close(control[1]);
    if (!ordered || !wait_for_warden(control[0], START_MS)) {
        close(control[0]);
        close_pipes(&pipes);
        return false;
    }
    close(pipes.ends[STDOUT_FILENO][1]);
    close(pipes.ends[STDERR_FILENO][1]);
    *out = (struct spawned){.control = control[0],
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
    shutdown(process->control, SHUT_WR);
    wait_for_warden(process->control, END_MS);
    close(process->control);
    close(process->from);
    if (process->errors >= 0)
        close(process->errors);
    if (process->to >= 0)
        spawned_close_input(process);
}
