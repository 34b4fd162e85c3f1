/* DESIGN. The directory's note that the service is elsewhere is on disk before the copy is
 * committed: at no time can both databases be opened and spent. So do the marks, because the
 * service spends without them there. When the copy fails, both go back. The note names the target.
 * So a move of which nobody knows how it ended is tried again with that target alone: what another
 * one has spent since would be forgotten. */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/database.h"
#include "server/os/clock.h"
#include "server/os/data_dir.h"
#include "storage/copy.h"
#include "storage/db/db.h"
#include "storage/recovery.h"
#include "storage/upgrade.h"

#define MOVE_PATH_BYTES 4096

struct move {
    const struct database_place *place;
    const char *marks_directory;
    struct db *source, *target;
    char note[MOVE_PATH_BYTES];
    char wanted[STORAGE_PLACE_SIZE + 16]; /* the note's text */
    bool resumed;                         /* it was there, of a move to this target */
};

/* Looks whether the service moved before. False: it may be elsewhere. */
static bool look_for_note(struct move *move, char *error, size_t error_size)
{
    char place[STORAGE_PLACE_SIZE], found[sizeof move->wanted] = "";
    if (!data_dir_path(move->place->directory, DATABASE_ELSEWHERE, move->note, sizeof move->note))
        return false;
    if (storage_place(move->target, place) != DB_OK) {
        snprintf(error, error_size, "the target: %s", db_last_error(move->target));
        return false;
    }
    snprintf(move->wanted, sizeof move->wanted, "moves to %s\n", place);
    FILE *file = fopen(move->note, "re");
    if (!file && errno == ENOENT)
        return true;
    size_t size = file ? fread(found, 1, sizeof found - 1, file) : 0;
    if (file)
        fclose(file);
    found[size] = '\0';
    move->resumed = strcmp(found, move->wanted) == 0;
    if (!move->resumed)
        snprintf(error, error_size,
                 "the service is in PostgreSQL, or a move to another database was begun: the file "
                 "%.200s says so",
                 move->note);
    return move->resumed;
}

/* Writes the note, for good. */
static bool write_note(const struct move *move, char *error, size_t error_size)
{
    if (!data_dir_write_whole(move->note, move->wanted, strlen(move->wanted), error, error_size))
        return false;
    bool synced = data_dir_sync(move->place->directory);
    if (!synced)
        snprintf(error, error_size, "%.200s: %s", move->place->directory, strerror(errno));
    return synced;
}

/* Copies, with note and marks in place. What an earlier run has written of them stays. */
static bool move_rows(struct move *move, struct storage_copied *out, char *error, size_t error_size)
{
    struct marks *marks = NULL;
    char why[DB_ERROR_SIZE] = "";
    bool left = write_note(move, error, error_size) &&
                recovery_leave(move->source, move->marks_directory, move->resumed, clock_now_ms(),
                               &marks, error, error_size);
    bool moved = left && storage_copy(move->source, move->target, out, why) == DB_OK;
    bool unknown = left && !moved && db_broken(move->target);
    if (unknown)
        snprintf(error, error_size,
                 "nobody knows whether the service was moved: %.200s. Run this again: it says so",
                 why);
    else if (left && !moved)
        snprintf(error, error_size, "nothing was moved: %s", why);
    if (moved || unknown || move->resumed) {
        marks_close(marks);
        return moved;
    }
    recovery_stay(move->source, marks);
    unlink(move->note);
    return false;
}

static bool move_checked(struct move *move, struct database *database, struct db_store *store,
                         struct storage_copied *out, char *error, size_t error_size)
{
    char why[DB_ERROR_SIZE] = "";
    unsigned long long entries = 0, answers = 0;
    move->source = database_connect(database, error, error_size);
    if (!move->source || !database_verify_ledger(move->source, &entries, error, error_size) ||
        !database_verify_answers(move->source, &answers, error, error_size))
        return false;
    if (db_open(store, &move->target, why) != DB_OK) {
        snprintf(error, error_size, "the target: %s", why);
        return false;
    }
    bool in_use = storage_is_in_use(move->target);
    if (in_use)
        snprintf(error, error_size, "the target has a service already");
    bool moved = !in_use && look_for_note(move, error, error_size) &&
                 move_rows(move, out, error, error_size);
    db_close(move->target);
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
    struct move move = {.place = &place, .marks_directory = marks};
    moved = move_checked(&move, database, store, out, error, error_size);
cleanup:
    sodium_memzero(key, sizeof key);
    database_close(database);
    db_store_free(store);
    for (unsigned i = 0; i < 2; i++)
        if (locks[i] >= 0)
            close(locks[i]);
    return moved;
}
