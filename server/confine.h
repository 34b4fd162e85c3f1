/* What the process gives up before it hears anybody. */
#ifndef TACET_SERVER_CONFINE_H
#define TACET_SERVER_CONFINE_H

#include <stdbool.h>

/* Sets what holds from the first moment: no core files, no new privileges, and a memory that no
 * other process of this user reads. Does nothing but the first when WANTED is false, or in a build
 * with sanitizers, which look into their own process. */
void confine_from_start(bool wanted);

/* Confines this process, which is a single thread and has opened what is not beneath DIRECTORY, to
 * the files of DIRECTORY and to the calls that a service makes. What the system does not know how
 * to refuse is left; the log says what is on. */
void confine_process(const char *directory, bool wanted);

#endif
