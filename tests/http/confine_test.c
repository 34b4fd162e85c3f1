/* A running server has given up what it does not need, in every thread. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/http/desk.h"
#include "tests/http/scene.h"

static struct server_process server;

static void teardown(void)
{
    server_close(&server);
}

TestSuite(confine);

static bool file_has(const char *path, const char *line)
{
    size_t size = 0;
    char *text = read_whole(path, &size);
    bool has = text != NULL && strstr(text, line) != NULL;
    free(text);
    return has;
}

/* The number of threads whose status has LINE; *OUT_ALL receives the number of threads. */
static int threads_with(const char *line, int *out_all)
{
    char path[400];
    int with = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)server.pid);
    DIR *tasks = opendir(path);
    cr_assert_not_null(tasks);
    const struct dirent *entry;
    *out_all = 0;
    while ((entry = readdir(tasks)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%s/status", (int)server.pid, entry->d_name);
        with += file_has(path, line);
        (*out_all)++;
    }
    closedir(tasks);
    return with;
}

static bool is_sanitized(void)
{
    return server_log_has(&server, "event=not-confined why=\"a build with sanitizers\"");
}

Test(confine, holds_in_every_thread, .fini = teardown)
{
    char path[64];
    int all = 0;
    server_open(&server, NULL);
    snprintf(path, sizeof path, "/proc/%d/limits", (int)server.pid);
    cr_expect(file_has(path, "Max core file size        0                    0 "));
    if (is_sanitized())
        return;
    int filtered = threads_with("Seccomp:\t2\n", &all);
    cr_expect_gt(all, 10);
    cr_expect_eq(filtered, all, "%d of %d", filtered, all);
    int without = threads_with("NoNewPrivs:\t1\n", &all);
    cr_expect_eq(without, all, "%d of %d", without, all);
    cr_expect(server_log_has(&server, "event=confined files=\""));
    cr_expect(server_log_has(&server, "calls=\"on\" privileges=none-new memory=private"));
}

Test(confine, can_be_left_off_for_a_debugger, .fini = teardown)
{
    int all = 0;
    server_open(&server, "--confine", "off", NULL);
    cr_expect_eq(threads_with("Seccomp:\t0\n", &all), all);
    cr_expect(server_log_has(&server, "level=warn event=not-confined"));
}
