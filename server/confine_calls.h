/* The system calls that a running service may make. Within server/. */
#ifndef TACET_SERVER_CONFINE_CALLS_H
#define TACET_SERVER_CONFINE_CALLS_H

/* From now on this process and the threads that it starts can make no call but those of the table.
 * To any other the system answers ENOSYS. The caller has given up new privileges
 * (PR_SET_NO_NEW_PRIVS). Returns 0, or the error number for which nothing has changed. */
int confine_calls(void);

#endif
