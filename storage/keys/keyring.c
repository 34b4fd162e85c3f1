/* The keyring's files.
 *
 * DESIGN. A slot is written whole, and no slot crosses a sector, so that a power cut leaves the old
 * one or the new one. A key is on disk before the row that needs it is stored: a crash between the
 * two leaves a key without a row, which the next expert of that number takes over. A key is
 * overwritten before the rows of what it opened are removed: a crash between the two leaves rows
 * that nobody can read, and the next start removes them. */
#include "storage/keys/keyring.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory/memory.h"
#include "storage/keys/key_box.h"
#include "storage/keys/root_key.h"

#define ID_MAX     40
#define NAME_BYTES (ID_MAX + 16)

enum slot_state { SLOT_EMPTY, SLOT_KEY, SLOT_ERASED };

struct slot {
    unsigned char state;
    unsigned char replaced; /* there was another key, or could have been, which is erased */
    unsigned char unused[6];
    unsigned char box[KEY_BOX_SIZE];
    unsigned char rest[48];
};
_Static_assert(sizeof(struct slot) == 128, "a slot lies in one sector");

struct keyring {
    int folder;          /* held open, so that no other one takes its place */
    unsigned char *root; /* guarded memory */
    pthread_mutex_t lock;
    bool unsure; /* an fsync failed: what was written before may not be on disk, whatever a later
                    one says */
    struct timespec looked[2]; /* of the file that was newest at the last look at erased keys, and
                                  at the one before: two changes may have one time */
};

struct keyring *keyring_open(const char *directory, const unsigned char master[KEYRING_KEY],
                             char *error, size_t error_size)
{
    struct keyring *keyring = memory_new(1, sizeof *keyring);
    bool ready = sodium_init() >= 0;
    pthread_mutex_init(&keyring->lock, NULL);
    keyring->root = memory_must(sodium_malloc(KEYRING_KEY));
    keyring->folder = ready ? root_folder_open(directory, error, error_size) : -1;
    if (!ready)
        snprintf(error, error_size, "the system gives no randomness");
    if (keyring->folder >= 0 &&
        root_key_open(keyring->folder, directory, master, keyring->root, error, error_size))
        return keyring;
    keyring_close(keyring);
    return NULL;
}

void keyring_close(struct keyring *keyring)
{
    if (!keyring)
        return;
    if (keyring->folder >= 0)
        close(keyring->folder);
    sodium_free(keyring->root); /* wipes it */
    pthread_mutex_destroy(&keyring->lock);
    free(keyring);
}

/* BLAKE2b of PURPOSE under the root key. */
static void root_derive(const struct keyring *keyring, const char *purpose, unsigned char *out,
                        size_t size)
{
    crypto_generichash(out, size, (const unsigned char *)purpose, strlen(purpose), keyring->root,
                       KEYRING_KEY);
}

void keyring_name(const struct keyring *keyring, char out[KEYRING_NAME_SIZE])
{
    unsigned char name[(KEYRING_NAME_SIZE - 1) / 2];
    root_derive(keyring, "tacet: the name of the root key, 1", name, sizeof name);
    sodium_bin2hex(out, KEYRING_NAME_SIZE, name, sizeof name);
}

void keyring_service_key(const struct keyring *keyring, unsigned char out[KEYRING_KEY])
{
    root_derive(keyring, "tacet: secrets of the service, 1", out, KEYRING_KEY);
}

/* ---- slots */

/* Opens the file of DATASET; -1 when there is none. Who may write, writes alone until it closes the
 * file, among several processes too. */
static int slots_open(const struct keyring *keyring, const char *dataset, int flags)
{
    if (strlen(dataset) > ID_MAX || strchr(dataset, '/'))
        return -1;
    int file = openat(keyring->folder, dataset, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0 || (flags & O_ACCMODE) == O_RDONLY || flock(file, LOCK_EX) == 0)
        return file;
    close(file);
    return -1;
}

static off_t slot_place(uint32_t number)
{
    return number == KEYRING_DATASET ? 0 : (off_t)sizeof(struct slot) * ((off_t)number + 1);
}

static void slot_name(const char *dataset, uint32_t number, char out[NAME_BYTES])
{
    snprintf(out, NAME_BYTES, "%s %u", dataset, number);
}

/* Reads a slot; one behind the end of the file is empty. */
static bool slot_read(int file, uint32_t number, struct slot *out)
{
    ssize_t n = pread(file, out, sizeof *out, slot_place(number));
    if (n >= 0 && n < (ssize_t)sizeof *out)
        memset(out, 0, sizeof *out);
    return n >= 0;
}

static enum keyring_status slot_open(const struct keyring *keyring, const char *dataset,
                                     uint32_t number, const struct slot *slot, unsigned char *out)
{
    char name[NAME_BYTES];
    if (slot->state == SLOT_EMPTY)
        return KEYRING_NONE;
    if (slot->state == SLOT_ERASED)
        return KEYRING_ERASED;
    slot_name(dataset, number, name);
    bool opened = slot->state == SLOT_KEY &&
                  key_box_open(keyring->root, name, slot->box, sizeof slot->box, out);
    return opened ? KEYRING_OK : KEYRING_DAMAGED;
}

/* Draws a key for a slot and writes it. */
static bool slot_make(const struct keyring *keyring, int file, const char *dataset, uint32_t number,
                      bool replaced, unsigned char out[KEYRING_KEY])
{
    char name[NAME_BYTES];
    struct slot slot = {.state = SLOT_KEY, .replaced = replaced};
    slot_name(dataset, number, name);
    randombytes_buf(out, KEYRING_KEY);
    key_box_close(keyring->root, name, out, KEYRING_KEY, slot.box);
    return root_write_whole(file, &slot, sizeof slot, slot_place(number));
}

enum keyring_status keyring_find(struct keyring *keyring, const char *dataset, uint32_t number,
                                 unsigned char out[KEYRING_KEY])
{
    struct slot slot;
    int file = slots_open(keyring, dataset, O_RDONLY);
    if (file < 0)
        return errno == ENOENT ? KEYRING_NONE : KEYRING_FULL;
    enum keyring_status status = KEYRING_FULL;
    if (slot_read(file, number, &slot))
        status = slot_open(keyring, dataset, number, &slot, out);
    close(file);
    return status;
}

void keyring_find_all(struct keyring *keyring, const char *dataset, uint32_t count,
                      unsigned char *out, enum keyring_status *statuses)
{
    struct slot slot;
    int file = slots_open(keyring, dataset, O_RDONLY);
    bool missing = file < 0 && errno == ENOENT;
    for (uint32_t i = 0; i < count; i++) {
        statuses[i] = missing ? KEYRING_NONE : KEYRING_FULL;
        if (file >= 0 && slot_read(file, i, &slot))
            statuses[i] = slot_open(keyring, dataset, i, &slot, out + KEYRING_KEY * (size_t)i);
    }
    if (file >= 0)
        close(file);
}

enum keyring_status keyring_find_any(struct keyring *keyring, const char *dataset)
{
    struct slot slot = {.state = SLOT_EMPTY};
    ssize_t n = sizeof slot;
    int file = slots_open(keyring, dataset, O_RDONLY);
    if (file < 0)
        return errno == ENOENT ? KEYRING_NONE : KEYRING_FULL;
    for (off_t at = 0; n == sizeof slot && slot.state != SLOT_KEY; at += n)
        n = pread(file, &slot, sizeof slot, at);
    close(file);
    if (n < 0)
        return KEYRING_FULL;
    return slot.state == SLOT_KEY ? KEYRING_OK : KEYRING_NONE;
}

bool keyring_has_erased(struct keyring *keyring, const char *dataset)
{
    struct slot own = {.state = SLOT_EMPTY};
    int file = slots_open(keyring, dataset, O_RDONLY);
    bool erased = file >= 0 && slot_read(file, KEYRING_DATASET, &own) &&
                  (own.state == SLOT_ERASED || own.replaced);
    if (file >= 0)
        close(file);
    return erased;
}

/* Reads or makes one key. *MADE becomes true when it was made. */
static enum keyring_status need_one(const struct keyring *keyring, int file, const char *dataset,
                                    uint32_t number, bool is_new, unsigned char *out, bool *made)
{
    struct slot slot;
    if (!slot_read(file, number, &slot))
        return KEYRING_FULL;
    enum keyring_status status = slot_open(keyring, dataset, number, &slot, out);
    if (status == KEYRING_OK && keyring->unsure) {
        *made = true;
        return root_write_whole(file, &slot, sizeof slot, slot_place(number)) ? KEYRING_OK
                                                                              : KEYRING_FULL;
    }
    if (status != KEYRING_NONE && !(status == KEYRING_ERASED && is_new))
        return status;
    *made = true;
    return slot_make(keyring, file, dataset, number, false, out) ? KEYRING_OK : KEYRING_FULL;
}

enum keyring_status keyring_need(struct keyring *keyring, const char *dataset,
                                 const uint32_t *numbers, uint32_t count, uint32_t first_new,
                                 unsigned char *out)
{
    struct slot own = {.state = SLOT_EMPTY};
    enum keyring_status status = KEYRING_OK;
    bool made = false;
    pthread_mutex_lock(&keyring->lock);
    int file = slots_open(keyring, dataset, O_RDWR | O_CREAT);
    if (file < 0 || !slot_read(file, KEYRING_DATASET, &own))
        status = KEYRING_FULL;
    else if (own.state == SLOT_ERASED)
        status = KEYRING_ERASED;
    for (uint32_t i = 0; i < count && status == KEYRING_OK; i++)
        status = need_one(keyring, file, dataset, numbers[i], numbers[i] >= first_new,
                          out + KEYRING_KEY * (size_t)i, &made);
    if (made && (fsync(file) != 0 || fsync(keyring->folder) != 0)) {
        keyring->unsure = true;
        status = KEYRING_FULL;
    }
    if (file >= 0)
        close(file);
    pthread_mutex_unlock(&keyring->lock);
    return status;
}

/* ---- erasing */

enum keyring_status keyring_erase(struct keyring *keyring, const char *dataset, uint32_t number,
                                  keyring_first_fn *first, void *context)
{
    const struct slot erased = {.state = SLOT_ERASED};
    struct slot own = {.state = SLOT_EMPTY};
    unsigned char key[KEYRING_KEY];
    pthread_mutex_lock(&keyring->lock);
    int file = slots_open(keyring, dataset, O_RDWR | O_CREAT);
    bool done = file >= 0 && (!first || first(context)) && slot_read(file, KEYRING_DATASET, &own);
    if (done && own.state != SLOT_ERASED)
        done = slot_make(keyring, file, dataset, KEYRING_DATASET, true, key) && fsync(file) == 0;
    /* Last: while this key is there, the next start erases again. */
    done = done && root_write_whole(file, &erased, sizeof erased, slot_place(number)) &&
           fsync(file) == 0 && fsync(keyring->folder) == 0;
    if (file >= 0)
        close(file);
    pthread_mutex_unlock(&keyring->lock);
    sodium_memzero(key, sizeof key);
    return done ? KEYRING_OK : KEYRING_FULL;
}

enum keyring_status keyring_erase_all(struct keyring *keyring, const char *dataset)
{
    const struct slot erased = {.state = SLOT_ERASED};
    struct stat status;
    pthread_mutex_lock(&keyring->lock);
    int file = slots_open(keyring, dataset, O_RDWR | O_CREAT);
    bool done = file >= 0 && fstat(file, &status) == 0;
    for (off_t at = 0; done && (at == 0 || at < status.st_size); at += (off_t)sizeof erased)
        done = root_write_whole(file, &erased, sizeof erased, at);
    done = done && fsync(file) == 0 && ftruncate(file, sizeof erased) == 0 && fsync(file) == 0 &&
           fsync(keyring->folder) == 0;
    if (file >= 0)
        close(file);
    pthread_mutex_unlock(&keyring->lock);
    return done ? KEYRING_OK : KEYRING_FULL;
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec > b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

/* Shows the erased slots of one dataset if its file changed since the look before the last. *NEWEST
 * becomes its time if that is later. False: EACH wants no more, or the file cannot be read. */
static bool show_erased(const struct keyring *keyring, const char *dataset, keyring_erased_fn *each,
                        void *context, struct timespec *newest, enum keyring_status *status)
{
    struct slot slots[64];
    struct stat about = {.st_mode = 0};
    bool more = true;
    int file = slots_open(keyring, dataset, O_RDONLY);
    ssize_t n = file >= 0 && fstat(file, &about) == 0 ? (ssize_t)sizeof slots : -1;
    if (is_later(&about.st_mtim, newest))
        *newest = about.st_mtim;
    if (n > 0 && !is_later(&about.st_mtim, &keyring->looked[1]))
        n = 0;
    for (uint32_t number = KEYRING_DATASET; more && n == sizeof slots;) {
        n = pread(file, slots, sizeof slots, slot_place(number));
        for (ssize_t i = 0; more && i < n / (ssize_t)sizeof *slots; i++, number++)
            if (slots[i].state == SLOT_ERASED)
                more = each(context, dataset, number);
    }
    if (n < 0)
        *status = KEYRING_FULL;
    if (file >= 0)
        close(file);
    return more && *status == KEYRING_OK;
}

enum keyring_status keyring_erased(struct keyring *keyring, keyring_erased_fn *each, void *context)
{
    enum keyring_status status = KEYRING_OK;
    struct timespec newest = keyring->looked[0];
    bool more = true;
    int again = openat(keyring->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = again >= 0 ? fdopendir(again) : NULL;
    if (!folder && again >= 0)
        close(again);
    if (!folder)
        return KEYRING_FULL;
    const struct dirent *entry;
    while (more && (entry = readdir(folder)))
        more = strncmp(entry->d_name, "ds_", 3) != 0 ||
               show_erased(keyring, entry->d_name, each, context, &newest, &status);
    closedir(folder);
    if (more) {
        keyring->looked[1] = keyring->looked[0];
        keyring->looked[0] = newest;
    }
    return status;
}
