/* A disk that loses its power, for tests.
 *
 * power_vfs_use() gives SQLite a VFS of ours as its default one. It keeps files where SQLite's own
 * VFS does, syncs nothing, and tells the disk of every write, truncation, sync and deletion in one
 * folder. The disk knows what each file held at its last sync, and what was done to it since.
 * power_disk_cut() draws from a seed what the folder may hold after the power went now, and writes
 * it into another folder, so that one run of a program can lose its power at every change:
 *
 *   - what was synced is there, whole;
 *   - of what was not, each change, or each sector of 512 bytes of it, is there, is lost, or ends
 *     in the middle of a sector; changes may have overtaken each other; a file may have grown
 *     without what was written, and then holds zeros or what the disk held before;
 *   - a new name, or the end of one, is there only if the folder was synced since. SQLite's own VFS
 *     syncs it with the first sync of a journal or log, and at deletions that ask for it;
 *   - the index of the log (-shm), which nobody syncs, is missing, whole or rubbish.
 *
 * Files that SQLite does not write (ledger.head) are told of by power_disk_wrote. There is one disk
 * at a time, for one thread. Everything follows from seeds. */
#ifndef TACET_TESTS_UNIT_STORAGE_POWER_DISK_H
#define TACET_TESTS_UNIT_STORAGE_POWER_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What was drawn at cuts, added up. */
struct power_counts {
    unsigned long cuts, kept, lost, torn, swapped, truncations_lost, rubbish, names_lost;
};

/* Makes the VFS SQLite's default one, for the rest of the process. Files outside of the disk's
 * folder pass through it. */
void power_vfs_use(void);

/* ---- the disk */

/* From now on the disk is FOLDER; what its files hold now is synced. */
void power_disk_begin(const char *folder);

/* Forgets everything. The files stay. */
void power_disk_end(void);

/* Sees every change after it was noted: CHANGES so far. It may cut. */
typedef void power_watch_fn(void *context, unsigned long changes);

/* WATCH (NULL: nobody) is called from now on. */
void power_disk_watch(power_watch_fn *watch, void *context);

/* Writes into the new folder TO what the disk may hold if the power goes now; adds to *COUNTS. */
void power_disk_cut(uint64_t seed, const char *to, struct power_counts *counts);

/* ---- what the VFS tells the disk; also for files that SQLite does not write */

struct power_file;

/* The file at PATH, noted if it is new; NULL: it is not in the disk's folder. */
struct power_file *power_disk_file(const char *path);

/* SIZE bytes were written at AT; or with BYTES NULL the file was cut or grown to SIZE bytes. */
void power_disk_wrote(struct power_file *file, const void *bytes, size_t size, int64_t at);

/* What FILE holds is synced, or what the folder does: all new names, and ends of names. */
void power_disk_synced(struct power_file *file);
void power_disk_folder_synced(void);

/* The name at PATH was removed. */
void power_disk_removed(const char *path);

#endif
