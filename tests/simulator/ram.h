/* What the files of SQLite hold, kept in memory: a call of the kernel costs more than the rest of a
 * step. The files themselves stay empty, for names, existence and inodes are the kernel's still.
 * SQLite's own VFS does everything else. One thread, one process: locks between connections are
 * SQLite's own, those between processes hold nothing up. */
#ifndef TACET_TESTS_SIMULATOR_RAM_H
#define TACET_TESTS_SIMULATOR_RAM_H

#include <stdbool.h>
#include <stddef.h>

/* From now on every file that SQLite opens is held in memory. */
void ram_use(void);

/* Gives the file at TO what the file at FROM holds in memory, if it does. False: no file is at TO.
 */
bool ram_copy(const char *from, const char *to);

/* What the file at PATH holds, and *out_size bytes of it. NULL: nothing is held for it. */
unsigned char *ram_bytes(const char *path, size_t *out_size);

/* Cuts the file at PATH, which is held, to SIZE bytes. */
void ram_cut(const char *path, size_t size);

/* Forgets what the file at PATH holds, if there is one. It is removed next. */
void ram_forget(const char *path);

/* The number of files that are held. */
unsigned ram_count(void);

#endif
