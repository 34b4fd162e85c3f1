/* tacet doctor: looks at what a service needs, changes nothing, and says what to do. */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/doctor_tls.h"
#include "server/config.h"
#include "server/database.h"
#include "server/keys.h"
#include "server/os/data_dir.h"
#include "server/os/listen.h"
#include "server/server.h"
#include "server/webhooks/webhooks.h"
#include "storage/keys/keyring.h"
#include "storage/recovery.h"
#include "storage/sealing.h"

#define PATH_BYTES    4096
#define LEAST_BYTES   ((unsigned long long)16 << 20) /* below this the server is not ready */
#define RENEWAL_DAYS  14
#define BACKUP_HOURS  48
#define BUILT_AFTER_S 1764201600 /* 2025-11-27: no clock that is right shows an earlier time */

enum finding { FINE, WORRY, FAULT };

struct doctor {
    const struct config *config;
    bool serves; /* a server holds the directory's lock */
    unsigned faults, worries;
};

static const char usage[] =
    "usage: tacet doctor [--strict] [flags of tacet serve]\n\n"
    "Looks at what a service with these settings needs: its directory and the rights of what\n"
    "is in it, the keys, the database, the marks, disk and clock, TLS, webhooks, and the\n"
    "address. Changes nothing, and works beside a running server. Run it as the user of the\n"
    "service. Each line is ok, warn or FAIL, and says what to do. Exit code 0: nothing FAILs,\n"
    "1: something does, or with --strict warns.\n\n";

__attribute__((format(printf, 4, 5))) static void
doctor_say(struct doctor *doctor, enum finding finding, const char *what, const char *format, ...);

static void doctor_say(struct doctor *doctor, enum finding finding, const char *what,
                       const char *format, ...)
{
    static const char *const words[] = {"ok  ", "warn", "FAIL"};
    va_list arguments;
    printf("%s  %-10s ", words[finding], what);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    doctor->faults += finding == FAULT;
    doctor->worries += finding == WORRY;
}

/* Root sees what no other user may, so it looks as the owner of the directory does. */
static void become_owner(struct doctor *doctor)
{
    const char *directory = doctor->config->data;
    unsigned owner = 0;
    if (geteuid() != 0)
        return;
    if (!data_dir_become_owner(directory, &owner))
        doctor_say(doctor, FAULT, "user", "root cannot look as user %u, the owner of %s: %s", owner,
                   directory, strerror(errno));
    else if (owner == 0)
        doctor_say(doctor, WORRY, "user", "this is root: give the service a user of its own");
    else
        doctor_say(doctor, FINE, "user", "root looks as user %u, the owner of %s", owner,
                   directory);
}

/* False: there is no directory to look into. WHY: its service was lost; "": it was not. */
static bool check_directory(struct doctor *doctor, const char *why)
{
    const char *directory = doctor->config->data;
    struct stat status;
    char error[CLI_ERROR_SIZE];
    if (stat(directory, &status) != 0 && errno == ENOENT) {
        if (why[0] != '\0')
            doctor_say(doctor, FAULT, "directory", "it is not there: %s", why);
        else
            doctor_say(doctor, WORRY, "directory", "%s is not there: the first start makes it",
                       directory);
        return false;
    }
    if (stat(directory, &status) != 0 || !S_ISDIR(status.st_mode)) {
        doctor_say(doctor, FAULT, "directory", "%s is no directory that can be read", directory);
        return false;
    }
    if (status.st_uid != geteuid())
        doctor_say(doctor, FAULT, "directory",
                   "%s belongs to user %u, and this is user %u: run tacet as the owner", directory,
                   status.st_uid, geteuid());
    else if (!data_dir_check_mode(directory, status.st_mode, error, sizeof error))
        doctor_say(doctor, FAULT, "directory", "%s", error);
    else if (access(directory, W_OK) != 0)
        doctor_say(doctor, FAULT, "directory", "%s cannot be written to: %s", directory,
                   strerror(errno));
    else
        doctor_say(doctor, FINE, "directory", "%s, mode %04o", directory, status.st_mode & 07777);
    int handle = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    doctor->serves = handle >= 0 && flock(handle, LOCK_SH | LOCK_NB) != 0;
    if (handle >= 0)
        close(handle);
    return true;
}

static void check_file_mode(struct doctor *doctor, const char *name)
{
    char path[PATH_BYTES], error[CLI_ERROR_SIZE];
    struct stat status;
    if (data_dir_path(doctor->config->data, name, path, sizeof path) && stat(path, &status) == 0 &&
        !data_dir_check_mode(path, status.st_mode, error, sizeof error))
        doctor_say(doctor, FAULT, "rights", "%s", error);
}

/* False: there is no database to open. */
static bool check_key(struct doctor *doctor, enum data_dir_found found, const char *why)
{
    unsigned char seed[32];
    char error[CLI_ERROR_SIZE];
    if (found == DATA_DIR_LOST) {
        doctor_say(doctor, FAULT, "database", "%s", why);
        return false;
    }
    if (found == DATA_DIR_NEW) {
        doctor_say(doctor, WORRY, "key", "there is no service yet: the first start makes its key");
        return false;
    }
    bool good = data_dir_signing_seed(doctor->config->data, seed, error, sizeof error);
    sodium_memzero(seed, sizeof seed);
    if (good)
        doctor_say(
            doctor, FINE, "key",
            "signing.key is there: tacet backup includes it, and a copy of tacet.db made by hand "
            "needs a copy of it");
    else
        doctor_say(doctor, FAULT, "key", "%s", error);
    return good;
}

/* Whether the master key of the settings opens the keys in PATH, which are those that the database
 * NAMES ("": it has none). What a command would print is not asked for. */
static bool key_opens(const struct config *config, const char *path, const char *names,
                      char error[CLI_ERROR_SIZE])
{
    unsigned char master[32];
    char text[FLAG_SECRET_SIZE], name[KEYRING_NAME_SIZE] = "";
    struct keys_source source = {.text = text, .file = config->key_file};
    if (config->key_command[0] != '\0' || !keyring_exists(path))
        return true;
    snprintf(text, sizeof text, "%s", config->key);
    struct keyring *keyring = NULL;
    if (keys_master(config->data, &source, master, error, CLI_ERROR_SIZE))
        keyring = keyring_open(path, master, error, CLI_ERROR_SIZE);
    sodium_memzero(master, sizeof master);
    sodium_memzero(text, sizeof text);
    if (!keyring)
        return false;
    keyring_name(keyring, name);
    keyring_close(keyring);
    bool same = names[0] == '\0' || strcmp(name, names) == 0;
    if (!same)
        snprintf(error, CLI_ERROR_SIZE,
                 "%.300s has the keys of another database: put back the directory that was kept "
                 "with this one",
                 path);
    return same;
}

/* NEEDED: the database has data that were encrypted under the keys that it NAMES. */
static void check_keys(struct doctor *doctor, bool needed, const char *names)
{
    const struct config *config = doctor->config;
    char path[PATH_BYTES], error[CLI_ERROR_SIZE];
    bool named =
        keys_directory(config->data, config->keys_dir, path, sizeof path, error, sizeof error);
    if (named && !needed && access(path, F_OK) != 0)
        doctor_say(doctor, WORRY, "keys", "%s is not there: the next start makes it", path);
    else if (!named || !keys_stand(path, true, error, sizeof error) ||
             !key_opens(config, path, names, error))
        doctor_say(doctor, FAULT, "keys", "%s", error);
    else
        doctor_say(doctor, FINE, "keys", "%s is there: keep a copy apart from the backups", path);
}

/* DB: of a service that the next start does not bring up to date. */
static void check_marks(struct doctor *doctor, struct db *db)
{
    const char *directory = doctor->config->marks;
    char path[PATH_BYTES], error[CLI_ERROR_SIZE] = "";
    struct recovery_life life;
    bool named = directory[0] != '\0';
    bool fits = snprintf(path, sizeof path, "%s/marks", directory) < (int)sizeof path;
    if (named && access(directory, R_OK | W_OK | X_OK) != 0)
        doctor_say(doctor, FAULT, "marks",
                   "%s: %s: mount it, make it, or give it to the user of the service", directory,
                   strerror(errno));
    else if (named && fits && access(path, F_OK) != 0 && recovery_life(db, &life) == DB_OK)
        doctor_say(doctor, life.id[0] == '\0' ? WORRY : FAULT, "marks", "%s has no marks: %s",
                   directory,
                   life.id[0] == '\0' ? "the next start begins them"
                                      : "is it the right directory? If they are lost, tacet "
                                        "restore --marks-lost closes all accounts");
    else if (named && !data_dir_has_room(directory, (unsigned long long)1 << 20))
        doctor_say(doctor, FAULT, "marks",
                   "%s is full: what passes a mark is refused (503 storage-full)", directory);
    else if (named && doctor->serves)
        doctor_say(doctor, FINE, "marks", "%s has marks, and a server runs", directory);
    else if (!recovery_look(db, directory, error, sizeof error))
        doctor_say(doctor, FAULT, "marks", "%s", error);
    else if (named)
        doctor_say(doctor, FINE, "marks", "%s has those of this service, and the ledger is as new",
                   directory);
}

static void check_database(struct doctor *doctor, const struct database_place *place)
{
    char name[SEALING_NAME_SIZE] = "";
    char error[CLI_ERROR_SIZE] = "";
    unsigned long long entries = 0;
    bool old = false;
    struct database *database = database_look(place, &old, error, sizeof error);
    struct db *db = database ? database_connect(database, error, sizeof error) : NULL;
    if (old)
        doctor_say(
            doctor, WORRY, "database",
            "it is of an earlier version, which the next start brings up to date: back up first");
    else if (!db || !database_verify_ledger(db, &entries, error, sizeof error))
        doctor_say(doctor, FAULT, "database", "%s", error);
    else
        doctor_say(doctor, FINE, "database",
                   "it opens with this key, and %llu entries of the ledger add up", entries);
    check_keys(doctor, !old && (!db || sealing_key_name(db, name) == DB_OK), name);
    if (!old && db)
        check_marks(doctor, db);
    database_close(database);
}

static void check_disk(struct doctor *doctor)
{
    struct statvfs disk;
    if (statvfs(doctor->config->data, &disk) != 0 || disk.f_blocks == 0)
        return;
    unsigned long long bytes = (unsigned long long)disk.f_bavail * disk.f_frsize;
    unsigned percent = (unsigned)(disk.f_bavail * 100 / disk.f_blocks);
    enum finding finding = percent < 10 ? WORRY : FINE;
    if (bytes < LEAST_BYTES)
        finding = FAULT;
    doctor_say(doctor, finding, "disk", "%llu MiB (%u %%) are free%s", bytes >> 20, percent,
               finding == FINE ? ""
                               : ": below 16 MiB the service is not ready, and a full disk ends "
                                 "all that is charged (docs: How the disk grows)");
}

static void check_backup(struct doctor *doctor)
{
    int64_t made_s = data_dir_backup_s(doctor->config->data);
    double hours = difftime(time(NULL), (time_t)made_s) / 3600;
    if (made_s == 0)
        doctor_say(
            doctor, WORRY, "backup",
            "tacet backup has made none since this directory was made or restored (docs: Back up)");
    else
        doctor_say(doctor, hours > BACKUP_HOURS ? WORRY : FINE, "backup",
                   "tacet backup made the last one %.0f hours ago", hours);
}

static void check_clock(struct doctor *doctor)
{
    struct timex clock = {.modes = 0};
    if (time(NULL) < BUILT_AFTER_S)
        doctor_say(doctor, FAULT, "clock",
                   "it shows a time before this program was made: put it right");
    else if (adjtimex(&clock) == TIME_ERROR || (clock.status & STA_UNSYNC))
        doctor_say(
            doctor, WORRY, "clock",
            "nothing says that it is kept right: start systemd-timesyncd or chrony (keys that name "
            "their day need a good clock)");
    else
        doctor_say(doctor, FINE, "clock", "it is kept right");
}

static void check_tls(struct doctor *doctor)
{
    const struct config *config = doctor->config;
    char text[CLI_ERROR_SIZE];
    struct stat status;
    int days = 0;
    if (config->tls_cert[0] == '\0')
        return;
    if (!doctor_tls(config->tls_cert, config->tls_key, &days, text, sizeof text))
        doctor_say(doctor, FAULT, "tls", "%s", text);
    else if (days < 0)
        doctor_say(doctor, FAULT, "tls", "%s has ended: renew it", config->tls_cert);
    else
        doctor_say(doctor, days < RENEWAL_DAYS ? WORRY : FINE, "tls", "%s is good for %d days%s",
                   config->tls_cert, days, days < RENEWAL_DAYS ? ": renew it" : "");
    if (stat(config->tls_key, &status) == 0 &&
        !data_dir_check_mode(config->tls_key, status.st_mode, text, sizeof text))
        doctor_say(doctor, WORRY, "tls", "%s", text);
}

static void check_webhooks(struct doctor *doctor)
{
    const struct flag_list *webhooks = &doctor->config->webhooks;
    char error[CLI_ERROR_SIZE];
    if (!webhooks_look(webhooks->text, webhooks->count, error, sizeof error))
        doctor_say(doctor, FAULT, "webhook", "%s", error);
    else if (webhooks->count > 0)
        doctor_say(doctor, FINE, "webhook", "%u may be told; none was called",
                   (unsigned)webhooks->count);
}

static void check_address(struct doctor *doctor)
{
    struct listen_socket socket = {.handle = -1};
    char error[CLI_ERROR_SIZE];
    const struct config *config = doctor->config;
    if (doctor->serves) {
        doctor_say(doctor, FINE, "server", "a server runs on this directory: tacet status asks it");
        return;
    }
    if (!listen_open("listen", config->listen, &socket, error, sizeof error)) {
        doctor_say(doctor, FAULT, "address", "%s", error);
        return;
    }
    close(socket.handle);
    if (socket.local || config->tls_cert[0] != '\0')
        doctor_say(doctor, FINE, "address", "%s is free; no server runs", config->listen);
    else
        doctor_say(
            doctor, WORRY, "address",
            "%s is free, but others reach it without TLS: give tls-cert and tls-key, or listen on "
            "127.0.0.1 behind a proxy",
            config->listen);
}

static void doctor_check_all(struct doctor *doctor)
{
    const struct config *config = doctor->config;
    struct database_place place = {
        .directory = config->data, .url = config->database, .marks = config->marks};
    struct utsname system;
    char why[CLI_ERROR_SIZE] = "";
    become_owner(doctor);
    enum data_dir_found found = database_find(&place, why, sizeof why);
    if (uname(&system) == 0)
        doctor_say(doctor, FINE, "versions", "tacet %s, %s %s", TACET_VERSION, system.sysname,
                   system.release);
    if (check_directory(doctor, why)) {
        check_file_mode(doctor, "tacet.db");
        check_file_mode(doctor, "tacet.db-wal");
        place.unchanged = !doctor->serves;
        if (check_key(doctor, found, why))
            check_database(doctor, &place);
        check_disk(doctor);
        if (found == DATA_DIR_THERE && !database_is_remote(&place))
            check_backup(doctor);
    }
    check_clock(doctor);
    check_tls(doctor);
    check_webhooks(doctor);
    check_address(doctor);
}

int cli_doctor(int argc, char **argv)
{
    struct config config;
    struct flags_found found;
    struct flags flags = config_flags;
    flags.program = "tacet doctor";
    flags.usage = usage;
    int others = 0;
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "--strict") != 0)
            argv[others++] = argv[i];
    bool strict = others < argc;
    struct doctor doctor = {.config = &config};
    if (!config_read(&config, others, argv, &found)) {
        doctor_say(&doctor, FAULT, "settings", "%s", found.error);
        return CLI_FAILED;
    }
    if (found.help) {
        flags_help(&flags, stdout);
        return CLI_DONE;
    }
    doctor_check_all(&doctor);
    free(found.file);
    return doctor.faults > 0 || (strict && doctor.worries > 0) ? CLI_FAILED : CLI_DONE;
}
