/* A real server process on a temporary directory: start, stop, kill, start again. The program is
 * $TACET, or build/release/tacet. */
#ifndef TACET_TESTS_HTTP_SERVER_PROCESS_H
#define TACET_TESTS_HTTP_SERVER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct server_process {
    char folder[64];                 /* temporary; removed at the end */
    char data[96];                   /* its --data, below it */
    char log[96];                    /* its standard error, all runs one after another */
    char certificate[128], key[128]; /* for TLS; "" for plain HTTP */
    const char *flags[16];           /* more flags for serve, up to a NULL */
    const char *environment[4];      /* "NAME=value" for the server alone, up to a NULL */
    pid_t pid;                       /* 0 when it does not run */
    unsigned port;
    char base[64]; /* "http://127.0.0.1:PORT" */
};

/* The path of the program. */
const char *server_program(void);

/* Makes the folder; starts nothing. Every function here ends the test when it cannot do its work.
 */
void server_prepare(struct server_process *server);

/* Starts it and waits for the line that says where it listens. */
void server_start(struct server_process *server);

/* Starts it and waits for nothing. */
void server_begin(struct server_process *server);

/* Starts it, expecting that it ends by itself: gives its exit code. */
int server_start_in_vain(struct server_process *server);

/* Sends SIGNAL (0: none) and waits: the exit code, or 1000 plus the signal that ended it. */
int server_end(struct server_process *server, int signal);

/* prepare and start with flags up to a NULL; and end with SIGTERM, exit code 0, folder removed. */
void server_open(struct server_process *server, const char *flag, ...);
void server_close(struct server_process *server);

/* Kills what runs and removes the folder. */
void server_remove(struct server_process *server);

/* A fresh client's token, by `tacet client create`, which works whether the server runs or not. */
void server_token(struct server_process *server, const char *role, char out_token[160]);

/* Runs `tacet ARGUMENTS...` (up to a NULL): its exit code; OUT receives what it printed on both
 * channels. */
int tacet_run(char *out, size_t size, const char *argument, ...);

/* True when the server's log holds TEXT. */
bool server_log_has(const struct server_process *server, const char *text);

/* The most memory that it had since it was started, in KiB. */
long server_peak_kib(const struct server_process *server);

/* The whole of a file, malloc'ed and NUL-terminated; NULL when it cannot be read. */
char *read_whole(const char *path, size_t *out_size);

#endif
