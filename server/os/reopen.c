/* A byte asks, the number of an error answers, and a descriptor comes with it where there is none.
 */
#include "server/os/reopen.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory/memory.h"
#include "server/os/confine.h"

#define OUT 3 /* the socket, in the process */

struct reopen {
    pid_t process;
    int socket;
};

/* One message with room for one descriptor. */
struct reopen_message {
    int error;
    struct iovec part;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    struct msghdr message;
};

static void reopen_lay_out(struct reopen_message *m)
{
    memset(m, 0, sizeof *m);
    m->part = (struct iovec){&m->error, sizeof m->error};
    m->message = (struct msghdr){.msg_iov = &m->part,
                                 .msg_iovlen = 1,
                                 .msg_control = m->control,
                                 .msg_controllen = sizeof m->control};
}

static void reopen_answer(const char *path)
{
    struct reopen_message m;
    reopen_lay_out(&m);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        m.error = errno;
        m.message.msg_control = NULL;
        m.message.msg_controllen = 0;
    } else {
        struct cmsghdr *head = CMSG_FIRSTHDR(&m.message);
        *head = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof file), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(head), &file, sizeof file);
    }
    (void)sendmsg(OUT, &m.message, MSG_NOSIGNAL);
    if (file >= 0)
        close(file);
}

/* Keeps nothing that the server had but the socket, and nothing that it may do but reading. */
_Noreturn static void open_for_ever(const char *const *paths, unsigned count, int out)
{
    sigset_t none;
    unsigned char index;
    int nowhere = open("/dev/null", O_RDWR);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "tacet-files");
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    signal(SIGHUP, SIG_IGN);
    for (int i = 0; i < OUT; i++)
        dup2(nowhere, i);
    if (out != OUT)
        dup2(out, OUT);
    closefrom(OUT + 1);
    confine_writes();
    while (recv(OUT, &index, 1, 0) == 1)
        if (index < count)
            reopen_answer(paths[index]);
    _exit(0);
}

struct reopen *reopen_start(const char *const *paths, unsigned count, void *secret, size_t size)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return NULL;
    struct reopen *reopen = memory_new(1, sizeof *reopen);
    *reopen = (struct reopen){.process = fork(), .socket = ends[0]};
    if (reopen->process == 0) {
        sodium_memzero(secret, size);
        open_for_ever(paths, count, ends[1]);
    }
    close(ends[1]);
    if (reopen->process > 0)
        return reopen;
    close(ends[0]);
    free(reopen);
    return NULL;
}

int reopen_file(struct reopen *reopen, unsigned index)
{
    struct reopen_message m;
    unsigned char byte = (unsigned char)index;
    int file = -1;
    reopen_lay_out(&m);
    if (send(reopen->socket, &byte, 1, MSG_NOSIGNAL) != 1 ||
        recvmsg(reopen->socket, &m.message, MSG_CMSG_CLOEXEC) != sizeof m.error) {
        errno = EPIPE;
        return -1;
    }
    const struct cmsghdr *head = CMSG_FIRSTHDR(&m.message);
    if (head && head->cmsg_len == CMSG_LEN(sizeof file) && head->cmsg_type == SCM_RIGHTS)
        memcpy(&file, CMSG_DATA(head), sizeof file);
    errno = m.error;
    return file;
}

void reopen_end(struct reopen *reopen)
{
    if (!reopen)
        return;
    close(reopen->socket);
    waitpid(reopen->process, NULL, 0);
    free(reopen);
}
