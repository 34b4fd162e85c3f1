/* Limits are set just before the shell takes over, so they bind nobody else. */
#include "programs/limited.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "programs/sealed.h"

#define DESCRIPTORS_MAX        1024 /* the server's own limit would be too much for select() */
#define DESCRIPTORS_MAX_SEALED 64   /* pipes hold memory that no limit counts */

/* VALUE 0: as it was. A limit that is lower already stays. */
static bool limited_set(int resource, uint64_t value)
{
    struct rlimit limit;
    if (value == 0)
        return true;
    if (getrlimit(resource, &limit) != 0)
        return false;
    if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > value)
        limit.rlim_max = value;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(resource, &limit) == 0;
}

static bool limited_set_all(const struct program_limits *limits)
{
    const struct rlimit no_core = {0, 0};
    const rlim_t most = limits->sealed ? DESCRIPTORS_MAX_SEALED : DESCRIPTORS_MAX;
    uint64_t processes = 0;
    struct rlimit descriptors;
    if (limits->sealed && limits->processes > 0) /* its users are its own, and counted apart */
        processes = limits->processes + SEALED_NAMESPACE;
    if (getrlimit(RLIMIT_NOFILE, &descriptors) != 0)
        return false;
    if (descriptors.rlim_cur > most)
        descriptors.rlim_cur = most;
    if (limits->sealed)
        descriptors.rlim_max = descriptors.rlim_cur;
    return setrlimit(RLIMIT_CORE, &no_core) == 0 && setrlimit(RLIMIT_NOFILE, &descriptors) == 0 &&
           limited_set(RLIMIT_AS, limits->memory_bytes) && limited_set(RLIMIT_CPU, limits->cpu_s) &&
           limited_set(RLIMIT_FSIZE, limits->file_bytes) && limited_set(RLIMIT_NPROC, processes);
}

void limited_volunteer(void)
{
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return;
    ssize_t ignored = write(file, "1000", 4);
    (void)ignored;
    close(file);
}

/* No socket but netlink's, which reaches the kernel alone and without which a nested sandbox cannot
 * set itself up; and no ring of calls, which would make sockets unseen. Calls of another machine's
 * form (32 bits) have other numbers: they are refused altogether. */
static bool limited_cut_off(void)
{
#ifdef OUR_MACHINE
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OUR_MACHINE, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 5, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
    };
    const struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
#else
    return true; /* the namespace alone keeps it from the network */
#endif
}

_Noreturn void limited_run(const char *command, const struct program_limits *limits)
{
    static const char *const environment[] = {
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", NULL};
    const char *const arguments[] = {"sh", "-c", command, NULL};
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0);
    closefrom(STDERR_FILENO + 1);
    for (int i = 1; i < SIGRTMIN; i++)
        signal(i, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    limited_volunteer();
    if (!limited_set_all(limits) || (!limits->network && !limits->sealed && !limited_cut_off()))
        _exit(126);
    execve("/bin/sh", (char *const *)(uintptr_t)arguments, (char *const *)(uintptr_t)environment);
    _exit(127);
}
