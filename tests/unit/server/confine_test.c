/* What a confined process can do and what it cannot, each tried in a process that ends afterwards.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/os/confine.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

static char folder[64];

static void setup(void)
{
    snprintf(folder, sizeof folder, "/tmp/tacet-confine-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    if (SANITIZED)
        cr_skip("sanitizers look into their own process");
}

static void teardown(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/file", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/other", folder);
    unlink(path);
    rmdir(folder);
}

TestSuite(confine, .init = setup, .fini = teardown, .timeout = 600);

/* The error number of TRY in a confined process; 0: it went well. */
static int confined(int (*try)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        alarm(30);
        confine_from_start(true);
        confine_process((const char *const[]){folder, folder, NULL, NULL}, true, false);
        _exit(try());
    }
    int status = 0;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert(WIFEXITED(status), "status %d", status);
    return WEXITSTATUS(status);
}

static int error_unless(bool good)
{
    return good ? 0 : errno;
}

static int use_files(void)
{
    char path[128], other[128], text[4] = "";
    snprintf(path, sizeof path, "%s/file", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    bool good = file >= 0 && write(file, "abc", 3) == 3 && fsync(file) == 0 &&
                pread(file, text, 3, 0) == 3 && ftruncate(file, 1) == 0 && close(file) == 0 &&
                rename(path, other) == 0 && unlink(other) == 0;
    int directory = open(folder, O_RDONLY | O_DIRECTORY);
    return error_unless(good && directory >= 0 && fsync(directory) == 0);
}

static void *touch_memory(void *number)
{
    void *block = malloc(1 << 24);
    *(int *)number = block ? 7 : 0;
    free(block);
    return NULL;
}

static int start_thread(void)
{
    pthread_t thread;
    int number = 0;
    if (pthread_create(&thread, NULL, touch_memory, &number) != 0)
        return EAGAIN;
    pthread_join(thread, NULL);
    return number == 7 ? 0 : ENOMEM;
}

static int draw_bytes(void)
{
    char bytes[8];
    return error_unless(syscall(SYS_getrandom, bytes, sizeof bytes, 0) == sizeof bytes);
}

Test(confine, what_a_service_does_goes_on)
{
    cr_expect_eq(confined(use_files), 0);
    cr_expect_eq(confined(start_thread), 0);
    cr_expect_eq(confined(draw_bytes), 0);
}

static int read_elsewhere(void)
{
    return error_unless(open("/etc/passwd", O_RDONLY) >= 0);
}

static int write_elsewhere(void)
{
    return error_unless(open("/tmp/tacet-confine-elsewhere", O_WRONLY | O_CREAT, 0600) >= 0);
}

static int list_elsewhere(void)
{
    return error_unless(open("/", O_RDONLY | O_DIRECTORY) >= 0);
}

Test(confine, no_file_elsewhere_is_reached)
{
    if (syscall(444, NULL, 0, 1) < 1) /* landlock_create_ruleset: the version */
        cr_skip("this system has no Landlock");
    cr_expect_eq(confined(read_elsewhere), EACCES);
    cr_expect_eq(confined(write_elsewhere), EACCES);
    cr_expect_eq(confined(list_elsewhere), EACCES);
    cr_expect_neq(access("/tmp/tacet-confine-elsewhere", F_OK), 0);
}

static int run_program(void)
{
    const char *const arguments[] = {"true", NULL};
    execv("/bin/true", (char *const *)(uintptr_t)arguments);
    return errno;
}

static int make_process(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    return error_unless(pid > 0);
}

static int make_socket(void)
{
    return error_unless(socket(AF_INET, SOCK_STREAM, 0) >= 0);
}

static int trace_another(void)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {&byte, 1};
    return error_unless(syscall(SYS_process_vm_readv, getppid(), &here, 1, &there, 1, 0) == 1);
}

static int signal_another(void)
{
    return error_unless(kill(getppid(), 0) == 0);
}

static int load_code(void)
{
    return error_unless(
        mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
}

static int make_code(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return ENOMEM;
    return error_unless(mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0);
}

static int become_open(void)
{
    return error_unless(prctl(PR_SET_DUMPABLE, 1) == 0);
}

Test(confine, what_a_service_never_does_is_refused)
{
    cr_expect_eq(confined(run_program), ENOSYS);
    cr_expect_eq(confined(make_process), EACCES);
    cr_expect_eq(confined(make_socket), ENOSYS);
    cr_expect_eq(confined(trace_another), ENOSYS);
    cr_expect_eq(confined(signal_another), ENOSYS);
    cr_expect_eq(confined(load_code), EACCES);
    cr_expect_eq(confined(make_code), EACCES);
    cr_expect_eq(confined(become_open), EACCES);
}

/* From before the filter, which refuses the question. */
Test(confine, memory_is_private_and_leaves_no_core)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit cores;
        confine_from_start(true);
        getrlimit(RLIMIT_CORE, &cores);
        _exit((prctl(PR_GET_DUMPABLE) == 0) + 2 * (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) +
              4 * (cores.rlim_cur == 0 && cores.rlim_max == 0));
    }
    int status = 0;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_expect_eq(WEXITSTATUS(status), 7);
}
