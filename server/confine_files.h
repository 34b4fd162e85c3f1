/* The files and addresses that a running service may reach. Within server/. */
#ifndef TACET_SERVER_CONFINE_FILES_H
#define TACET_SERVER_CONFINE_FILES_H

/* From now on this thread and those that it starts may open, make and remove files beneath
 * DIRECTORY, and none elsewhere; bind and connect no TCP port where the system knows how to refuse
 * that; and signal no process outside. What is open stays usable. The caller has given up new
 * privileges (PR_SET_NO_NEW_PRIVS). *OUT_VERSION receives the system's version of this. Returns 0,
 * or the error number for which nothing has changed. */
int confine_files(const char *directory, int *out_version);

#endif
