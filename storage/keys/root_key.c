/* DESIGN. Who reads or writes the root key locks the file "lock". It is not the folder that is
 * locked: a network file system locks for writing only what is open for writing. */
#include "storage/keys/root_key.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/keys/key_box.h"

#define PATH_BYTES 4096
#define ROOT_NAME  "tacet: root key, 1"

/* ---- files */

static bool key_path(const char *directory, const char *name, char out[PATH_BYTES])
{
    int n = snprintf(out, PATH_BYTES, "%s/%s", directory, name);
    return n > 0 && n < PATH_BYTES;
}

bool root_write_whole(int file, const void *bytes, size_t size, off_t at)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = pwrite(file, (const char *)bytes + done, size - done, at + (off_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

/* What is wrong with the root key of DIRECTORY. */
static bool root_fault(const char *directory, const char *what, char *error, size_t error_size)
{
    snprintf(error, error_size, "%.200s/root %s: %s", directory, what, strerror(errno));
    return false;
}

/* ---- the folder */

/* Makes DIRECTORY, for good, where there is none. */
static bool folder_make(const char *directory)
{
    char parent[PATH_BYTES];
    if (mkdir(directory, 0700) != 0)
        return errno == EEXIST;
    if (!key_path(directory, "..", parent))
        return false;
    int above = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool synced = above >= 0 && fsync(above) == 0;
    if (above >= 0)
        close(above);
    return synced;
}

int root_folder_open(const char *directory, char *error, size_t error_size)
{
    struct stat status;
    int folder = -1;
    if (folder_make(directory))
        folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || fstat(folder, &status) != 0)
        snprintf(error, error_size, "%.200s cannot be made or opened: %s", directory,
                 strerror(errno));
    else if ((status.st_mode & (S_IRWXG | S_IRWXO)) == 0)
        return folder;
    else
        snprintf(error, error_size,
                 "%.200s has mode %04o, so that others may use it: chmod 700 %.200s", directory,
                 status.st_mode & 07777U, directory);
    if (folder >= 0)
        close(folder);
    return -1;
}

/* Gives the lock of FOLDER, which closing ends; -1: there is none. */
static int root_lock(int folder)
{
    int lock = openat(folder, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0 || flock(lock, LOCK_EX) == 0)
        return lock;
    int kept_errno = errno;
    close(lock);
    errno = kept_errno;
    return -1;
}

/* ---- the key */

bool keyring_exists(const char *directory)
{
    char path[PATH_BYTES];
    struct stat status;
    return key_path(directory, "root", path) && stat(path, &status) == 0;
}

/* Writes the root key beside its place and renames it. */
static bool root_write(int folder, const char *directory, const unsigned char master[KEYRING_KEY],
                       const unsigned char root[KEYRING_KEY], char *error, size_t error_size)
{
    unsigned char box[KEY_BOX_SIZE];
    key_box_close(master, ROOT_NAME, root, KEYRING_KEY, box);
    int file = openat(folder, "root.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool written = file >= 0 && root_write_whole(file, box, sizeof box, 0) && fsync(file) == 0;
    if (file >= 0)
        close(file);
    written = written && renameat(folder, "root.new", folder, "root") == 0 && fsync(folder) == 0;
    return written || root_fault(directory, "cannot be written", error, error_size);
}

static bool root_read(int folder, const char *directory, const unsigned char master[KEYRING_KEY],
                      unsigned char root[KEYRING_KEY], char *error, size_t error_size)
{
    unsigned char box[KEY_BOX_SIZE + 1];
    int file = openat(folder, "root", O_RDONLY | O_CLOEXEC);
    ssize_t n = file >= 0 ? read(file, box, sizeof box) : -1;
    bool good = n >= 0 || root_fault(directory, "cannot be read", error, error_size);
    if (file >= 0)
        close(file);
    if (!good || (n == KEY_BOX_SIZE && key_box_open(master, ROOT_NAME, box, KEY_BOX_SIZE, root)))
        return good;
    snprintf(error, error_size,
             "%.200s/root is not encrypted under this key: give the key that the service was last "
             "started with (a new one is set by tacet keys rotate), or put back the right "
             "directory of keys",
             directory);
    return false;
}

bool root_key_open(int folder, const char *directory, const unsigned char master[KEYRING_KEY],
                   unsigned char out[KEYRING_KEY], char *error, size_t error_size)
{
    int lock = root_lock(folder);
    if (lock < 0)
        return root_fault(directory, "cannot be locked", error, error_size);
    bool opened;
    if (faccessat(folder, "root", F_OK, 0) == 0) {
        opened = root_read(folder, directory, master, out, error, error_size);
    } else {
        randombytes_buf(out, KEYRING_KEY);
        opened = root_write(folder, directory, master, out, error, error_size);
    }
    close(lock);
    return opened;
}

bool keyring_rotate(const char *directory, const unsigned char from[KEYRING_KEY],
                    const unsigned char to[KEYRING_KEY], char *error, size_t error_size)
{
    unsigned char root[KEYRING_KEY];
    bool rotated = false;
    int folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int lock = folder >= 0 ? root_lock(folder) : -1;
    if (lock < 0)
        root_fault(directory, "cannot be locked", error, error_size);
    else
        rotated = root_read(folder, directory, from, root, error, error_size) &&
                  root_write(folder, directory, to, root, error, error_size);
    sodium_memzero(root, sizeof root);
    if (lock >= 0)
        close(lock);
    if (folder >= 0)
        close(folder);
    return rotated;
}
