/* tacet restore: begins a new life of a service from a backup (vault.h), or from an older copy of
 * its data directory, and spends what may have been spent in the life that was lost. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/backup/identity.h"
#include "cli/cli.h"
#include "server/database.h"
#include "server/os/clock.h"
#include "server/os/data_dir.h"
#include "storage/recovery.h"
#include "storage/sealing.h"

struct restore_options {
    const char *config, *data, *marks, *from, *identity, *backup;
    bool lost, check;
};

#define FLAG_OPTIONS struct restore_options

static const struct flag TABLE[] = {
    CLI_FLAG_CONFIG(config),
    {"data", AS_ANY_TEXT(data), "./data", "DIR",
     "data directory, new or empty; without --from one that is older than its marks",
     FLAG_ENVIRONMENT},
    {"marks", AS_TEXT(marks), NULL, "DIR", "marks of the service (tacet serve --marks)",
     FLAG_ENVIRONMENT},
    {"from", AS_TEXT(from), NULL, "DIR", "directory of the backups (tacet backup --to)", 0},
    {"identity", AS_TEXT(identity), NULL, "FILE",
     "secret key of the recipient (tacet backup --make-identity)", 0},
    {"backup", AS_TEXT(backup), NULL, "NAME", "a file in backups/; by default the newest", 0},
    {"check", AS_SWITCH(check), NULL, "",
     "only try the backup: decrypt it into the new directory of --data, verify it, and remove it",
     0},
    {"marks-lost", AS_SWITCH(lost), NULL, "",
     "the marks are lost: close every account, so that nothing is paid any more", 0},
};

static const struct flags FLAGS = {
    .program = "tacet restore",
    .usage = "usage: tacet restore --from DIR --identity FILE --marks DIR [--data DIR]\n"
             "       tacet restore --marks DIR [--data DIR]\n"
             "       tacet restore --check --from DIR --identity FILE --data DIR\n\n"
             "Restores a backup, verifies its ledger, and spends every account up to its mark, so\n"
             "that no account pays more than its limit over both lives. Jobs and guarantees have\n"
             "ended, and keys that may have been answered before are refused. Without --from it\n"
             "does this to a data directory that is there, while no server runs on it. When it\n"
             "fails, what it made in the data directory is removed, and it may be repeated.\n\n",
    FLAG_TABLE(TABLE),
    CLI_CONFIG_OF_SERVER,
};

#define NOT_EMPTY                                                                                  \
    "%s is not empty: restore into a new directory, or, if a restore was stopped in the middle, "  \
    "repeat it without --from"

/* Whether nothing is in DIRECTORY but the lock of a restore that failed. */
static bool is_empty_directory(const char *directory)
{
    static const char *const none[] = {".", "..", "lock"};
    DIR *folder = opendir(directory);
    unsigned others = 0;
    if (!folder)
        return errno == ENOENT;
    for (struct dirent *entry; (entry = readdir(folder));) {
        others++;
        for (unsigned i = 0; i < sizeof none / sizeof *none; i++)
            others -= strcmp(entry->d_name, none[i]) == 0;
    }
    closedir(folder);
    return others == 0;
}

/* Removes from DIRECTORY, which was empty, what a restore that failed has made in it, and the
 * directory itself where the restore has MADE it. Adds to ERROR what cannot be removed. */
static void remove_made(const char *directory, bool made, char *error)
{
    static const char *const names[] = {"tacet.copy",   "tacet.db",    "tacet.db-wal",
                                        "tacet.db-shm", "ledger.head", "tacet.db-journal",
                                        "signing.key",  "lock"};
    char path[4096];
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        size_t said = strlen(error);
        if (data_dir_path(directory, names[i], path, sizeof path) && unlink(path) != 0 &&
            errno != ENOENT)
            snprintf(error + said, CLI_ERROR_SIZE - said, "; remove %.200s (%s)", path,
                     strerror(errno));
    }
    if (made)
        (void)rmdir(directory);
}

/* Fills the data directory from the backup, whose database no service starts on yet. */
static bool fill_directory(const struct restore_options *options, char *error)
{
    unsigned char identity[VAULT_KEY_SIZE], seed[VAULT_KEY_SIZE];
    char draft[4096], path[4096], name[VAULT_NAME_SIZE];
    bool good = identity_read(options->identity, identity, error) &&
                data_dir_path(options->data, "tacet.copy", draft, sizeof draft) &&
                data_dir_path(options->data, "tacet.db", path, sizeof path) &&
                vault_take(options->from, options->backup, identity, draft, seed, name, error,
                           CLI_ERROR_SIZE);
    sodium_memzero(identity, sizeof identity);
    good = good && data_dir_take_signing_seed(options->data, seed, error, CLI_ERROR_SIZE);
    sodium_memzero(seed, sizeof seed);
    if (good && rename(draft, path) != 0) {
        snprintf(error, CLI_ERROR_SIZE, "%.400s: %s", path, strerror(errno));
        good = false;
    }
    if (good)
        printf("backup %s\n", name);
    return good;
}

/* Removes the number of entries that the lost life had, which the new one has not. */
static bool forget_head(const char *directory, char *error)
{
    char path[4096];
    if (data_dir_path(directory, "ledger.head", path, sizeof path) &&
        (unlink(path) == 0 || errno == ENOENT) && data_dir_sync(directory))
        return true;
    snprintf(
        error, CLI_ERROR_SIZE,
        "the life has begun, but %.400s may be there still: %s; see that it is gone, and start",
        path, strerror(errno));
    return false;
}

/* *OUT_SEALED: what it has is encrypted under keys that are not in the backup. */
static bool begin_life(const struct restore_options *options, struct ledger_restored *out,
                       bool *out_sealed, char *error)
{
    char name[SEALING_NAME_SIZE];
    const struct database_place place = {.directory = options->data};
    unsigned long long answers = 0;
    if (!database_is_there(&place, error, CLI_ERROR_SIZE))
        return false;
    struct database *database = database_open(&place, error, CLI_ERROR_SIZE);
    struct db *db = database ? database_connect(database, error, CLI_ERROR_SIZE) : NULL;
    bool good = db && database_verify_answers(db, &answers, error, CLI_ERROR_SIZE) &&
                recovery_restore(db, options->marks, options->lost, clock_now_ms(), out, error,
                                 CLI_ERROR_SIZE);
    *out_sealed = good && sealing_key_name(db, name) == DB_OK;
    database_close(database);
    /* A new directory has none but its own, and is removed when this fails. */
    return good && (options->from || forget_head(options->data, error));
}

/* Verifies the backup that fill_directory has put in the data directory. */
static bool try_backup(const struct restore_options *options, char *error)
{
    const struct database_place place = {.directory = options->data};
    unsigned long long entries = 0, answers = 0;
    struct database *database = database_open(&place, error, CLI_ERROR_SIZE);
    struct db *db = database ? database_connect(database, error, CLI_ERROR_SIZE) : NULL;
    bool good = db && database_verify_ledger(db, &entries, error, CLI_ERROR_SIZE) &&
                database_verify_answers(db, &answers, error, CLI_ERROR_SIZE);
    database_close(database);
    if (good)
        printf("good: %llu entries of the ledger add up, and %llu answers are as they were "
               "stored\n",
               entries, answers);
    return good;
}

/* Says what the next start needs. */
static void print_needs(const struct restore_options *options, bool sealed)
{
    char keys[4096];
    if (sealed && data_dir_path(options->data, "keys", keys, sizeof keys) &&
        access(keys, F_OK) != 0)
        printf("put back the keys of private data, which no backup has: copy their directory to "
               "%s, or give --keys-dir as before; without them the service does not start\n",
               keys);
    printf("the next start needs --marks %s, and the master key if one was given (--key-file, "
           "--key-command or TACET_KEY)\n",
           options->marks);
}

static int run_restore(const struct restore_options *options)
{
    struct ledger_restored restored;
    char error[CLI_ERROR_SIZE] = "";
    bool sealed = false;
    int locks[2] = {-1, -1};
    if (options->check && !options->from)
        return cli_complain(&FLAGS, CLI_USAGE, "--check needs --from");
    if (!options->check && !options->marks)
        return cli_complain(&FLAGS, CLI_USAGE, "--marks is missing");
    if ((!options->from) != (!options->identity))
        return cli_complain(&FLAGS, CLI_USAGE, "--from and --identity need each other");
    umask(077);
    if (options->from && !is_empty_directory(options->data))
        return cli_complain(&FLAGS, CLI_FAILED, NOT_EMPTY, options->data);
    bool made = access(options->data, F_OK) != 0;
    if (!data_dir_make(options->data, error, CLI_ERROR_SIZE) ||
        !data_dir_lock(options->data, locks, error, CLI_ERROR_SIZE))
        return cli_complain(&FLAGS, CLI_FAILED, "%s", error);
    if (options->from && !is_empty_directory(options->data)) /* nor filled since then */
        return cli_complain(&FLAGS, CLI_FAILED, NOT_EMPTY, options->data);
    bool done = !options->from || fill_directory(options, error);
    if (done && options->check)
        done = try_backup(options, error);
    else if (done)
        done = begin_life(options, &restored, &sealed, error);
    if (options->from && (options->check || !done))
        remove_made(options->data, made, error);
    if (!done || (options->check && error[0] != '\0'))
        return cli_complain(&FLAGS, CLI_FAILED, "%s", error);
    if (options->check)
        return fflush(stdout) == 0 ? CLI_DONE : CLI_FAILED;
    printf("restored: %" PRId64 " accounts\n", restored.accounts);
    if (restored.burnt > 0)
        printf("%" PRId64 " of them were charged up to their marks for what the lost service may "
               "have spent: at most %.3g %% of any limit; entries of kind \"restored\" say how "
               "much\n",
               restored.burnt, 100 * restored.most);
    if (restored.closed > 0)
        printf("closed: %" PRId64
               " accounts have no mark, or are from before marks were lost. They have "
               "spent their whole limits, and pay nothing any more\n",
               restored.closed);
    printf(
        "clients now need keys that name their time (UUID version 7; a date works from tomorrow, "
        "UTC): a key without a time that the backup does not have is refused with 410\n");
    printf(
        "clients and tokens are as in the backup: one that was ended since works again, so end it "
        "now\n");
    print_needs(options, sealed);
    return fflush(stdout) == 0 ? CLI_DONE : CLI_FAILED;
}

int cli_restore(int argc, char **argv)
{
    struct restore_options options = {.data = NULL};
    struct flags_found found;
    int status = cli_read_flags(&FLAGS, argc, argv, &options, &found);
    if (status != CLI_GO_ON)
        return status;
    status = run_restore(&options);
    free(found.file);
    return status;
}
