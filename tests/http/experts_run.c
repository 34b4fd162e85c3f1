/* A child process, its folder and what it leaves there. */
#include "tests/http/experts_run.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS 32

pid_t experts_start(const struct server_process *server, const char *token,
                    const char *const *words)
{
    char *program = realpath(server_program(), NULL);
    const char *arguments[WORDS + 3] = {program, "experts"};
    cr_assert_not_null(program);
    for (unsigned n = 0; words[n] != NULL; n++) {
        cr_assert_lt(n, WORDS);
        arguments[n + 2] = words[n];
    }
    fflush(NULL);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        unsetenv("TACET_TOKEN");
        if (token != NULL)
            setenv("TACET_TOKEN", token, 1);
        if (chdir(server->folder) != 0)
            _exit(126);
        int said = open("said", O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(said, STDOUT_FILENO);
        dup2(said, STDERR_FILENO);
        execv(arguments[0], (char **)(uintptr_t)arguments);
        _exit(127);
    }
    free(program);
    return child;
}

int experts_end(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

const char *experts_path(const struct server_process *server, const char *name)
{
    static char path[2][160];
    static unsigned turn;
    turn ^= 1;
    snprintf(path[turn], sizeof path[turn], "%s/%s", server->folder, name);
    return path[turn];
}

char *experts_file(const struct server_process *server, const char *name, size_t *size)
{
    return read_whole(experts_path(server, name), size);
}

bool experts_wait(const struct server_process *server, const char *name, unsigned count,
                  pid_t child)
{
    char wanted[32];
    snprintf(wanted, sizeof wanted, "\ndone %u ", count);
    for (;;) {
        size_t size = 0;
        char *state = experts_file(server, name, &size);
        bool there = state != NULL && strstr(state, wanted) != NULL;
        free(state);
        siginfo_t ended = {0};
        if (there)
            return true;
        waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT);
        if (ended.si_pid == child)
            return false;
        usleep(1000);
    }
}

bool experts_left(const struct server_process *server, const char *name)
{
    return access(experts_path(server, name), F_OK) == 0;
}

void experts_refused(const struct server_process *server, const char *token, int code,
                     const char *what, const char *const *words)
{
    size_t size = 0;
    int got = experts_end(experts_start(server, token, words));
    char *said = experts_file(server, "said", &size), *end = strchr(said, '\n');
    cr_expect_eq(got, code, "%s: %d, %s", what, got, said);
    cr_expect(end != NULL && end[1] == '\0', "%s: %s", what, said);
    cr_expect_not_null(strstr(said, what), "%s: %s", what, said);
    cr_expect(token == NULL || strstr(said, token) == NULL, "the token shows: %s", said);
    free(said);
}
