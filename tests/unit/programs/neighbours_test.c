/* A sealed program on a machine that others use, too: /proc that hides them, and pipes that they
 * have filled. Each test makes such a machine in a process of its own, which takes root. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "programs/child.h"
#include "programs/descent.h"

#define PATIENT 60000
#define OTHER   1234 /* a user without privileges */
#define ECHOES  "import sys\nfor line in sys.stdin: print('fine', flush=True)\n"

TestSuite(neighbours, .timeout = 600);

static enum child_status begin(const struct keeper *keeper, const char *source, size_t size,
                               struct child **out)
{
    const struct child_settings settings = {.keeper = keeper,
                                            .command = "exec python3 -I /world",
                                            .source = source,
                                            .source_size = size,
                                            .answer_ms = PATIENT,
                                            .limits = {.memory_bytes = (uint64_t)256 << 20,
                                                       .cpu_s = 60,
                                                       .file_bytes = 1 << 20,
                                                       .processes = 16,
                                                       .sealed = true}};
    return child_start(&settings, out);
}

static enum child_status ask(struct child *child)
{
    const char *answer = "";
    size_t size = 0;
    return child_ask(child, "go\n", 3, &answer, &size);
}

static bool become_other(void)
{
    return setresgid(OTHER, OTHER, OTHER) == 0 && setresuid(OTHER, OTHER, OTHER) == 0;
}

/* ---- /proc that hides */

static bool hide_processes(void)
{
    return mount("proc", "/proc", "proc", 0, "hidepid=2") == 0;
}

/* A service that has a program, and from that on cannot see it. TOLD and HIDDEN are pipes' ends. 0:
 * the program ended, and no other was started. */
static int serve_in_the_dark(int told, int hidden)
{
    char byte = 's';
    struct keeper *keeper = become_other() ? keeper_start(true, NULL, 0) : NULL;
    struct child *child = NULL, *next = NULL;
    if (!keeper || begin(keeper, ECHOES, strlen(ECHOES), &child) != CHILD_OK)
        return 2;
    if (ask(child) != CHILD_OK || write(told, &byte, 1) != 1 || read(hidden, &byte, 1) != 1)
        return 3;
    enum child_status status = CHILD_OK;
    for (int i = 0; i < 1000 && status == CHILD_OK; i++) {
        usleep(10000);
        status = ask(child);
    }
    if (status != CHILD_ENDED || begin(keeper, ECHOES, strlen(ECHOES), &next) != CHILD_NOT_SEALED)
        return 4;
    child_end(child);
    keeper_end(keeper);
    return 0;
}

/* Waits for all that came of this process, which is root and sees them. False: some stay. */
static bool all_are_gone(void)
{
    struct descent descent;
    descent_open(&descent);
    for (int i = 0; i < 1000; i++) {
        while (waitpid(-1, NULL, WNOHANG) > 0)
            continue;
        if (waitpid(-1, NULL, WNOHANG) < 0)
            return true;
        usleep(10000);
    }
    descent_find(&descent);
    for (size_t i = 0; i < descent.count; i++)
        kill(descent.pid[i], SIGKILL);
    return false;
}

/* 0: well. */
static int darken(void)
{
    int told[2], hidden[2], status = 0;
    char byte = 'h';
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 || pipe(told) != 0 || pipe(hidden) != 0)
        return 10;
    pid_t service = fork();
    if (service == 0)
        _exit(serve_in_the_dark(told[1], hidden[0]));
    close(told[1]);
    if (read(told[0], &byte, 1) != 1 || !hide_processes() || write(hidden[1], &byte, 1) != 1)
        return 11;
    waitpid(service, &status, 0);
    if (!all_are_gone())
        return 12;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 13;
}

/* What ACT gives in a process of its own. */
static int apart(int (*act)(void))
{
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(act());
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

Test(neighbours, a_program_that_proc_hides_ends_and_none_is_started)
{
    if (geteuid() != 0)
        cr_skip("it takes root to mount a /proc that hides processes");
    cr_expect_eq(apart(darken), 0);
}

/* ---- pipes that are full */

/* 0: a program with the longest source was started although this user may have no more room in
 * pipes. */
static int start_beside_full_pipes(void)
{
    const struct rlimit descriptors = {1024, 1024};
    char *source = malloc(PROGRAM_SOURCE_MAX);
    struct child *child = NULL;
    int ends[2];
    memset(source, '#', PROGRAM_SOURCE_MAX);
    memcpy(source, ECHOES, sizeof ECHOES - 1);
    if (setrlimit(RLIMIT_NOFILE, &descriptors) != 0 || !become_other())
        return 2;
    struct keeper *keeper = keeper_start(true, NULL, 0);
    while (keeper && pipe(ends) == 0 && fcntl(ends[1], F_SETPIPE_SZ, PROGRAM_SOURCE_MAX) >= 0)
        continue;
    if (!keeper || errno != EPERM)
        return 3;
    if (begin(keeper, source, PROGRAM_SOURCE_MAX, &child) != CHILD_OK || ask(child) != CHILD_OK)
        return 4;
    child_end(child);
    keeper_end(keeper);
    free(source);
    return 0;
}

Test(neighbours, who_fills_pipes_keeps_no_program_from_starting)
{
    if (geteuid() != 0)
        cr_skip("it takes root to become a user whose pipes are limited");
    cr_expect_eq(apart(start_beside_full_pipes), 0);
}
