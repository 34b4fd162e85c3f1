/* Orders are packets: limits and the command's text, with four descriptors beside them. */
#include "programs/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory/memory.h"
#include "programs/warden.h"

#define END_COUNT WARDEN_ENDS
#define LINE      3 /* the descriptor of its end of the socket, in the keeper */

struct keeper {
    pid_t pid;
    int line;
};

struct keeper_packet {
    struct program_limits limits;
    char command[KEEPER_COMMAND_MAX + 1];
};

union keeper_ends { /* descriptors on their way, aligned */
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int) * END_COUNT)];
};

/* ---- on the other side */

/* Takes an order. ENDS are -1 where none came. False: nobody will give another. */
static bool keeper_take(struct keeper_packet *packet, int ends[END_COUNT])
{
    union keeper_ends space;
    struct iovec part = {.iov_base = packet, .iov_len = sizeof *packet};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = space.bytes,
                             .msg_controllen = sizeof space.bytes};
    ssize_t size = 0;
    do
        size = recvmsg(LINE, &message, MSG_CMSG_CLOEXEC);
    while (size < 0 && errno == EINTR);
    for (int i = 0; i < END_COUNT; i++)
        ends[i] = -1;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    size_t count = END_COUNT - 1 + (size_t)packet->limits.sealed;
    if (size > 0 && header && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof(int) * count))
        memcpy(ends, CMSG_DATA(header), sizeof(int) * count);
    return size > 0;
}

/* What a program without namespaces could read in the memory of its keeper and warden. Only then
 * may others of this user look: a process that is private cannot make namespaces. */
static void keeper_forget(void *secret, size_t size)
{
    if (size > 0)
        explicit_bzero(secret, size);
    for (char **variable = environ; *variable; variable++)
        explicit_bzero(*variable, strlen(*variable));
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

/* Nothing of the process that it was forked from stays open; no signal of a terminal ends it. */
static void keeper_settle(int line)
{
    int nothing = open("/dev/null", O_RDWR);
    if (line != LINE)
        dup2(line, LINE);
    for (int i = 0; i < LINE; i++)
        dup2(nothing, i);
    closefrom(LINE + 1);
    fcntl(LINE, F_SETFD, FD_CLOEXEC);
    setsid();
    umask(077);
    prctl(PR_SET_NAME, "tacet-keeper");
    const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGCHLD};
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        signal(ignored[i], SIG_IGN);
}

static _Noreturn void keeper_run(int line, bool namespaces)
{
    struct keeper_packet *packet = memory_new(1, sizeof *packet);
    int ends[END_COUNT];
    keeper_settle(line);
    namespaces = namespaces && warden_has_namespaces();
    while (keeper_take(packet, ends)) {
        packet->command[KEEPER_COMMAND_MAX] = '\0';
        if (ends[0] >= 0 && fork() == 0) {
            close(LINE);
            warden_run(packet->command, &packet->limits, ends, namespaces);
        }
        for (int i = 0; i < END_COUNT; i++)
            if (ends[i] >= 0)
                close(ends[i]);
    }
    _exit(0);
}

/* ---- on this side */

struct keeper *keeper_start(bool namespaces, void *secret, size_t size)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return NULL;
    pid_t pid = fork();
    if (pid == 0) {
        keeper_forget(secret, size);
        keeper_run(ends[1], namespaces);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return NULL;
    }
    struct keeper *keeper = memory_new(1, sizeof *keeper);
    *keeper = (struct keeper){.pid = pid, .line = ends[0]};
    return keeper;
}

bool keeper_order(const struct keeper *keeper, const char *command,
                  const struct program_limits *limits, const int ends[END_COUNT])
{
    union keeper_ends space;
    struct program_limits copy = *limits;
    size_t count = END_COUNT - 1 + (size_t)limits->sealed;
    size_t length = strlen(command);
    if (length > KEEPER_COMMAND_MAX)
        return false;
    struct iovec parts[] = {{.iov_base = &copy, .iov_len = sizeof copy},
                            {.iov_base = (char *)(uintptr_t)command, .iov_len = length + 1}};
    memset(&space, 0, sizeof space);
    struct msghdr message = {.msg_iov = parts,
                             .msg_iovlen = 2,
                             .msg_control = space.bytes,
                             .msg_controllen = CMSG_SPACE(sizeof(int) * count)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * count);
    memcpy(CMSG_DATA(header), ends, sizeof(int) * count);
    ssize_t size = 0;
    do
        size = sendmsg(keeper->line, &message, MSG_NOSIGNAL);
    while (size < 0 && errno == EINTR);
    return size == (ssize_t)(sizeof copy + length + 1);
}

void keeper_end(struct keeper *keeper)
{
    if (!keeper)
        return;
    close(keeper->line);
    while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    free(keeper);
}
