#include "cli/backup/vault.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "memory/buffer.h"
#include "memory/memory.h"
#include "storage/keys/key_box.h"

#define CHUNK_BYTES  65536
#define HASH_BYTES   32
#define PATH_BYTES   4096
#define INDEX_MOST   ((size_t)1 << 30)
#define MAGIC        "tacet-backup 1\n"
#define MAGIC_BYTES  (sizeof MAGIC - 1)
#define SEALED_BYTES (VAULT_KEY_SIZE + crypto_box_SEALBYTES)
#define INDEX_NAME   "the index of a backup"

struct vault {
    const char *directory;
    unsigned char key[VAULT_KEY_SIZE]; /* encrypts */
    unsigned char naming[VAULT_KEY_SIZE];
    bool unsure; /* a chunk that is there may not be whole */
    char *error;
    size_t error_size;
};

static bool vault_fault(const struct vault *vault, const char *path, const char *what)
{
    snprintf(vault->error, vault->error_size, "%.300s: %s", path, what);
    return false;
}

/* PATH cannot be read; errno says why. */
static bool vault_unread(const struct vault *vault, const char *path)
{
    if (errno != EACCES)
        return vault_fault(vault, path, errno != 0 ? strerror(errno) : "cannot be read");
    snprintf(vault->error, vault->error_size,
             "%.200s: user %u may not read it, as after a backup that another user made: chown -R "
             "%u %.200s",
             path, geteuid(), geteuid(), vault->directory);
    return false;
}

/* Sets the keys of a vault whose sealed key is KEY. */
static void vault_set_key(struct vault *vault, const unsigned char key[VAULT_KEY_SIZE])
{
    static const char purpose[] = "tacet: names of chunks, 1";
    memcpy(vault->key, key, VAULT_KEY_SIZE);
    crypto_generichash(vault->naming, VAULT_KEY_SIZE, (const unsigned char *)purpose,
                       sizeof purpose, key, VAULT_KEY_SIZE);
}

static void vault_derive(const unsigned char recipient[VAULT_KEY_SIZE],
                         const unsigned char seed[VAULT_KEY_SIZE],
                         unsigned char out[VAULT_KEY_SIZE])
{
    static const char purpose[] = "tacet: key of backups, 1";
    crypto_generichash_state state;
    crypto_generichash_init(&state, seed, VAULT_KEY_SIZE, VAULT_KEY_SIZE);
    crypto_generichash_update(&state, (const unsigned char *)purpose, sizeof purpose);
    crypto_generichash_update(&state, recipient, VAULT_KEY_SIZE);
    crypto_generichash_final(&state, out, VAULT_KEY_SIZE);
}

/* ---- files */

/* Writes a file that is there as a whole or not at all. */
static bool write_vault_file(const struct vault *vault, const char *path, const void *bytes,
                             size_t size)
{
    char draft[PATH_BYTES + 8];
    snprintf(draft, sizeof draft, "%s.new", path);
    FILE *file = fopen(draft, "we");
    if (!file)
        return vault_fault(vault, draft, strerror(errno));
    bool good = fwrite(bytes, 1, size, file) == size && fflush(file) == 0;
    good = fclose(file) == 0 && good && rename(draft, path) == 0;
    if (good)
        return true;
    vault_fault(vault, path, strerror(errno));
    (void)unlink(draft);
    return false;
}

static char *read_vault_file(const struct vault *vault, const char *path, size_t *out_size)
{
    struct stat status;
    FILE *file = fopen(path, "re");
    char *bytes = NULL;
    if (file && fstat(fileno(file), &status) == 0 && (size_t)status.st_size <= INDEX_MOST &&
        (bytes = memory_bytes((size_t)status.st_size + 1)) &&
        fread(bytes, 1, (size_t)status.st_size, file) != (size_t)status.st_size) {
        free(bytes);
        bytes = NULL;
    }
    if (!bytes)
        (void)vault_unread(vault, path);
    else
        *out_size = (size_t)status.st_size;
    if (file)
        fclose(file);
    return bytes;
}

static bool make_vault_folder(const struct vault *vault, const char *path)
{
    return mkdir(path, S_IRWXU) == 0 || errno == EEXIST ||
           vault_fault(vault, path, strerror(errno));
}

/* Waits until all that was written to the vault's file system is on the disk. */
static bool sync_vault(const struct vault *vault)
{
    int handle = open(vault->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = handle >= 0 && syncfs(handle) == 0;
    if (!good)
        vault_fault(vault, vault->directory, strerror(errno));
    if (handle >= 0)
        close(handle);
    return good;
}

/* Begins to add, and notes that it has begun: a backup that did not end, or whose chunks did not
 * reach the disk, leaves the note at PATH, and the next one writes every chunk anew. */
static bool begin_adding(struct vault *vault, const char *path)
{
    vault->unsure = access(path, F_OK) == 0;
    return write_vault_file(vault, path, "", 0) && sync_vault(vault);
}

/* ---- chunks */

static void name_chunk(const struct vault *vault, const unsigned char *bytes, size_t size,
                       unsigned char out[HASH_BYTES])
{
    crypto_generichash(out, HASH_BYTES, bytes, size, vault->naming, VAULT_KEY_SIZE);
}

static void chunk_path(const struct vault *vault, const unsigned char hash[HASH_BYTES],
                       char name[2 * HASH_BYTES + 1], char path[PATH_BYTES])
{
    sodium_bin2hex(name, 2 * HASH_BYTES + 1, hash, HASH_BYTES);
    snprintf(path, PATH_BYTES, "%s/chunks/%.2s/%s", vault->directory, name, name);
}

static bool add_vault_chunk(const struct vault *vault, const unsigned char *bytes, size_t size,
                            unsigned char hash[HASH_BYTES], uint64_t *written)
{
    unsigned char box[CHUNK_BYTES + KEY_BOX_MORE];
    char name[2 * HASH_BYTES + 1], path[PATH_BYTES], folder[PATH_BYTES];
    struct stat status;
    name_chunk(vault, bytes, size, hash);
    chunk_path(vault, hash, name, path);
    if (!vault->unsure && stat(path, &status) == 0 && (size_t)status.st_size == size + KEY_BOX_MORE)
        return true;
    snprintf(folder, sizeof folder, "%.*s", (int)(strlen(path) - strlen(name) - 1), path);
    if (!make_vault_folder(vault, folder))
        return false;
    key_box_close(vault->key, name, bytes, size, box);
    *written += 1;
    return write_vault_file(vault, path, box, size + KEY_BOX_MORE);
}

static bool take_chunk(const struct vault *vault, const unsigned char hash[HASH_BYTES],
                       unsigned char out[CHUNK_BYTES], size_t *out_size)
{
    unsigned char again[HASH_BYTES];
    char name[2 * HASH_BYTES + 1], path[PATH_BYTES];
    size_t size = 0;
    chunk_path(vault, hash, name, path);
    char *box = read_vault_file(vault, path, &size);
    if (!box)
        return false;
    bool good = size > KEY_BOX_MORE && size <= CHUNK_BYTES + KEY_BOX_MORE &&
                key_box_open(vault->key, name, (unsigned char *)box, size, out);
    free(box);
    if (!good)
        return vault_fault(vault, path, "is damaged");
    *out_size = size - KEY_BOX_MORE;
    name_chunk(vault, out, *out_size, again);
    return sodium_memcmp(again, hash, HASH_BYTES) == 0 || vault_fault(vault, path, "is damaged");
}

/* ---- adding */

/* Adds all chunks of FILE, and their names to INDEX. */
static bool add_chunks(const struct vault *vault, FILE *file, struct buffer *index,
                       struct vault_counts *out)
{
    static unsigned char chunk[CHUNK_BYTES];
    unsigned char hash[HASH_BYTES];
    size_t size;
    while ((size = fread(chunk, 1, sizeof chunk, file)) > 0) {
        if (!add_vault_chunk(vault, chunk, size, hash, &out->written))
            return false;
        (void)buffer_add(index, hash, sizeof hash);
        out->chunks++;
        out->bytes += size;
    }
    return (!ferror(file) && !index->failed) ||
           vault_fault(vault, "the copy of the database", "cannot be read");
}

/* Writes the backup itself: INDEX, encrypted, behind the vault's key, sealed. */
static bool add_index(const struct vault *vault, const unsigned char recipient[VAULT_KEY_SIZE],
                      const struct buffer *index, int64_t now_ms)
{
    char path[PATH_BYTES], name[VAULT_NAME_SIZE];
    struct tm utc;
    time_t seconds = (time_t)(now_ms / 1000);
    size_t size = MAGIC_BYTES + SEALED_BYTES + index->size + KEY_BOX_MORE;
    unsigned char *bytes = memory_bytes(size);
    memcpy(bytes, MAGIC, MAGIC_BYTES);
    bool good = crypto_box_seal(bytes + MAGIC_BYTES, vault->key, VAULT_KEY_SIZE, recipient) == 0;
    key_box_close(vault->key, INDEX_NAME, index->bytes, index->size,
                  bytes + MAGIC_BYTES + SEALED_BYTES);
    strftime(name, sizeof name, "%Y-%m-%dT%H%M%S", gmtime_r(&seconds, &utc));
    snprintf(path, sizeof path, "%s/backups/%s.%03dZ", vault->directory, name,
             (int)(now_ms % 1000));
    good = good ? write_vault_file(vault, path, bytes, size)
                : vault_fault(vault, "--recipient", "is no key");
    free(bytes);
    return good;
}

bool vault_add(const char *directory, const unsigned char recipient[VAULT_KEY_SIZE],
               const unsigned char seed[VAULT_KEY_SIZE], const char *database, int64_t now_ms,
               struct vault_counts *out, char *error, size_t error_size)
{
    struct vault vault = {.directory = directory, .error = error, .error_size = error_size};
    struct buffer index = {.lid = INDEX_MOST};
    unsigned char key[VAULT_KEY_SIZE];
    char folder[PATH_BYTES], note[PATH_BYTES];
    *out = (struct vault_counts){0};
    vault_derive(recipient, seed, key);
    vault_set_key(&vault, key);
    FILE *file = fopen(database, "re");
    bool good = file || vault_fault(&vault, database, strerror(errno));
    if (good && access(directory, F_OK) != 0)
        good = vault_fault(&vault, directory,
                           "the directory of the backups is not there: mount it, or make it");
    for (int i = 0; i < 2 && good; i++) {
        snprintf(folder, sizeof folder, "%s/%s", directory, i == 0 ? "chunks" : "backups");
        good = make_vault_folder(&vault, folder);
    }
    (void)buffer_add(&index, seed, VAULT_KEY_SIZE);
    snprintf(note, sizeof note, "%s/unfinished", directory);
    good = good && begin_adding(&vault, note) && add_chunks(&vault, file, &index, out) &&
           sync_vault(&vault) && add_index(&vault, recipient, &index, now_ms) && sync_vault(&vault);
    if (good)
        (void)unlink(note);
    if (file)
        fclose(file);
    if (index.bytes)
        sodium_memzero(index.bytes, index.size);
    buffer_clear(&index);
    sodium_memzero(&vault, sizeof vault);
    sodium_memzero(key, sizeof key);
    return good;
}

/* ---- taking */

/* Finds the newest backup: their names are times. */
static bool find_newest(const struct vault *vault, char out[VAULT_NAME_SIZE])
{
    char path[PATH_BYTES];
    struct dirent *entry;
    snprintf(path, sizeof path, "%s/backups", vault->directory);
    DIR *folder = opendir(path);
    if (!folder)
        return vault_unread(vault, path);
    out[0] = '\0';
    while ((entry = readdir(folder))) {
        size_t length = strlen(entry->d_name);
        if (length < VAULT_NAME_SIZE && length > 1 && entry->d_name[length - 1] == 'Z' &&
            strcmp(entry->d_name, out) > 0)
            memcpy(out, entry->d_name, length + 1);
    }
    closedir(folder);
    return out[0] != '\0' || vault_fault(vault, path, "has no backup");
}

/* Opens the index in BYTES, which it is decrypted over; *OUT_SIZE bytes of it. NULL: not ours. */
static unsigned char *open_index(struct vault *vault, unsigned char *bytes, size_t size,
                                 const unsigned char identity[VAULT_KEY_SIZE], size_t *out_size)
{
    unsigned char public[VAULT_KEY_SIZE], key[VAULT_KEY_SIZE];
    size_t before = MAGIC_BYTES + SEALED_BYTES;
    if (size < before + KEY_BOX_MORE + VAULT_KEY_SIZE || memcmp(bytes, MAGIC, MAGIC_BYTES) != 0 ||
        crypto_scalarmult_base(public, identity) != 0 ||
        crypto_box_seal_open(key, bytes + MAGIC_BYTES, SEALED_BYTES, public, identity) != 0)
        return NULL;
    vault_set_key(vault, key);
    sodium_memzero(key, sizeof key);
    *out_size = size - before - KEY_BOX_MORE;
    unsigned char *index = memory_bytes(*out_size);
    if (*out_size % HASH_BYTES != 0 ||
        !key_box_open(vault->key, INDEX_NAME, bytes + before, size - before, index)) {
        free(index);
        index = NULL;
    }
    return index;
}

static bool take_chunks(const struct vault *vault, const unsigned char *hashes, size_t count,
                        const char *database)
{
    static unsigned char chunk[CHUNK_BYTES];
    size_t size = 0;
    FILE *file = fopen(database, "wxe");
    bool good = file || vault_fault(vault, database, strerror(errno));
    for (size_t i = 0; good && i < count; i++) {
        good = take_chunk(vault, hashes + i * HASH_BYTES, chunk, &size);
        if (good && fwrite(chunk, 1, size, file) != size)
            good = vault_fault(vault, database, strerror(errno));
    }
    if (good && (fflush(file) != 0 || fsync(fileno(file)) != 0))
        good = vault_fault(vault, database, strerror(errno));
    if (file)
        fclose(file);
    return good;
}

bool vault_take(const char *directory, const char *name,
                const unsigned char identity[VAULT_KEY_SIZE], const char *database,
                unsigned char seed[VAULT_KEY_SIZE], char name_out[VAULT_NAME_SIZE], char *error,
                size_t error_size)
{
    struct vault vault = {.directory = directory, .error = error, .error_size = error_size};
    char path[PATH_BYTES];
    size_t size = 0, index_size = 0;
    bool good = true;
    if (name)
        snprintf(name_out, VAULT_NAME_SIZE, "%s", name);
    else
        good = find_newest(&vault, name_out);
    snprintf(path, sizeof path, "%s/backups/%s", directory, name_out);
    char *bytes = good ? read_vault_file(&vault, path, &size) : NULL;
    if (!bytes)
        return false;
    unsigned char *index = open_index(&vault, (unsigned char *)bytes, size, identity, &index_size);
    free(bytes);
    if (!index)
        return vault_fault(&vault, path, "is damaged, or encrypted to another key");
    memcpy(seed, index, VAULT_KEY_SIZE);
    good = take_chunks(&vault, index + VAULT_KEY_SIZE, index_size / HASH_BYTES - 1, database);
    sodium_memzero(index, index_size);
    free(index);
    sodium_memzero(&vault, sizeof vault);
    return good;
}
