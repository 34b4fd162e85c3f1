/* SQLite's write-ahead log, written in one piece per commit.
 *
 * SQLite hands a commit to the system as two small writes for every page of the log; a commit of a
 * dozen pages is then two dozen system calls, more than the copying costs. This layer between
 * SQLite and its own way to files (a "VFS") gathers what is appended to the log and writes it
 * before anybody can look: when the commit's last page is there, and before anything is read from
 * the file, synced, cut or closed. For the driver alone. */
#ifndef TACET_STORAGE_DB_LOG_GATHER_H
#define TACET_STORAGE_DB_LOG_GATHER_H

struct sqlite3;

/* Makes the layer known to SQLite, once in a process, and gives its name for sqlite3_open_v2. NULL
 * when SQLite refuses or has no default layer: its own is then as good. Any thread. */
const char *log_gather_name(void);

/* The transaction of HANDLE was rolled back: what it had gathered for the log is dropped. To be
 * called from HANDLE's rollback hook, which SQLite calls whatever rolled back. Other layers' files
 * are left alone. */
void log_gather_rolled_back(struct sqlite3 *handle);

#endif
