/* What a program may use, and that nothing is left of it. Each is shown with namespaces, where this
 * system gives them, and without. */
#include <criterion/criterion.h>
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "programs/child.h"

#define PATIENT 60000

/* Grandchildren in sessions of their own, which no group or terminal reaches: 42 sleepers. */
#define SCATTER                                                                                    \
    "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21; do "                          \
    "setsid sh -c 'trap \"\" TERM HUP; sleep %s & sleep %s' >/dev/null 2>&1 & done; read l; "      \
    "echo scattered; cat >/dev/null"

TestSuite(limits, .timeout = 240);

/* So long sleeps nobody but what this test started. */
static void write_nap(char out[32])
{
    snprintf(out, 32, "9871%d.25", (int)getpid());
}

static void write_scatter(const char *nap, char out[512])
{
    snprintf(out, 512, SCATTER, nap, nap);
}

static int count_sleepers(const char *nap)
{
    DIR *directory = opendir("/proc");
    cr_assert_not_null(directory);
    const struct dirent *entry;
    int count = 0;
    while ((entry = readdir(directory)) != NULL) {
        char path[300], words[256] = "";
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
        int file = open(path, O_RDONLY);
        if (file < 0)
            continue;
        ssize_t size = read(file, words, sizeof words - 1);
        close(file);
        count += size > 6 && strcmp(words, "sleep") == 0 && strcmp(words + 6, nap) == 0;
    }
    closedir(directory);
    return count;
}

static void wait_for_sleepers(const char *nap, int wanted)
{
    for (int i = 0; i < 3000 && count_sleepers(nap) != wanted; i++)
        usleep(10000);
    cr_assert_eq(count_sleepers(nap), wanted);
}

static struct child *begin(const struct keeper *keeper, const char *command,
                           struct program_limits limits)
{
    const struct child_settings settings = {
        .keeper = keeper, .command = command, .answer_ms = PATIENT, .limits = limits};
    struct child *child = NULL;
    cr_assert_eq(child_start(&settings, &child), CHILD_OK);
    return child;
}

/* What COMMAND answers to its first question; "" when there is no answer. */
static void first_answer(const struct keeper *keeper, const char *command,
                         struct program_limits limits, char out[256])
{
    struct child *child = begin(keeper, command, limits);
    const char *answer = NULL;
    size_t size = 0;
    enum child_status status = child_ask(child, "go\n", 3, &answer, &size);
    snprintf(out, 256, "%s", status == CHILD_OK ? answer : "");
    child_end(child);
}

static void with_and_without(void (*show)(const struct keeper *keeper))
{
    for (int namespaces = 0; namespaces < 2; namespaces++) {
        struct keeper *keeper = keeper_start(namespaces == 1, NULL, 0);
        cr_assert_not_null(keeper);
        show(keeper);
        keeper_end(keeper);
        cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1);
    }
}

static void show_numbers(const struct keeper *keeper)
{
    char answer[256];
    first_answer(keeper,
                 "read l; echo $(ulimit -v) $(ulimit -t) $(ulimit -f) $(ulimit -c) "
                 "$(ulimit -n) $(cat /proc/self/oom_score_adj); cat",
                 (struct program_limits){
                     .memory_bytes = (uint64_t)64 << 20, .cpu_s = 77, .file_bytes = 1 << 20},
                 answer);
    cr_expect_str_eq(answer, "65536 77 2048 0 1024 1000");
    first_answer(keeper, "read l; echo $(ulimit -f) $(ulimit -t); cat", (struct program_limits){0},
                 answer);
    cr_expect_str_eq(answer, "unlimited unlimited");
}

Test(limits, are_those_that_were_asked_for)
{
    with_and_without(show_numbers);
}

static void show_files(const struct keeper *keeper)
{
    char answer[256], command[256], path[] = "/tmp/tacet-limits-XXXXXX";
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    snprintf(command, sizeof command, "read l; head -c 200000 /dev/zero >%s; echo ended $?; cat",
             path);
    first_answer(keeper, command, (struct program_limits){.file_bytes = 65536}, answer);
    struct stat status;
    cr_assert_eq(fstat(file, &status), 0);
    cr_expect_eq(status.st_size, 65536);
    cr_expect_str_neq(answer, "ended 0");
    close(file);
    unlink(path);
}

Test(limits, a_file_grows_no_further)
{
    with_and_without(show_files);
}

static void show_processor_time(const struct keeper *keeper)
{
    char answer[256];
    first_answer(keeper, "read l; (while :; do :; done); echo $?; cat",
                 (struct program_limits){.cpu_s = 1}, answer);
    cr_expect_str_eq(answer, "137");
}

Test(limits, processor_time_ends)
{
    with_and_without(show_processor_time);
}

static void show_memory(const struct keeper *keeper)
{
    char answer[256];
    const char *command = "read l; python3 -c 'b = bytearray(1 << 30)' 2>/dev/null; echo $?; cat";
    first_answer(keeper, command, (struct program_limits){.memory_bytes = (uint64_t)256 << 20},
                 answer);
    cr_expect_str_eq(answer, "1");
    first_answer(keeper, command, (struct program_limits){0}, answer);
    cr_expect_str_eq(answer, "0");
}

Test(limits, memory_ends)
{
    with_and_without(show_memory);
}

static void show_processes(const struct keeper *keeper)
{
    const struct program_limits limits = {.processes = 20};
    const char *answer = NULL;
    size_t size = 0;
    char nap[32], command[512], well[256];
    write_nap(nap);
    write_scatter(nap, command);
    struct child *child = begin(keeper, command, limits);
    enum child_status status = child_ask(child, "go\n", 3, &answer, &size);
    if (status == CHILD_OK) /* it was faster than its warden; the next question it only reads */
        status = child_ask(child, "go\n", 3, &answer, &size);
    cr_expect_eq(status, CHILD_ENDED);
    child_end(child);
    cr_expect_eq(count_sleepers(nap), 0);
    first_answer(keeper, "sleep 2; read l; echo alive; cat", limits, well);
    cr_expect_str_eq(well, "alive");
}

Test(limits, too_many_processes_end_the_program)
{
    with_and_without(show_processes);
}

#define TRY                                                                                        \
    "read l; python3 -c 'import socket\nfor family in (socket.AF_INET, socket.AF_INET6, "          \
    "socket.AF_UNIX, socket.AF_PACKET):\n  try: socket.socket(family, socket.SOCK_DGRAM); "        \
    "print(\"open\", end=\" \")\n  except OSError as e: print(e.errno, end=\" \")'; echo; cat"

static void show_network(const struct keeper *keeper)
{
    char answer[256];
    first_answer(keeper, TRY, (struct program_limits){0}, answer);
    cr_expect_str_eq(answer, "13 13 13 13 ");
    first_answer(keeper, TRY, (struct program_limits){.network = true}, answer);
    cr_expect_eq(strncmp(answer, "open open open ", 15), 0, "%s", answer);
}

Test(limits, there_is_no_network_unless_it_is_given)
{
    with_and_without(show_network);
}

static void show_no_survivor(const struct keeper *keeper)
{
    const char *answer = NULL;
    size_t size = 0;
    char nap[32], command[512];
    write_nap(nap);
    write_scatter(nap, command);
    struct child *child = begin(keeper, command, (struct program_limits){0});
    cr_assert_eq(child_ask(child, "go\n", 3, &answer, &size), CHILD_OK);
    wait_for_sleepers(nap, 42);
    child_end(child);
    cr_expect_eq(count_sleepers(nap), 0);
}

Test(limits, nothing_is_left_of_who_scatters)
{
    with_and_without(show_no_survivor);
}

/* Whoever started it dies by SIGKILL. */
Test(limits, nothing_is_left_when_the_caller_is_killed)
{
    char nap[32], command[512];
    write_nap(nap);
    write_scatter(nap, command);
    for (int namespaces = 0; namespaces < 2; namespaces++) {
        pid_t caller = fork();
        if (caller == 0) {
            const char *answer = NULL;
            size_t size = 0;
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            struct child *child =
                begin(keeper_start(namespaces == 1, NULL, 0), command, (struct program_limits){0});
            child_ask(child, "go\n", 3, &answer, &size);
            pause();
        }
        wait_for_sleepers(nap, 42);
        kill(caller, SIGKILL);
        waitpid(caller, NULL, 0);
        wait_for_sleepers(nap, 0);
    }
}

/* A process that is gone before it can be killed, because its child took over. */
Test(limits, a_chain_of_processes_ends_where_there_are_namespaces)
{
    struct keeper *keeper = keeper_start(true, NULL, 0);
    char path[] = "/tmp/tacet-chain-XXXXXX", command[512], answer[256];
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    first_answer(keeper, "read l; echo $$; cat", (struct program_limits){0}, answer);
    if (atoi(answer) > 10)
        cr_skip("this system gives no namespaces of processes");
    snprintf(command, sizeof command,
             "read l; python3 -c 'import os\nos.setsid()\nf = os.open(\"%s\", os.O_WRONLY | "
             "os.O_APPEND)\nwhile 1:\n  os.write(f, b\".\")\n  if os.fork(): os._exit(0)' "
             ">/dev/null 2>&1 </dev/null; sleep 0.5; echo begun; cat",
             path);
    first_answer(keeper, command, (struct program_limits){0}, answer);
    cr_expect_str_eq(answer, "begun");
    struct stat before, after;
    cr_assert_eq(fstat(file, &before), 0);
    cr_expect_gt(before.st_size, 10);
    usleep(300000);
    cr_assert_eq(fstat(file, &after), 0);
    cr_expect_eq(before.st_size, after.st_size);
    keeper_end(keeper);
    close(file);
    unlink(path);
}

Test(limits, a_program_that_cannot_be_started_is_told)
{
    struct keeper *keeper = keeper_start(true, NULL, 0);
    char *command = malloc(KEEPER_COMMAND_MAX + 2);
    struct child *child = NULL;
    struct child_settings settings = {.keeper = keeper, .command = command, .answer_ms = PATIENT};
    memset(command, ' ', KEEPER_COMMAND_MAX + 1);
    command[KEEPER_COMMAND_MAX + 1] = '\0';
    cr_expect_eq(child_start(&settings, &child), CHILD_NOT_STARTED);
    memcpy(command, "read l; echo long; cat #", 24);
    command[KEEPER_COMMAND_MAX] = '\0';
    char answer[256];
    first_answer(keeper, command, (struct program_limits){0}, answer);
    cr_expect_str_eq(answer, "long");
    free(command);
    keeper_end(keeper);
}
