/* DESIGN. The directory's note that the service is elsewhere is on disk before the copy is
 * committed: at no time can both databases be opened and spent. Marks say before that, too, that
 * the service is elsewhere, because it spends without them there. When the copy fails, both go
 * back. */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/database.h"
#include "server/os/data_dir.h"
#include "storage/copy.h"
#include "storage/db/db.h"
#include "storage/recovery.h"

#define MOVE_PATH_BYTES 4096

/* Writes the note, for good. *OUT_MADE: it was not there. */
static bool move_note(const char *from, char path[MOVE_PATH_BYTES], bool *out_made, char *error,
                      size_t error_size)
{
    struct stat status;
    if (!data_dir_path(from, DATABASE_ELSEWHERE, path, MOVE_PATH_BYTES))
        return false;
    *out_made = stat(path, &status) != 0;
    if (!data_dir_write_whole(path, "postgresql\n", error, error_size))
        return false;
    int directory = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool synced = directory >= 0 && fsync(directory) == 0;
    if (directory >= 0)
        close(directory);
    if (!synced)
        snprintf(error, error_size, "%.200s: %s", from, strerror(errno));
    return synced;
}

/* Copies, with the note in place. */
static bool move_rows(const char *from, struct db *source, struct db *target,
                      struct storage_copied *out, char *error, size_t error_size)
{
    char path[MOVE_PATH_BYTES], why[DB_ERROR_SIZE] = "";
    bool made = false;
    if (!move_note(from, path, &made, error, error_size))
        return false;
    if (storage_copy(source, target, out, why) == DB_OK)
        return true;
    if (db_broken(target)) {
        snprintf(error, error_size,
                 "nobody knows whether the service was moved: %.200s. Run this again: it says so",
                 why);
        return false;
    }
    if (made)
        unlink(path);
    snprintf(error, error_size, "nothing was moved: %s", why);
    return false;
}

static bool move_checked(const struct database_place *place, const char *marks_directory,
                         struct database *database, struct db_store *store,
                         struct storage_copied *out, char *error, size_t error_size)
{
    struct marks *marks = NULL;
    char why[DB_ERROR_SIZE] = "";
    unsigned long long entries = 0, answers = 0;
    struct db *target = NULL, *source = database_connect(database, error, error_size);
    if (!source || !database_verify_ledger(source, &entries, error, error_size) ||
        !database_verify_answers(source, &answers, error, error_size))
        return false;
    if (db_open(store, &target, why) != DB_OK) {
        snprintf(error, error_size, "the target: %s", why);
        return false;
    }
    bool left = recovery_leave(source, marks_directory, &marks, error, error_size);
    bool moved = left && move_rows(place->directory, source, target, out, error, error_size);
    if (moved || db_broken(target))
        marks_close(marks);
    else
        recovery_stay(source, marks);
    db_close(target);
    return moved;
}

bool database_move(const char *from, const char *marks, const char *url, struct storage_copied *out,
                   char *error, size_t error_size)
{
    const struct database_place place = {.directory = from, .moves = true};
    unsigned char key[DB_KEY_SIZE] = {0};
    struct database *database = NULL;
    struct db_store *store = NULL;
    int locks[2] = {-1, -1};
    bool moved = false;
    if (!database_is_remote(&(struct database_place){.url = url})) {
        snprintf(error, error_size, "the target must be postgresql://...");
        return false;
    }
    if (!database_is_there(&place, error, error_size))
        return false;
    if (!data_dir_lock(from, locks, error, error_size) ||
        !database_digest_key(&place, key, error, error_size) ||
        !(database = database_open(&place, error, error_size)))
        goto cleanup;
    store = db_store_new(&db_driver_postgres,
                         &(struct db_settings){.location = url, .digest_key = key});
    moved = move_checked(&place, marks, database, store, out, error, error_size);
cleanup:
    sodium_memzero(key, sizeof key);
    database_close(database);
    db_store_free(store);
    for (unsigned i = 0; i < 2; i++)
        if (locks[i] >= 0)
            close(locks[i]);
    return moved;
}
