/* Running `tacet experts` in a folder of its own, to be watched, killed and begun again. */
#ifndef TACET_TESTS_HTTP_EXPERTS_RUN_H
#define TACET_TESTS_HTTP_EXPERTS_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "tests/http/server_process.h"

/* Six settings of three experts; a training run takes some 50 ms. */
#define EXPERTS_MANY     "18"
#define EXPERTS_SETTINGS 6
#define EXPERTS_SMALL    "--trajectories", "2", "--max-steps", "50", "--threads", "1"

/* Starts `tacet experts WORDS...` (up to a NULL) in the folder of SERVER, which need not run, with
 * TOKEN in TACET_TOKEN unless it is NULL; all it says goes to FOLDER/said. */
pid_t experts_start(const struct server_process *server, const char *token,
                    const char *const *words);

/* Waits for its end: its exit code, or 1000 plus the signal that ended it. */
int experts_end(pid_t child);

/* The path of NAME in the folder; two of them live at a time. */
const char *experts_path(const struct server_process *server, const char *name);

/* The whole file NAME, as read_whole; and whether it is there. */
char *experts_file(const struct server_process *server, const char *name, size_t *size);
bool experts_left(const struct server_process *server, const char *name);

/* Waits until the state file NAME tells of COUNT settings; false when CHILD ended before. */
bool experts_wait(const struct server_process *server, const char *name, unsigned count,
                  pid_t child);

/* Runs it: exit code CODE and one line that says WHAT; the token is not in it. */
void experts_refused(const struct server_process *server, const char *token, int code,
                     const char *what, const char *const *words);

#endif
