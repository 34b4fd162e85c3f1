/* tacet backup: adds a running service's database to a vault (vault.h). */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/backup/identity.h"
#include "cli/backup/vault.h"
#include "cli/cli.h"
#include "server/database.h"
#include "server/os/clock.h"
#include "server/os/data_dir.h"
#include "storage/recovery.h"

struct backup_options {
    const char *config, *data, *to, *recipient, *make_identity;
};

#define FLAG_OPTIONS struct backup_options

static const struct flag TABLE[] = {
    CLI_FLAG_CONFIG(config),
    {"data", AS_ANY_TEXT(data), "./data", "DIR", "data directory of the service, which may run",
     FLAG_ENVIRONMENT},
    {"to", AS_TEXT(to), NULL, "DIR", "directory of the backups, on another machine", 0},
    {"recipient", AS_TEXT(recipient), NULL, "KEY", "64 hexadecimal digits: who can restore", 0},
    {"make-identity", AS_TEXT(make_identity), NULL, "FILE",
     "write a new secret key to FILE, print its recipient's key, and do nothing else", 0},
};

static const struct flags FLAGS = {
    .program = "tacet backup",
    .usage =
        "usage: tacet backup --make-identity FILE\n"
        "       tacet backup --to DIR --recipient KEY [--data DIR | --config FILE]\n\n"
        "Backs up the database and the signing key of a service with SQLite, encrypted, while\n"
        "it runs. Only what has changed since the last backup in DIR is written. The keys of\n"
        "private data (keys/) are not in it: docs/operating.md says how to keep them.\n\n",
    FLAG_TABLE(TABLE),
    CLI_CONFIG_OF_SERVER,
};

/* Copies the database of OPTIONS to COPY, which no service starts on. *OUT_MARKED: it has marks. */
static bool copy_database(const struct backup_options *options, const char *copy, bool *out_marked,
                          char *error)
{
    struct recovery_life life = {.number = 0};
    const struct database_place place = {.directory = options->data};
    unsigned char key[DB_KEY_SIZE];
    char why[DB_ERROR_SIZE] = "";
    bool old = false;
    struct db *db = NULL;
    struct database *database = database_look(&place, &old, error, CLI_ERROR_SIZE);
    if (old)
        snprintf(error, CLI_ERROR_SIZE, "the database is of an earlier version: start it once");
    bool good = database && (db = database_connect(database, error, CLI_ERROR_SIZE));
    if (good && db_copy(db, copy) != DB_OK) {
        snprintf(error, CLI_ERROR_SIZE, "%s", db_last_error(db));
        good = false;
    }
    database_close(database);
    if (!good || !database_digest_key(&place, key, error, CLI_ERROR_SIZE))
        return false;
    struct db_store *store =
        db_store_new(&db_driver_sqlite, &(struct db_settings){.location = copy, .digest_key = key});
    db = NULL;
    good =
        db_open(store, &db, why) == DB_OK && recovery_life(db, &life) == DB_OK && recovery_seal(db);
    *out_marked = life.id[0] != '\0';
    if (!good)
        snprintf(error, CLI_ERROR_SIZE, "the copy of the database cannot be opened: %s",
                 db ? db_last_error(db) : why);
    db_close(db);
    db_store_free(store);
    return good;
}

/* Opens the file of the lock at PATH. A new one belongs to DIRECTORY's user, whoever makes it: else
 * no other one could back up after root. That user may have put a link in its place, which is not
 * followed. -1: errno says why not. */
static int open_lock(const char *path, const char *directory)
{
    struct stat owner, file;
    int lock = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (lock >= 0) {
        if (geteuid() == 0 && stat(directory, &owner) == 0)
            (void)!fchown(lock, owner.st_uid, owner.st_gid);
        return lock;
    }
    if (errno != EEXIST)
        return -1;
    lock = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (lock < 0 || (fstat(lock, &file) == 0 && S_ISREG(file.st_mode) && file.st_nlink == 1))
        return lock;
    close(lock);
    errno = ELOOP;
    return -1;
}

/* Locks the copy of the database in DIRECTORY; -1: ERROR says why not. */
static int lock_copy(const char *directory, char *error)
{
    char path[4200];
    snprintf(path, sizeof path, "%.4000s/%s", directory, DATA_DIR_BACKUP_LOCK);
    int lock = open_lock(path, directory);
    if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
        return lock;
    if (lock >= 0 && errno == EWOULDBLOCK)
        snprintf(error, CLI_ERROR_SIZE, "another backup of this service runs");
    else
        snprintf(error, CLI_ERROR_SIZE, "%.400s: %s", path, strerror(errno));
    if (lock >= 0)
        close(lock);
    return -1;
}

static bool back_up(const struct backup_options *options, struct vault_counts *out,
                    bool *out_marked, char *error)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    unsigned char recipient[VAULT_KEY_SIZE], seed[VAULT_KEY_SIZE];
    char copy[4096], path[4200];
    if (!identity_parse(options->recipient, recipient)) {
        snprintf(
            error, CLI_ERROR_SIZE,
            "--recipient is 64 hexadecimal digits: those that --make-identity has printed, not "
            "what is in its file");
        return false;
    }
    if (!data_dir_path(options->data, "tacet.copy", copy, sizeof copy)) {
        snprintf(error, CLI_ERROR_SIZE, "the name of the data directory is too long");
        return false;
    }
    if (!database_is_there(&(struct database_place){.directory = options->data}, error,
                           CLI_ERROR_SIZE))
        return false;
    int lock = lock_copy(options->data, error);
    if (lock < 0)
        return false;
    (void)unlink(copy); /* of a backup that was killed */
    bool good =
        data_dir_signing_seed(options->data, seed, error, CLI_ERROR_SIZE) &&
        copy_database(options, copy, out_marked, error) &&
        vault_add(options->to, recipient, seed, copy, clock_now_ms(), out, error, CLI_ERROR_SIZE);
    sodium_memzero(seed, sizeof seed);
    for (unsigned i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        snprintf(path, sizeof path, "%s%s", copy, suffixes[i]);
        (void)unlink(path);
    }
    if (good)
        data_dir_note_backup(lock, clock_now_ms() / 1000);
    close(lock);
    return good;
}

static int run_backup(const struct backup_options *options)
{
    struct vault_counts counts;
    char error[CLI_ERROR_SIZE] = "", recipient[2 * VAULT_KEY_SIZE + 1];
    umask(077);
    if (options->make_identity) {
        if (!identity_make(options->make_identity, recipient, error))
            return cli_complain(&FLAGS, CLI_FAILED, "%s", error);
        printf("%s\n", recipient);
        return fflush(stdout) == 0 ? CLI_DONE : CLI_FAILED;
    }
    if (!options->to || !options->recipient)
        return cli_complain(&FLAGS, CLI_USAGE, "needs --to and --recipient");
    bool marked = false;
    if (!back_up(options, &counts, &marked, error))
        return cli_complain(&FLAGS, CLI_FAILED, "%s", error);
    if (!marked)
        (void)cli_complain(&FLAGS, CLI_DONE,
                           "this service has no marks (tacet serve --marks DIR), so a restore of "
                           "this backup will close every account");
    printf("backed up: %" PRIu64 " bytes, %" PRIu64 " of %" PRIu64 " chunks are new\n",
           counts.bytes, counts.written, counts.chunks);
    printf("not in it: the keys of private data (keys/ of the data directory, or --keys-dir of the "
           "server); keep a copy of them apart from the backups\n");
    return fflush(stdout) == 0 ? CLI_DONE : CLI_FAILED;
}

int cli_backup(int argc, char **argv)
{
    struct backup_options options = {.data = NULL};
    struct flags_found found;
    int status = cli_read_flags(&FLAGS, argc, argv, &options, &found);
    if (status != CLI_GO_ON)
        return status;
    status = run_backup(&options);
    free(found.file);
    return status;
}
