/* What the process gives up before it hears anybody. */
#ifndef TACET_SERVER_OS_CONFINE_H
#define TACET_SERVER_OS_CONFINE_H

#include <stdbool.h>

#define CONFINE_DIRECTORIES 4

/* Sets what holds from the first moment: no core files, no new privileges, and a memory that no
 * other process of this user reads. Does nothing but the first when WANTED is false, or in a build
 * with sanitizers, which look into their own process. */
void confine_from_start(bool wanted);

/* Confines this process, which is a single thread and has opened what is not beneath DIRECTORY, to
 * the files of DIRECTORIES (NULL: none) and to the calls that a service makes; when CONNECTS, it
 * may connect to a database elsewhere as well. What the system does not know how to refuse is left;
 * the log says what is on. */
void confine_process(const char *const directories[CONFINE_DIRECTORIES], bool wanted,
                     bool connects);

/* ---- its parts */

/* From now on this thread and those that it starts may open, make and remove files beneath
 * DIRECTORIES, and none elsewhere; bind and (unless CONNECTS) connect no TCP port where the system
 * knows how to refuse that; and signal no process outside. What is open stays usable. The caller
 * has given up new privileges (PR_SET_NO_NEW_PRIVS). *OUT_VERSION receives the system's version of
 * this. Returns 0, or the error number for which nothing has changed. */
int confine_files(const char *const directories[CONFINE_DIRECTORIES], bool connects,
                  int *out_version);

/* From now on this thread may read files, and neither write, make, remove nor run any. Otherwise as
 * confine_files. */
int confine_writes(void);

/* From now on this process and the threads that it starts can make no call but those of the table;
 * when CONNECTS, also those that a new connection takes. To any other the system answers ENOSYS.
 * The caller has given up new privileges (PR_SET_NO_NEW_PRIVS). Returns 0, or the error number for
 * which nothing has changed. */
int confine_calls(bool connects);

#endif
