/* A service's life: from its first start, or from a restore, until its data directory is lost. Its
 * database and its marks (marks/marks.h) name the same life, so that no older copy goes on. */
#ifndef TACET_STORAGE_RECOVERY_H
#define TACET_STORAGE_RECOVERY_H

#include "storage/ledger/ledger_restore.h"

struct recovery_life {
    char id[ID_SIZE];    /* life_; "": there are no marks */
    int64_t number;      /* 1, and one more with each restore */
    int64_t answered_ms; /* keys up to this time may have been answered in a life that was lost; 0:
                            in none */
};

/* Reads the life of a database. DB_FAILED: or its note is damaged. */
enum db_status recovery_life(struct db *db, struct recovery_life *out);

/* Opens the marks in DIRECTORY ("": there are none) for a service that starts on DB, and guards
 * DB's store with them. Datasets are uncovered that a lost transaction or a newer copy of DB
 * uncovered. False: ERROR says why it must not start. */
bool recovery_begin(struct db *db, const char *directory, int64_t now_ms, struct marks **out,
                    char *error, size_t error_size);

/* Looks whether a service could start on DB with the marks in DIRECTORY ("": there are none), while
 * none runs, and changes nothing. False: ERROR says why not. */
bool recovery_look(struct db *db, const char *directory, char *error, size_t error_size);

/* Brings the marks of accounts down whose holds have ended. A service does so every few seconds:
 * what is above an account's use is burnt by a restore. Without marks it does nothing. */
enum db_status recovery_tighten(struct db *db);

/* Writes how far the accounts are, after the last transaction of a service. NULL is fine. */
void recovery_end(struct db *db, struct marks *marks);

/* The service on DB is about to move to a database that has no marks: the marks in DIRECTORY ("":
 * DB must have none) say from now on that nothing may be restored beside them. RESUMED: an earlier
 * move may have written that already. Datasets are uncovered as by recovery_begin. False: ERROR, and
 * the marks are as they were. */
bool recovery_leave(struct db *db, const char *directory, bool resumed, int64_t now_ms,
                    struct marks **out, char *error, size_t error_size);

/* It has not moved: its marks are its own again, and are closed. NULL is fine. */
void recovery_stay(struct db *db, struct marks *marks);

/* Makes DB, a copy of a database, one that no service starts on before recovery_restore. */
bool recovery_seal(struct db *db);

/* Begins a new life on DB, an older copy of a database: spends every account up to its mark, ends
 * all jobs and shares, and refuses keys of which nobody knows whether they were answered. LOST: the
 * marks in DIRECTORY are lost, and every account is closed. May be repeated when it fails. */
bool recovery_restore(struct db *db, const char *directory, bool lost, int64_t now_ms,
                      struct ledger_restored *out, char *error, size_t error_size);

#endif
