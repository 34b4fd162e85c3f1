/* The data directory. A file that must appear whole is written under a temporary name and then
 * renamed or linked to its place. */
#include "server/os/data_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define SEED_BYTES 32

static bool path_fault(char *error, size_t size, const char *path, const char *what)
{
    snprintf(error, size, "%s: %s: %s", path, what, strerror(errno));
    return false;
}

bool data_dir_path(const char *directory, const char *name, char *out, size_t size)
{
    int n = snprintf(out, size, "%s/%s", directory, name);
    return n > 0 && (size_t)n < size;
}

static bool path_within(const char *directory, const char *name, char path[PATH_BYTES], char *error,
                        size_t error_size)
{
    bool fits = data_dir_path(directory, name, path, PATH_BYTES);
    if (!fits)
        snprintf(error, error_size, "the name of the data directory is too long");
    return fits;
}

bool data_dir_check_mode(const char *path, unsigned mode, char *error, size_t error_size)
{
    bool folder = S_ISDIR(mode);
    unsigned loose = folder ? S_IWGRP | S_IRWXO : S_IRWXG | S_IRWXO;
    if ((mode & loose) == 0)
        return true;
    snprintf(error, error_size, "%.200s has mode %04o, so that others may use it: chmod %s %.200s",
             path, mode & 07777, folder ? "700" : "600", path);
    return false;
}

bool data_dir_make(const char *directory, char *error, size_t error_size)
{
    struct stat status;
    if (mkdir(directory, 0700) == 0)
        return true;
    if (errno != EEXIST)
        return path_fault(error, error_size, directory,
                          errno == ENOENT ? "cannot be made, because what it lies in is not there"
                                          : "cannot be made");
    if (stat(directory, &status) != 0)
        return path_fault(error, error_size, directory, "cannot be read");
    if (!S_ISDIR(status.st_mode)) {
        snprintf(error, error_size, "%s is not a directory", directory);
        return false;
    }
    return data_dir_check_mode(directory, status.st_mode, error, error_size);
}

bool data_dir_become_owner(const char *directory, unsigned *out_owner)
{
    struct stat status;
    *out_owner = stat(directory, &status) == 0 ? status.st_uid : 0;
    if (*out_owner == 0)
        return true;
    const struct passwd *owner = getpwuid(status.st_uid);
    gid_t group = owner ? owner->pw_gid : status.st_gid;
    return (owner ? initgroups(owner->pw_name, group) : setgroups(0, NULL)) == 0 &&
           setgid(group) == 0 && setuid(status.st_uid) == 0;
}

/* Opens PATH with FLAGS and locks it. */
static bool lock_one(const char *directory, const char *path, int flags, int *out_lock, char *error,
                     size_t error_size)
{
    *out_lock = open(path, flags | O_CLOEXEC, 0600);
    if (*out_lock < 0)
        return path_fault(error, error_size, path, "cannot be opened");
    if (flock(*out_lock, LOCK_EX | LOCK_NB) == 0)
        return true;
    if (errno != EWOULDBLOCK)
        return path_fault(error, error_size, path, "cannot be locked");
    snprintf(error, error_size, "%s is in use by another server", directory);
    return false;
}

bool data_dir_lock(const char *directory, int out_locks[2], char *error, size_t error_size)
{
    char path[PATH_BYTES];
    return path_within(directory, "lock", path, error, error_size) &&
           lock_one(directory, directory, O_RDONLY | O_DIRECTORY, &out_locks[0], error,
                    error_size) &&
           lock_one(directory, path, O_RDWR | O_CREAT, &out_locks[1], error, error_size);
}

/* What DIRECTORY has of a service, apart from tacet.db; NULL: nothing. */
static const char *find_remains(const char *directory, bool signed_too)
{
    static const char *const names[] = {"tacet.db-wal", "ledger.head", "keys", "signing.key"};
    char path[PATH_BYTES];
    for (size_t i = 0; i < (signed_too ? 4 : 3); i++)
        if (data_dir_path(directory, names[i], path, sizeof path) && access(path, F_OK) == 0)
            return names[i];
    return NULL;
}

enum data_dir_found data_dir_find(const char *directory, const char *marks, char *error,
                                  size_t error_size)
{
    static const char how[] =
        "restore a backup into a new directory (tacet restore --from BACKUPS --identity FILE "
        "--marks MARKS --data NEW_DIR)";
    char path[PATH_BYTES];
    struct stat status;
    /* Looked for before tacet.db, which another process makes first. A first start that ended early
     * leaves an empty tacet.db, and signing.key. */
    const char *signed_left = find_remains(directory, true);
    const char *left = find_remains(directory, false);
    if (!data_dir_path(directory, "tacet.db", path, sizeof path))
        return DATA_DIR_THERE;
    bool missing = stat(path, &status) != 0;
    if (missing ? errno != ENOENT : status.st_size > 0)
        return DATA_DIR_THERE;
    left = missing ? signed_left : left;
    if (left) {
        snprintf(
            error, error_size,
            "%.200s has the %s of a service whose tacet.db is %s: put tacet.db back beside it, "
            "or %s",
            directory, left, missing ? "missing" : "empty", how);
        return DATA_DIR_LOST;
    }
    if (!marks || marks[0] == '\0' || !data_dir_path(marks, "marks", path, sizeof path))
        return DATA_DIR_NEW;
    if (access(marks, F_OK) != 0) {
        snprintf(error, error_size,
                 "%.200s has no service, and the directory of marks %.200s is not there: is it "
                 "mounted? For a new service make it first",
                 directory, marks);
        return DATA_DIR_LOST;
    }
    if (access(path, F_OK) != 0)
        return DATA_DIR_NEW;
    snprintf(error, error_size,
             "%.200s has no service, and %.200s has the marks of one: put the data directory back, "
             "or %s; a new service needs an empty directory of marks",
             directory, marks, how);
    return DATA_DIR_LOST;
}

static bool write_all(int file, const void *bytes, size_t size)
{
    const char *from = bytes;
    while (size > 0) {
        ssize_t n = write(file, from, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        from += n;
        size -= (size_t)n;
    }
    return true;
}

bool data_dir_sync(const char *directory)
{
    int handle = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool synced = handle >= 0 && fsync(handle) == 0;
    if (handle >= 0)
        close(handle);
    return synced;
}

/* Writes SEED to a temporary file and links it to its place. Only one caller's link succeeds. */
static bool put_seed(const char *directory, const char *path, const unsigned char seed[SEED_BYTES],
                     char *error, size_t error_size)
{
    char draft[PATH_BYTES];
    char name[48];
    snprintf(name, sizeof name, "signing.key.%ld", (long)getpid());
    if (!path_within(directory, name, draft, error, error_size))
        return false;
    int file = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        return path_fault(error, error_size, draft, "cannot be made");
    bool written = write_all(file, seed, SEED_BYTES) && fsync(file) == 0;
    int write_errno = errno;
    close(file);
    bool linked = written && (link(draft, path) == 0 || errno == EEXIST);
    if (!written)
        errno = write_errno;
    if (!linked)
        path_fault(error, error_size, path, "cannot be written");
    unlink(draft);
    (void)data_dir_sync(directory);
    return linked;
}

bool data_dir_make_database(const char *directory, char *error, size_t error_size)
{
    char path[PATH_BYTES];
    if (!path_within(directory, "tacet.db", path, error, error_size))
        return false;
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file < 0)
        return path_fault(error, error_size, path, "cannot be made");
    close(file);
    (void)data_dir_sync(directory);
    return true;
}

bool data_dir_make_signing_seed(const char *directory, char *error, size_t error_size)
{
    unsigned char seed[SEED_BYTES];
    char path[PATH_BYTES];
    randombytes_buf(seed, sizeof seed);
    bool made = path_within(directory, "signing.key", path, error, error_size) &&
                (access(path, F_OK) == 0 || put_seed(directory, path, seed, error, error_size));
    sodium_memzero(seed, sizeof seed);
    return made;
}

bool data_dir_take_signing_seed(const char *directory, const unsigned char seed[32], char *error,
                                size_t error_size)
{
    unsigned char there[SEED_BYTES];
    char path[PATH_BYTES];
    if (!path_within(directory, "signing.key", path, error, error_size) ||
        !put_seed(directory, path, seed, error, error_size) ||
        !data_dir_signing_seed(directory, there, error, error_size))
        return false;
    bool same = sodium_memcmp(seed, there, sizeof there) == 0;
    sodium_memzero(there, sizeof there);
    if (!same)
        snprintf(error, error_size,
                 "%.200s is another key, and was kept: move it away if no service needs it", path);
    return same;
}

bool data_dir_signing_seed(const char *directory, unsigned char out_seed[32], char *error,
                           size_t error_size)
{
    char path[PATH_BYTES];
    if (!path_within(directory, "signing.key", path, error, error_size))
        return false;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 && errno == ENOENT) {
        snprintf(
            error, error_size,
            "%s is missing: a service is its database and this file, and no other one can take "
            "its place",
            path);
        return false;
    }
    if (file < 0)
        return path_fault(error, error_size, path, "cannot be opened");
    unsigned char bytes[SEED_BYTES + 1];
    struct stat status = {.st_mode = 0};
    ssize_t n = fstat(file, &status) == 0 ? read(file, bytes, sizeof bytes) : -1;
    close(file);
    if (n != SEED_BYTES || sodium_is_zero(bytes, SEED_BYTES)) {
        snprintf(error, error_size, "%s is not a signing key: it must hold %d random bytes", path,
                 SEED_BYTES);
        return false;
    }
    if (!data_dir_check_mode(path, status.st_mode, error, error_size)) {
        sodium_memzero(bytes, sizeof bytes);
        return false;
    }
    memcpy(out_seed, bytes, SEED_BYTES);
    sodium_memzero(bytes, sizeof bytes);
    return true;
}

void data_dir_seed_mark(const unsigned char seed[32], unsigned char out[DATA_DIR_MARK])
{
    crypto_generichash(out, DATA_DIR_MARK, seed, SEED_BYTES, NULL, 0);
}

bool data_dir_stands(const char *directory, bool has_database, const char **why_not)
{
    static const struct {
        const char *name, *missing, *loose;
    } parts[] = {
        {".", "The data directory is gone. Nothing is stored any more.",
         "The data directory is open to others."},
        {"signing.key", "The file signing.key is missing from the data directory.",
         "The file signing.key is open to others."},
        {"tacet.db", "The database was removed, moved or replaced. Nothing is stored any more.",
         "The file tacet.db is open to others."},
    };
    char path[PATH_BYTES], ignored[512];
    struct stat status;
    for (size_t i = 0; i < (has_database ? 3 : 2); i++) {
        bool there =
            data_dir_path(directory, parts[i].name, path, sizeof path) && stat(path, &status) == 0;
        *why_not = there ? parts[i].loose : parts[i].missing;
        if (!there || !data_dir_check_mode(path, status.st_mode, ignored, sizeof ignored))
            return false;
    }
    *why_not = NULL;
    return true;
}

bool data_dir_write_whole(const char *path, const void *bytes, size_t size, char *error,
                          size_t error_size)
{
    char draft[PATH_BYTES];
    int n = snprintf(draft, sizeof draft, "%s.%ld", path, (long)getpid());
    if (n < 0 || (size_t)n >= sizeof draft) {
        snprintf(error, error_size, "the name of a file is too long");
        return false;
    }
    unlink(draft); /* of a process that died; what stands there is not followed */
    int file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (file < 0)
        return path_fault(error, error_size, draft, "cannot be made");
    bool written = write_all(file, bytes, size) && fsync(file) == 0;
    if (close(file) != 0)
        written = false;
    if (written && rename(draft, path) == 0)
        return true;
    path_fault(error, error_size, path, "cannot be written");
    unlink(draft);
    return false;
}

/* The text has one length, so that a later one covers it. */
void data_dir_note_backup(int lock, int64_t time_s)
{
    char text[32];
    int size = snprintf(text, sizeof text, "%019" PRId64 "\n", time_s);
    ssize_t ignored = pwrite(lock, text, (size_t)size, 0);
    (void)ignored;
}

int64_t data_dir_backup_s(const char *directory)
{
    char path[PATH_BYTES], text[32];
    int64_t time_s = 0;
    int file = data_dir_path(directory, DATA_DIR_BACKUP_LOCK, path, sizeof path)
                   ? open(path, O_RDONLY | O_CLOEXEC)
                   : -1;
    ssize_t n = file >= 0 ? read(file, text, sizeof text - 1) : -1;
    if (file >= 0)
        close(file);
    text[n > 0 ? n : 0] = '\0';
    return sscanf(text, "%" SCNd64, &time_s) == 1 ? time_s : 0;
}

bool data_dir_has_room(const char *directory, unsigned long long min_free_bytes)
{
    struct statvfs space;
    if (access(directory, W_OK) != 0 || statvfs(directory, &space) != 0)
        return false;
    return (unsigned long long)space.f_bavail * space.f_frsize >= min_free_bytes;
}
