/* The database of a data directory, opened and brought to the newest schema. */
#ifndef TACET_SERVER_DATABASE_H
#define TACET_SERVER_DATABASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/os/data_dir.h"

struct db;
struct database;
struct storage_copied;

/* Where a database is. */
struct database_place {
    const char *directory; /* holds the keys */
    const char *url;       /* of PostgreSQL; NULL, "" or "sqlite": DIRECTORY/tacet.db */
    const char *marks;     /* of the service, if it is known; NULL or "": none */
    bool unchanged;        /* as in struct db_settings */
    bool moves;            /* tacet.db, although DIRECTORY may say that it was moved */
};

/* Whether PLACE is a PostgreSQL database. */
bool database_is_remote(const struct database_place *place);

/* As data_dir_find. LOST: or its PostgreSQL server cannot be reached or is none for tacet. */
enum data_dir_found database_find(const struct database_place *place, char *error,
                                  size_t error_size);

/* Whether PLACE has a service. False: ERROR says why not. */
bool database_is_there(const struct database_place *place, char *error, size_t error_size);

/* Makes the directory of PLACE ready for the database_open of a new service. May be repeated, and
 * by two processes at once. False: ERROR holds a sentence. */
bool database_make(const struct database_place *place, char *error, size_t error_size);

/* Opens the database of PLACE and migrates it; an empty one becomes a new service. Its rows are
 * checked by digests under a key that comes from DIRECTORY/signing.key. NULL: ERROR holds a
 * sentence without anything of the URL; a database that is not ours, or belongs to another key, is
 * left as it was.
 */
struct database *database_open(const struct database_place *place, char *error, size_t error_size);

/* As database_open, for who only looks: a database of an earlier version is left as it is, with
 * NULL and *out_old set. */
struct database *database_look(const struct database_place *place, bool *out_old, char *error,
                               size_t error_size);

/* As database_open, for a command that a server may run beside: a database of an earlier version is
 * migrated only if no server has the directory, because an older program would go on in it. */
struct database *database_open_beside(const struct database_place *place, char *error,
                                      size_t error_size);

/* Moves the service of the data directory FROM, which no server has open, from its tacet.db to the
 * empty PostgreSQL database at URL (storage/copy.h). MARKS is its directory of marks, or "". From
 * then on FROM belongs to that one, and its tacet.db is not opened any more. False: ERROR holds a
 * sentence, and the service is where it was; or nobody knows, as it says, and neither is opened
 * before it was asked again. */
bool database_move(const char *from, const char *marks, const char *url, struct storage_copied *out,
                   char *error, size_t error_size);

/* The file in a data directory that says that its service is in PostgreSQL. Without it a start that
 * forgets --database would make an empty database, with all budgets unspent. */
#define DATABASE_ELSEWHERE "postgresql"

/* Derives the key of the rows' digests from the seed in PLACE's directory. */
bool database_digest_key(const struct database_place *place, unsigned char key[32], char *error,
                         size_t error_size);

/* True when the file is where it was opened: not removed, moved or replaced. Any thread. Without it
 * no transaction ends well, because what it stored would be lost with the process. */
bool database_stands(const struct database *database);

/* Opens a connection for one thread; the database closes it. NULL: ERROR holds a sentence. */
struct db *database_connect(struct database *database, char *error, size_t error_size);

/* Recomputes the whole ledger and counts its entries into *out_entries. False: ERROR says what does
 * not add up, or that there once were more entries. */
bool database_verify_ledger(struct db *db, unsigned long long *out_entries, char *error,
                            size_t error_size);

/* Reads every stored answer and counts them into *out_answers. False: ERROR says which one is not
 * as it was stored. */
bool database_verify_answers(struct db *db, unsigned long long *out_answers, char *error,
                             size_t error_size);

/* Removes what a crash left behind: half-received uploads, and leases of a process that has ended.
 * Only the holder of the directory's lock may call it. Where other processes work on the database,
 * it leaves what may be theirs. */
bool database_sweep(struct db *db, char *error, size_t error_size);

/* All of the above, before the first client and any other connection: sweeps, verifies the ledger
 * and the answers, and logs what it took. Sets *out_answers_from_ms to what answers_kept_from says.
 * False: ERROR says why the service must not start. */
bool database_make_ready(struct database *database, int64_t *out_answers_from_ms, char *error,
                         size_t error_size);

/* Logs the row that DB's last work found damaged. Ends the process at once when it is unknown
 * whether DB's last commit is on disk: no client gets an answer, and the next start reads what was
 * stored. Call it after every commit and checkpoint. */
void database_heed(struct db *db);

/* Closes every connection. NULL is fine. */
void database_close(struct database *database);

#endif
