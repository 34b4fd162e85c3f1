/* The table comes from watching the servers of all HTTP tests (scripts/watch-calls, which also says
 * which calls are missing after a change). What cannot be decided by the number alone is decided by
 * one argument. ENOSYS is the answer to all else, because libraries take it for an older system and
 * find another way. */
#include "server/os/confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int PERMITTED[] = {
    /* files, all of them below the data directory (confine.c) */
    SYS_read,
    SYS_write,
    SYS_pread64,
    SYS_pwrite64,
    SYS_readv,
    SYS_writev,
    SYS_pwritev,
    SYS_lseek,
    SYS_openat,
    SYS_close,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_statfs,
    SYS_fstatfs,
    SYS_faccessat,
    SYS_fcntl,
    SYS_flock,
    SYS_fsync,
    SYS_fdatasync,
    SYS_ftruncate,
    SYS_fallocate,
    SYS_fadvise64,
    SYS_unlinkat,
    SYS_fchmod,
    SYS_fchown,
    SYS_getdents64,
    SYS_renameat2,
    SYS_getcwd,
    SYS_readlinkat,
    /* connections that were accepted, pipes, waiting */
    SYS_accept4,
    SYS_accept,
    SYS_recvfrom,
    SYS_recvmsg,
    SYS_sendto,
    SYS_sendmsg,
    SYS_sendfile,
    SYS_shutdown,
    SYS_setsockopt,
    SYS_getsockopt,
    SYS_getsockname,
    SYS_getpeername,
    SYS_pipe2,
    SYS_eventfd2,
    SYS_ppoll,
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_pwait,
    SYS_pselect6,
    SYS_dup,
    /* memory */
    SYS_munmap,
    SYS_mremap,
    SYS_msync,
    SYS_madvise,
    SYS_brk,
    SYS_mlock,
    SYS_munlock,
    SYS_memfd_create, /* the source of a client's world */
    /* threads and time */
    SYS_futex,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_exit,
    SYS_exit_group,
    SYS_gettid,
    SYS_getpid,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_sched_getattr,
    SYS_sched_setattr,
    SYS_rt_sigprocmask,
    SYS_rt_sigaction,
    SYS_rt_sigtimedwait,
    SYS_rt_sigreturn,
    SYS_restart_syscall,
    SYS_tgkill,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_wait4,
    /* facts */
    SYS_getrandom,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getrusage,
    SYS_sysinfo,
    SYS_uname,
    SYS_prlimit64,
#ifdef SYS_poll /* machines that have the older forms too */
    SYS_open,
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_unlink,
    SYS_rename,
    SYS_readlink,
    SYS_poll,
    SYS_epoll_wait,
    SYS_select,
    SYS_time,
#endif
};
#define PERMITTED_COUNT (sizeof PERMITTED / sizeof PERMITTED[0])

/* A connection to a database, and the address of its host. */
static const int CONNECTING[] = {SYS_socket, SYS_connect, SYS_bind, SYS_sendmmsg, SYS_ioctl};
#define CONNECTING_COUNT (sizeof CONNECTING / sizeof CONNECTING[0])

/* A call that is permitted when ARGUMENT has any bit of VALUE, or has none, or equals it. */
static const struct confine_condition {
    int call;
    unsigned argument;
    uint16_t test; /* BPF_JSET, BPF_JEQ */
    uint32_t value;
    bool wanted;
} CONDITIONS[] = {
    {SYS_mmap, 2, BPF_JSET, PROT_EXEC, false}, /* no code that was not there at the start */
    {SYS_mprotect, 2, BPF_JSET, PROT_EXEC, false},
    {SYS_clone, 0, BPF_JSET, CLONE_THREAD, true}, /* threads, no processes */
    {SYS_prctl, 0, BPF_JEQ, PR_SET_NAME, true},
    {SYS_socketpair, 0, BPF_JEQ, AF_UNIX, true},
};
#define CONDITION_COUNT (sizeof CONDITIONS / sizeof CONDITIONS[0])

#define RETURN(what)    ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, (what)))
#define LOAD(field)                                                                                \
    ((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,                                        \
                                  (uint32_t)offsetof(struct seccomp_data, field)))

struct confine_program {
    unsigned short size;
    struct sock_filter code[4 + 5 * CONDITION_COUNT + 2 * (PERMITTED_COUNT + CONNECTING_COUNT) + 1];
};

static void confine_add(struct confine_program *program, struct sock_filter step)
{
    program->code[program->size++] = step;
}

/* Goes on with the next step when the number of the call, or an argument, passes the test. */
static void confine_unless(struct confine_program *program, uint16_t test, uint32_t value,
                           uint8_t skip_if, uint8_t skip_unless)
{
    confine_add(program, (struct sock_filter)BPF_JUMP((uint16_t)(BPF_JMP | test | BPF_K), value,
                                                      skip_if, skip_unless));
}

static void confine_add_condition(struct confine_program *program,
                                  const struct confine_condition *condition)
{
    struct sock_filter load = LOAD(args[0]);
    load.k += condition->argument * (uint32_t)sizeof(uint64_t); /* the low half, low end first */
    confine_unless(program, BPF_JEQ, (uint32_t)condition->call, 0, 4);
    confine_add(program, load);
    confine_unless(program, condition->test, condition->value, condition->wanted ? 1 : 0,
                   condition->wanted ? 0 : 1);
    confine_add(program, RETURN(SECCOMP_RET_ERRNO | EACCES));
    confine_add(program, RETURN(SECCOMP_RET_ALLOW));
}

static void confine_permit(struct confine_program *program, const int *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        confine_unless(program, BPF_JEQ, (uint32_t)calls[i], 0, 1);
        confine_add(program, RETURN(SECCOMP_RET_ALLOW));
    }
}

static void confine_write(struct confine_program *program, uint32_t machine, bool connects)
{
    confine_add(program, LOAD(arch));
    confine_unless(program, BPF_JEQ, machine, 1, 0);
    confine_add(program, RETURN(SECCOMP_RET_ERRNO | ENOSYS));
    confine_add(program, LOAD(nr));
    for (size_t i = 0; i < CONDITION_COUNT; i++)
        confine_add_condition(program, &CONDITIONS[i]);
    confine_permit(program, PERMITTED, PERMITTED_COUNT);
    if (connects)
        confine_permit(program, CONNECTING, CONNECTING_COUNT);
    confine_add(program, RETURN(SECCOMP_RET_ERRNO | ENOSYS));
}

int confine_calls(bool connects)
{
    struct confine_program program = {0};
#if defined(__x86_64__)
    confine_write(&program, AUDIT_ARCH_X86_64, connects);
#elif defined(__aarch64__)
    confine_write(&program, AUDIT_ARCH_AARCH64, connects);
#else
    return ENOTSUP;
#endif
    const struct sock_fprog loaded = {.len = program.size, .filter = program.code};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &loaded) != 0)
        return errno;
    return 0;
}
