/* Every buffer that held a master key is wiped. */
#include "server/keys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/os/data_dir.h"
#include "storage/keys/keyring.h"
#include "storage/sealing.h"

#define TEXT_BYTES 128 /* more than a key in digits and an end of line */

static bool key_of_digits(const char *text, size_t size, const char *from, unsigned char out[32],
                          char *error, size_t error_size)
{
    size_t length = 0;
    const char *end = NULL;
    while (size > 0 && strchr("\r\n", text[size - 1]))
        size--;
    bool good = size == 64 && sodium_hex2bin(out, 32, text, size, NULL, &length, &end) == 0 &&
                length == 32 && end == text + size && !sodium_is_zero(out, 32);
    if (!good)
        snprintf(error, error_size,
                 "%.200s gives no key: a key is 64 random hexadecimal digits, as `openssl rand "
                 "-hex 32` makes them",
                 from);
    return good;
}

static bool key_of_file(const char *path, unsigned char out[32], char *error, size_t error_size)
{
    char text[TEXT_BYTES];
    struct stat status = {.st_mode = 0};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = file >= 0 && fstat(file, &status) == 0 ? read(file, text, sizeof text) : -1;
    int why = errno;
    if (file >= 0)
        close(file);
    if (n < 0) {
        snprintf(error, error_size, "the key file %.200s cannot be read: %s", path, strerror(why));
        return false;
    }
    bool good = data_dir_check_mode(path, status.st_mode, error, error_size) &&
                key_of_digits(text, (size_t)n, path, out, error, error_size);
    sodium_memzero(text, sizeof text);
    return good;
}

static bool key_of_command(const struct keys_source *source, unsigned char out[32], char *error,
                           size_t error_size)
{
    const char *setting = source->next ? "--new-key-command" : "--key-command";
    const char *command = source->command;
    char text[TEXT_BYTES];
    FILE *output = popen(command, "re");
    if (!output) {
        snprintf(error, error_size, "%s cannot be started: %s", setting, strerror(errno));
        return false;
    }
    setvbuf(output, NULL, _IONBF, 0);
    size_t n = fread(text, 1, sizeof text, output);
    int status = pclose(output);
    bool good = status == 0 && key_of_digits(text, n, setting, out, error, error_size);
    if (status != 0)
        snprintf(error, error_size,
                 "the command of %s failed, with status %d: run it by hand as this user", setting,
                 WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    sodium_memzero(text, sizeof text);
    return good;
}

static bool key_of_service(const char *directory, unsigned char out[32], char *error,
                           size_t error_size)
{
    static const char purpose[] = "tacet: master key of private data, 1";
    unsigned char seed[32];
    if (!data_dir_signing_seed(directory, seed, error, error_size))
        return false;
    crypto_generichash(out, 32, (const unsigned char *)purpose, sizeof purpose, seed, sizeof seed);
    sodium_memzero(seed, sizeof seed);
    return true;
}

bool keys_master(const char *directory, const struct keys_source *source, unsigned char out[32],
                 char *error, size_t error_size)
{
    if (source->file && source->file[0] != '\0')
        return key_of_file(source->file, out, error, error_size);
    if (source->command && source->command[0] != '\0')
        return key_of_command(source, out, error, error_size);
    if (source->text && source->text[0] != '\0') {
        size_t size = strlen(source->text);
        bool good = key_of_digits(source->text, size, "TACET_KEY", out, error, error_size);
        sodium_memzero(source->text, size);
        unsetenv("TACET_KEY"); /* it holds crosses (flags.h), and programs need not see them */
        return good;
    }
    return key_of_service(directory, out, error, error_size);
}

bool keys_directory(const char *data, const char *chosen, char *out, size_t size, char *error,
                    size_t error_size)
{
    bool fits = chosen && chosen[0] != '\0' ? snprintf(out, size, "%s", chosen) < (int)size
                                            : data_dir_path(data, "keys", out, size);
    if (!fits)
        snprintf(error, error_size, "the name of the directory of keys is too long");
    return fits;
}

/* One file of the keys, or their directory. */
static bool key_stands(const char *path, char *error, size_t error_size)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        snprintf(error, error_size,
                 "%.200s cannot be found (%s), and without its keys nobody can read the data: put "
                 "back the directory of keys",
                 path, strerror(errno));
        return false;
    }
    unsigned least = S_ISDIR(status.st_mode) ? S_IRWXU : S_IRUSR | S_IWUSR;
    if (status.st_uid != geteuid()) {
        snprintf(error, error_size,
                 "%.200s belongs to user %u, and this is user %u: run tacet as the owner, or chown "
                 "-R the directory of keys",
                 path, status.st_uid, geteuid());
        return false;
    }
    if ((status.st_mode & (least | S_IRWXG | S_IRWXO)) == least)
        return true;
    snprintf(error, error_size, "%.200s has mode %04o: chmod %o %.200s", path,
             status.st_mode & 07777U, least, path);
    return false;
}

bool keys_stand(const char *keys, bool all, char *error, size_t error_size)
{
    char path[4096];
    const struct dirent *entry;
    if (!key_stands(keys, error, error_size) || !data_dir_path(keys, "root", path, sizeof path) ||
        !key_stands(path, error, error_size))
        return false;
    DIR *folder = all ? opendir(keys) : NULL;
    bool stand = true;
    while (folder && stand && (entry = readdir(folder)))
        stand = entry->d_name[0] == '.' || !data_dir_path(keys, entry->d_name, path, sizeof path) ||
                key_stands(path, error, error_size);
    if (folder)
        closedir(folder);
    return stand;
}

struct keyring *keys_open(const char *directory, const char *keys, const struct keys_source *source,
                          struct db *db, char *error, size_t error_size)
{
    char noted[SEALING_NAME_SIZE];
    unsigned char master[32];
    struct keyring *keyring = NULL;
    if (!keyring_exists(keys) && sealing_key_name(db, noted) != DB_NONE) {
        snprintf(error, error_size,
                 "%.200s/root is missing, and without its keys nobody can read the data: put back "
                 "the directory \"keys\"; servers of one database share it (--keys-dir)",
                 keys);
        return NULL;
    }
    if (keys_master(directory, source, master, error, error_size))
        keyring = keyring_open(keys, master, error, error_size);
    sodium_memzero(master, sizeof master);
    return keyring;
}
