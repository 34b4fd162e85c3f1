/* Forks and execs the server; its line on standard output comes through a pipe. */
#include "tests/http/server_process.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

const char *server_program(void)
{
    const char *path = getenv("TACET");
    return path != NULL && path[0] != '\0' ? path : "build/release/tacet";
}

/* Over PostgreSQL (scripts/with-postgres) a service has the database that is called like its
 * folder, /tmp/NAME/data. */
static void ask_database(const char *folder, const char *sql)
{
    char command[512];
    const char *place = getenv("POSTGRES_TEST_DATABASE");
    if (place == NULL)
        return;
    snprintf(command, sizeof command, "psql -q 'postgresql:///postgres?%s' -c '%s \"%.*s\"'", place,
             sql, (int)strcspn(folder + strlen("/tmp/"), "/"), folder + strlen("/tmp/"));
    cr_expect_eq(system(command), 0, "%s", command);
}

static void use_database(const char *data)
{
    char url[256];
    const char *place = getenv("POSTGRES_TEST_DATABASE");
    if (place == NULL || strncmp(data, "/tmp/", 5) != 0)
        return;
    data += strlen("/tmp/");
    snprintf(url, sizeof url, "postgresql:///%.*s?%s", (int)strcspn(data, "/"), data, place);
    setenv("TACET_DATABASE", url, 1);
}

void server_prepare(struct server_process *server)
{
    *server = (struct server_process){0};
    snprintf(server->folder, sizeof server->folder, "/tmp/tacet-test-XXXXXX");
    cr_assert_not_null(mkdtemp(server->folder), "no temporary directory: %s", strerror(errno));
    snprintf(server->data, sizeof server->data, "%s/data", server->folder);
    snprintf(server->log, sizeof server->log, "%s/log", server->folder);
    ask_database(server->folder, "CREATE DATABASE");
}

/* In the child: standard output to OUT, errors to the log, and no life after the test. */
static void exec_server(const struct server_process *server, int out)
{
    const char *arguments[32] = {server_program(), "serve",    "--data",
                                 server->data,     "--listen", "127.0.0.1:0"};
    unsigned n = 6;
    if (server->certificate[0] != '\0') {
        arguments[n++] = "--tls-cert";
        arguments[n++] = server->certificate;
        arguments[n++] = "--tls-key";
        arguments[n++] = server->key;
    }
    for (unsigned i = 0; server->flags[i] != NULL; i++)
        arguments[n++] = server->flags[i];
    arguments[n] = NULL;
    int log = open(server->log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    for (unsigned i = 0; server->environment[i] != NULL; i++)
        putenv((char *)(uintptr_t)server->environment[i]);
    use_database(server->data);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(out, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    execv(arguments[0], (char **)(uintptr_t)arguments);
    fprintf(stderr, "%s: %s\n", arguments[0], strerror(errno));
    _exit(127);
}

/* Forks; gives the read end of its standard output. */
static int launch(struct server_process *server)
{
    int ends[2];
    cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
    server->pid = fork();
    cr_assert_geq(server->pid, 0, "fork: %s", strerror(errno));
    if (server->pid == 0)
        exec_server(server, ends[1]);
    close(ends[1]);
    return ends[0];
}

static int wait_for(struct server_process *server)
{
    int status = 0;
    pid_t got;
    while ((got = waitpid(server->pid, &status, 0)) < 0 && errno == EINTR)
        continue;
    cr_assert_eq(got, server->pid);
    server->pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

void server_start(struct server_process *server)
{
    char line[128];
    int out = launch(server);
    FILE *stream = fdopen(out, "r");
    cr_assert_not_null(stream);
    if (fgets(line, sizeof line, stream) == NULL) {
        size_t size = 0;
        char *log = read_whole(server->log, &size);
        int code = wait_for(server);
        cr_assert_fail("the server did not start, exit code %d: %s", code, log);
    }
    /* The server writes one line only: nothing waits for the other end. */
    fclose(stream);
    char scheme[8];
    cr_assert_eq(sscanf(line, "listening on %7[a-z]://127.0.0.1:%u", scheme, &server->port), 2,
                 "unexpected line: %s", line);
    snprintf(server->base, sizeof server->base, "%s://127.0.0.1:%u", scheme, server->port);
}

void server_begin(struct server_process *server)
{
    close(launch(server));
}

int server_start_in_vain(struct server_process *server)
{
    server_begin(server);
    return wait_for(server);
}

int server_end(struct server_process *server, int signal_number)
{
    cr_assert_gt(server->pid, 0);
    kill(server->pid, signal_number);
    return wait_for(server);
}

void server_open(struct server_process *server, const char *flag, ...)
{
    va_list flags;
    server_prepare(server);
    va_start(flags, flag);
    for (unsigned n = 0; flag != NULL; flag = va_arg(flags, const char *))
        server->flags[n++] = flag;
    va_end(flags);
    server_start(server);
}

/* Also of a .fini, where Criterion counts no failed assertion, but an end by a signal. */
static void server_fault(const struct server_process *server, int code)
{
    size_t size = 0;
    fprintf(stderr, "the server's exit code is %d: %s\n", code, read_whole(server->log, &size));
    abort();
}

void server_close(struct server_process *server)
{
    int code = server_end(server, SIGTERM);
    if (code != 0 || server_log_has(server, "Sanitizer"))
        server_fault(server, code);
    server_remove(server);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

/* Moves the ledger of a server that has ended into the folder $KEPT_LEDGERS, where there is one,
 * under the name of the server's folder: tests/oracle prices it again. */
static void keep_ledger(const struct server_process *server)
{
    const char *folder = getenv("KEPT_LEDGERS");
    for (int i = 0; folder && i < 2; i++) {
        const char *end = i == 0 ? "" : "-wal";
        char from[128], to[256];
        snprintf(from, sizeof from, "%s/data/tacet.db%s", server->folder, end);
        snprintf(to, sizeof to, "%s/%s.db%s", folder, strrchr(server->folder, '/') + 1, end);
        cr_expect(rename(from, to) == 0 || errno == ENOENT, "%s: %s", to, strerror(errno));
    }
}

void server_remove(struct server_process *server)
{
    if (server->pid > 0)
        server_end(server, SIGKILL);
    keep_ledger(server);
    ask_database(server->folder, "DROP DATABASE");
    nftw(server->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* OUT receives standard output, and with ERRORS_TOO standard error; the rest is thrown away. */
static int run_list(char *out, size_t size, const char *const *arguments, bool errors_too)
{
    int ends[2], status = 0;
    cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        for (unsigned i = 0; arguments[i] != NULL && arguments[i + 1] != NULL; i++)
            if (strcmp(arguments[i], "--data") == 0)
                use_database(arguments[i + 1]);
        dup2(ends[1], STDOUT_FILENO);
        dup2(errors_too ? ends[1] : open("/dev/null", O_WRONLY), STDERR_FILENO);
        execv(arguments[0], (char **)(uintptr_t)arguments);
        _exit(127);
    }
    close(ends[1]);
    size_t used = 0;
    char rest[256];
    ssize_t n;
    while ((n = used + 1 < size ? read(ends[0], out + used, size - 1 - used)
                                : read(ends[0], rest, sizeof rest)) > 0)
        used += used + 1 < size ? (size_t)n : 0;
    out[used] = '\0';
    close(ends[0]);
    cr_assert_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

int tacet_run(char *out, size_t size, const char *argument, ...)
{
    const char *arguments[24] = {server_program()};
    unsigned n = 1;
    va_list list;
    va_start(list, argument);
    for (; argument != NULL; argument = va_arg(list, const char *)) {
        cr_assert_lt(n, 23);
        arguments[n++] = argument;
    }
    va_end(list);
    return run_list(out, size, arguments, true);
}

void server_token(struct server_process *server, const char *role, char out_token[160])
{
    char out[512];
    const char *const arguments[] = {server_program(), "client", "create", "--data", server->data,
                                     "--role",         role,     "--name", role,     NULL};
    int code = run_list(out, sizeof out, arguments, false);
    cr_assert_eq(code, 0, "client create: exit code %d: %s", code, out);
    cr_assert_eq(sscanf(out, "%159s", out_token), 1, "no token: %s", out);
    cr_expect_eq(strlen(out), strlen(out_token) + 1, "more than the token's line: %s", out);
}

char *read_whole(const char *path, size_t *out_size)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t used = 0, n = 1;
    while (file != NULL && n > 0) {
        char *more = realloc(text, used + 65536 + 1);
        cr_assert_not_null(more);
        text = more;
        n = fread(text + used, 1, 65536, file);
        used += n;
        text[used] = '\0';
    }
    if (file != NULL)
        fclose(file);
    *out_size = used;
    return text;
}

bool server_log_has(const struct server_process *server, const char *text)
{
    size_t size = 0;
    char *log = read_whole(server->log, &size);
    bool has = log != NULL && strstr(log, text) != NULL;
    free(log);
    return has;
}

long server_peak_kib(const struct server_process *server)
{
    char path[64];
    size_t size = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)server->pid);
    char *status = read_whole(path, &size);
    cr_assert_not_null(status);
    const char *line = strstr(status, "VmHWM:");
    cr_assert_not_null(line);
    long kib = strtol(line + strlen("VmHWM:"), NULL, 10);
    free(status);
    return kib;
}
