/* A root, users and calls of its own for a program that nobody here answers for. Within programs/.
 *
 * What the process sees afterwards: /usr with /bin, /sbin and /lib* beside it, to read alone;
 * /dev/null and /dev/urandom; its source, the file /world; and /tmp, which is in memory and
 * bounded. No /proc, no data directory, no socket. It holds no capability and can make only the
 * calls of the table in sealed_calls.c. */
#ifndef TACET_PROGRAMS_SEALED_H
#define TACET_PROGRAMS_SEALED_H

#include <linux/audit.h>
#include <stdbool.h>

#include "programs/limits.h"

#define SEALED_USER      65534 /* who the program is when the server is root */
#define SEALED_NAMESPACE 2     /* processes that count beside the program's */

/* Whose calls the filters know; not defined on a machine that they do not. */
#if defined(__x86_64__)
#define OUR_MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE AUDIT_ARCH_AARCH64
#endif

/* Seals this process, the first of a namespace of processes and users of its own, and all that it
 * starts. SOURCE is read to its end. False: a part failed, and the caller must exit at once. */
bool sealed_enter(const struct program_limits *limits, int source);

/* From now on this process and what it starts can make no call but those of the table; to any other
 * the system answers ENOSYS. False: nothing has changed. The caller has given up new privileges. */
bool sealed_limit_calls(void);

#endif
