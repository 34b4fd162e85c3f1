/* The table of calls that a sealed program may make: files, memory, its own processes, time. What
 * is not here either reaches beyond the program (sockets, mounts, tracing, keys, rings), or tells
 * of the machine what others do (sysinfo, statfs), or holds memory that nobody counts (memfd, shm).
 * Four more are let through by their arguments, below. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "programs/sealed.h"

static const int PERMITTED[] = {
    /* files of its root */
    SYS_read,
    SYS_write,
    SYS_pread64,
    SYS_pwrite64,
    SYS_readv,
    SYS_writev,
    SYS_lseek,
    SYS_openat,
    SYS_close,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_readlinkat,
    SYS_getdents64,
    SYS_getcwd,
    SYS_chdir,
    SYS_fchdir,
    SYS_flock,
    SYS_fsync,
    SYS_fdatasync,
    SYS_truncate,
    SYS_ftruncate,
    SYS_fallocate,
    SYS_fadvise64,
    SYS_mkdirat,
    SYS_unlinkat,
    SYS_renameat2,
    SYS_linkat,
    SYS_symlinkat,
    SYS_fchmod,
    SYS_fchmodat,
    SYS_umask,
    SYS_utimensat,
    /* descriptors and waiting */
    SYS_dup,
    SYS_dup3,
    SYS_pipe2,
    SYS_ppoll,
    SYS_pselect6,
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_pwait,
    SYS_eventfd2,
    SYS_close_range,
    /* memory */
    SYS_munmap,
    SYS_mprotect,
    SYS_mremap,
    SYS_brk,
    SYS_membarrier,
    /* processes and threads of its namespace */
    SYS_execve,
    SYS_exit,
    SYS_exit_group,
    SYS_wait4,
    SYS_waitid,
    SYS_futex,
    SYS_set_robust_list,
    SYS_get_robust_list,
    SYS_rseq,
    SYS_set_tid_address,
    SYS_prctl,
    SYS_prlimit64,
    SYS_getrlimit,
    SYS_setrlimit,
    SYS_getrusage,
    SYS_times,
    SYS_getpid,
    SYS_getppid,
    SYS_gettid,
    SYS_getpgid,
    SYS_setpgid,
    SYS_getsid,
    SYS_setsid,
    SYS_getpriority,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_sched_setaffinity,
    SYS_sched_getparam,
    SYS_sched_getscheduler,
    SYS_kill,
    SYS_tkill,
    SYS_tgkill,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigpending,
    SYS_rt_sigsuspend,
    SYS_rt_sigtimedwait,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_restart_syscall,
    /* time and facts */
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_getitimer,
    SYS_setitimer,
    SYS_getrandom,
    SYS_uname,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getgroups,
#ifdef SYS_arch_prctl
    SYS_arch_prctl,
#endif
#ifdef SYS_poll /* machines that have the older forms too */
    SYS_open,
    SYS_creat,
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_getdents,
    SYS_mkdir,
    SYS_rmdir,
    SYS_unlink,
    SYS_rename,
    SYS_link,
    SYS_symlink,
    SYS_chmod,
    SYS_utime,
    SYS_poll,
    SYS_select,
    SYS_epoll_create,
    SYS_epoll_wait,
    SYS_eventfd,
    SYS_pipe,
    SYS_dup2,
    SYS_fork,
    SYS_vfork,
    SYS_getpgrp,
    SYS_alarm,
    SYS_pause,
    SYS_time,
#endif
};
#define PERMITTED_COUNT (sizeof PERMITTED / sizeof PERMITTED[0])

#define NEW_NAMESPACES  0x7e020000u /* the flags of clone(2) that make one */
#define OTHER_CALLS     0x40000000u /* x32: other numbers for the same calls */
#define OF_LINUX_ALONE  1024        /* fcntl(2): commands from here on */

#define LOAD(member)    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define RETURN(result)  BPF_STMT(BPF_RET | BPF_K, (result))
#define UNLESS(test, value, skip)                                                                  \
    BPF_JUMP(BPF_JMP | (test) | BPF_K, (uint32_t)(value), 0,                                       \
             (skip)) /* skips when it does not hold */

bool sealed_limit_calls(void)
{
#ifdef OUR_MACHINE
    /* No file is a terminal. A thread may be made by clone, whose flags are seen here. Memory that
     * is shared without a file stays when no process shows it, so nobody could count it. Nor is
     * memory counted that is in swap, so no advice moves it there. Of the commands of fcntl that
     * Linux alone has, one is usual; others tell what the machine runs (F_NOTIFY, F_SETLEASE) or
     * hold memory (F_SETPIPE_SZ). */
    static const struct sock_filter head[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OUR_MACHINE, 1, 0),
        RETURN(SECCOMP_RET_ERRNO | ENOSYS),
        LOAD(nr),
        UNLESS(BPF_JGE, OTHER_CALLS, 1),
        RETURN(SECCOMP_RET_ERRNO | ENOSYS),
        UNLESS(BPF_JEQ, SYS_ioctl, 1),
        RETURN(SECCOMP_RET_ERRNO | ENOTTY),
        UNLESS(BPF_JEQ, SYS_clone, 4),
        LOAD(args[0]),
        UNLESS(BPF_JSET, NEW_NAMESPACES, 1),
        RETURN(SECCOMP_RET_ERRNO | ENOSYS),
        RETURN(SECCOMP_RET_ALLOW),
        UNLESS(BPF_JEQ, SYS_mmap, 5),
        LOAD(args[3]),
        UNLESS(BPF_JSET, MAP_SHARED, 2),
        UNLESS(BPF_JSET, MAP_ANONYMOUS, 1),
        RETURN(SECCOMP_RET_ERRNO | ENOSYS),
        RETURN(SECCOMP_RET_ALLOW),
        UNLESS(BPF_JEQ, SYS_madvise, 4),
        LOAD(args[2]),
        UNLESS(BPF_JGE, MADV_COLD, 1),
        RETURN(SECCOMP_RET_ERRNO | EINVAL),
        RETURN(SECCOMP_RET_ALLOW),
        UNLESS(BPF_JEQ, SYS_fcntl, 5),
        LOAD(args[1]),
        UNLESS(BPF_JGE, OF_LINUX_ALONE, 2),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_DUPFD_CLOEXEC, 1, 0),
        RETURN(SECCOMP_RET_ERRNO | ENOSYS),
        RETURN(SECCOMP_RET_ALLOW),
    };
    enum { HEAD = sizeof head / sizeof head[0] };
    struct sock_filter code[HEAD + 2 * PERMITTED_COUNT + 1];
    size_t size = 0;
    for (; size < HEAD; size++)
        code[size] = head[size];
    for (size_t i = 0; i < PERMITTED_COUNT; i++) {
        code[size++] = (struct sock_filter)UNLESS(BPF_JEQ, PERMITTED[i], 1);
        code[size++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
    }
    code[size++] = (struct sock_filter)RETURN(SECCOMP_RET_ERRNO | ENOSYS);
    const struct sock_fprog program = {.len = (unsigned short)size, .filter = code};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
#else
    return false;
#endif
}
