/* Files that are opened again while the service runs, although the service may open none outside of
 * its data directory: a process that was begun before opens the files that it was begun with, by
 * their names as they are then, and hands over the descriptors. It reads nothing itself, writes
 * no file, and ends with the service. */
#ifndef TACET_SERVER_OS_REOPEN_H
#define TACET_SERVER_OS_REOPEN_H

#include <stdio.h>

struct reopen;

/* Begins the process, while there is one thread, for the files PATHS[count]. It wipes SECRET, which
 * the caller still needs. NULL: no process. */
struct reopen *reopen_start(const char *const *paths, unsigned count, void *secret, size_t size);

/* A new descriptor of the file INDEX for reading. -1: it cannot be opened, and errno says why. One
 * thread at a time. */
int reopen_file(struct reopen *reopen, unsigned index);

/* Ends the process. NULL is fine. */
void reopen_end(struct reopen *reopen);

#endif
