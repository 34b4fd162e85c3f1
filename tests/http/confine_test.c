/* A running server has given up what it does not need, in every thread. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

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
    bool landlock = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, 1u) > 0;
    cr_expect(server_log_has(&server, landlock ? "event=confined files=\"on\"" : "files=\""));
    cr_expect(server_log_has(&server, "calls=\"on\" privileges=none-new memory=private"));
}

Test(confine, can_be_left_off_for_a_debugger, .fini = teardown)
{
    int all = 0;
    server_open(&server, "--confine", "off", NULL);
    cr_expect_eq(threads_with("Seccomp:\t0\n", &all), all);
    cr_expect(server_log_has(&server, "level=warn event=not-confined"));
}

/* How often TEXT is in the memory that the server can write; -1 when nobody may look. */
static int times_in_memory(const char *text)
{
    char path[64], line[512];
    int times = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)server.pid);
    FILE *maps = fopen(path, "r");
    snprintf(path, sizeof path, "/proc/%d/mem", (int)server.pid);
    int memory = open(path, O_RDONLY);
    if (memory < 0)
        times = -1;
    while (times >= 0 && maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        unsigned long from = 0, to = 0;
        char mode[8] = "";
        if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) != 3 || strncmp(mode, "rw", 2) != 0)
            continue;
        char *bytes = malloc(to - from);
        ssize_t size = bytes != NULL ? pread(memory, bytes, to - from, (off_t)from) : -1;
        const char *at = bytes;
        while (size > 0 && (at = memmem(at, (size_t)(bytes + size - at), text, strlen(text)))) {
            times++;
            at++;
        }
        free(bytes);
    }
    if (maps != NULL)
        fclose(maps);
    if (memory >= 0)
        close(memory);
    return times;
}

/* The line of a PEM file that is all key, and the same of its certificate, which is public. */
static void second_line(const char *path, char out[80])
{
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    cr_assert_not_null(fgets(out, 80, file));
    cr_assert_not_null(fgets(out, 80, file));
    out[strcspn(out, "\n")] = '\0';
    cr_assert_geq(strlen(out), 32);
    fclose(file);
}

Test(confine, the_text_of_the_tls_key_is_wiped_and_keys_are_locked, .fini = teardown)
{
    char key[80], certificate[80], path[64];
    size_t size = 0;
    server_prepare(&server);
    snprintf(server.certificate, sizeof server.certificate, "tests/http/tls/certificate.pem");
    snprintf(server.key, sizeof server.key, "tests/http/tls/key.pem");
    server_start(&server);
    if (is_sanitized())
        return;
    second_line(server.key, key);
    second_line(server.certificate, certificate);
    int found = times_in_memory(certificate);
    if (found >= 0) {
        cr_expect_gt(found, 0, "the search finds what is there");
        cr_expect_eq(times_in_memory(key), 0);
    }
    snprintf(path, sizeof path, "/proc/%d/status", (int)server.pid);
    char *status = read_whole(path, &size);
    const char *locked = strstr(status, "VmLck:");
    cr_assert_not_null(locked);
    cr_expect_gt(atoi(locked + 6), 0);
    free(status);
}

/* Long headers, so that the token's place would move. */
Test(confine, no_token_of_a_caller_stays_in_memory, .fini = teardown)
{
    char token[160], text[1200];
    server_open(&server, NULL);
    if (is_sanitized())
        return;
    server_token(&server, "steward", token);
    for (int i = 0; i < 30; i++) {
        int handle = raw_connect(&server);
        snprintf(
            text, sizeof text,
            "GET /v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nX-Long: %0700d\r\n"
            "Connection: close\r\n\r\n",
            token, i);
        cr_assert(raw_send(handle, text));
        size_t size = raw_receive(handle, text, sizeof text, true);
        cr_expect(size > 0 && strstr(text, " 200 ") != NULL, "%s", text);
        close(handle);
    }
    int found = 1;
    for (int tries = 0; found > 0 && tries < 100; tries++) { /* it closes them when it sees them */
        usleep(50000);
        found = times_in_memory(strrchr(token, '_'));
    }
    cr_expect_leq(found, 0, "%d times", found);
}
