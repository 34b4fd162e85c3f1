/* The keyring: keys survive a restart and a new master key, and an erased one never comes back. */
#include "storage/keys/keyring.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "storage/keys/key_box.h"

/* Stands before the system's: SYNC_FAILS makes the next one fail. */
static bool sync_fails;
static unsigned syncs;

int fsync(int file)
{
    if (sync_fails) {
        sync_fails = false;
        errno = EIO;
        return -1;
    }
    syncs++;
    return (int)syscall(SYS_fsync, file);
}

static char directory[64], why[256];
static const unsigned char master[KEYRING_KEY] = {1}, other[KEYRING_KEY] = {2};
static struct keyring *keys;

static void open_again(void)
{
    keyring_close(keys);
    why[0] = '\0';
    keys = keyring_open(directory, master, why, sizeof why);
    cr_assert_not_null(keys, "%s", why);
}

static void open_keys(void)
{
    strcpy(directory, "/tmp/tacet-keys-XXXXXX");
    cr_assert_not_null(mkdtemp(directory));
    open_again();
}

static const char *file_of(const char *name)
{
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static void close_keys(void)
{
    DIR *folder = opendir(directory);
    keyring_close(keys);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        unlink(file_of(entry->d_name));
    closedir(folder);
    rmdir(directory);
}

static void expect_find(uint32_t number, enum keyring_status wanted, const unsigned char *key)
{
    unsigned char found[KEYRING_KEY];
    cr_assert_eq(keyring_find(keys, "ds_a", number, found), wanted, "key %u", number);
    if (key)
        cr_assert_arr_eq(found, key, KEYRING_KEY);
}

static const uint32_t numbers[] = {0, 3, 1, KEYRING_DATASET};

static void need(unsigned char out[4][KEYRING_KEY])
{
    cr_assert_eq(keyring_need(keys, "ds_a", numbers, 4, UINT32_MAX, out[0]), KEYRING_OK);
}

Test(keyring, keeps_keys_over_a_restart_and_a_new_master_key, .init = open_keys, .fini = close_keys)
{
    unsigned char first[4][KEYRING_KEY], again[4][KEYRING_KEY];
    expect_find(0, KEYRING_NONE, NULL);
    need(first);
    cr_assert_arr_neq(first[0], first[1], KEYRING_KEY);
    open_again();
    need(again);
    cr_assert_arr_eq(first, again, sizeof first);
    expect_find(2, KEYRING_NONE, NULL);
    cr_assert(keyring_rotate(directory, master, other, why, sizeof why), "%s", why);
    expect_find(3, KEYRING_OK, first[1]); /* the one that runs goes on */
    cr_assert_null(keyring_open(directory, master, why, sizeof why));
    cr_assert_not_null(strstr(why, "not encrypted under this key"));
    cr_assert_not(keyring_rotate(directory, master, other, why, sizeof why));
    cr_assert(keyring_rotate(directory, other, master, why, sizeof why), "%s", why);
    open_again();
    expect_find(KEYRING_DATASET, KEYRING_OK, first[3]);
}

static bool refuse_erasing(void *context)
{
    (void)context;
    return false;
}

Test(keyring, an_erased_key_is_in_no_file_and_never_comes_back, .init = open_keys,
     .fini = close_keys)
{
    unsigned char first[4][KEYRING_KEY], key[KEYRING_KEY], again[KEYRING_KEY];
    unsigned char before[1024], after[1024];
    need(first);
    int file = open(file_of("ds_a"), O_RDONLY);
    ssize_t size = read(file, before, sizeof before);
    cr_assert_eq(size, 5 * 128);
    cr_assert_eq(keyring_erase(keys, "ds_a", 3, refuse_erasing, NULL), KEYRING_FULL);
    expect_find(3, KEYRING_OK, first[1]);
    expect_find(KEYRING_DATASET, KEYRING_OK, first[3]);
    cr_assert_eq(keyring_erase(keys, "ds_a", 3, NULL, NULL), KEYRING_OK);
    cr_assert_eq(keyring_find(keys, "ds_a", KEYRING_DATASET, key), KEYRING_OK);
    cr_assert_eq(keyring_erase(keys, "ds_a", 3, NULL, NULL), KEYRING_OK);
    cr_assert_eq(keyring_find(keys, "ds_a", KEYRING_DATASET, again), KEYRING_OK);
    cr_expect_arr_neq(again, key, KEYRING_KEY, "what was derived between two tries is readable");
    cr_assert_eq(pread(file, after, sizeof after, 0), size);
    close(file);
    cr_assert_null(memmem(after, (size_t)size, before + 4 * 128 + 8, 16), "the box is there");
    open_again();
    expect_find(3, KEYRING_ERASED, NULL);
    expect_find(0, KEYRING_OK, first[0]);
    /* what was derived from the data has another key */
    cr_assert_eq(keyring_find(keys, "ds_a", KEYRING_DATASET, key), KEYRING_OK);
    cr_assert_arr_neq(key, first[3], KEYRING_KEY);
    /* and only somebody new gets a key there */
    cr_assert_eq(keyring_need(keys, "ds_a", &numbers[1], 1, UINT32_MAX, key), KEYRING_ERASED);
    cr_assert_eq(keyring_need(keys, "ds_a", &numbers[1], 1, 3, key), KEYRING_OK);
    cr_assert_arr_neq(key, first[1], KEYRING_KEY);
}

static bool note_erased(void *context, const char *dataset, uint32_t number)
{
    char *text = context;
    snprintf(text + strlen(text), 64, "%s:%d ", dataset, (int)number);
    return true;
}

Test(keyring, a_dataset_is_erased_whole, .init = open_keys, .fini = close_keys)
{
    unsigned char first[4][KEYRING_KEY], key[KEYRING_KEY];
    char erased[200] = "";
    struct stat status;
    need(first);
    cr_assert_eq(keyring_erase(keys, "ds_a", 1, NULL, NULL), KEYRING_OK);
    cr_assert_eq(keyring_erased(keys, note_erased, erased), KEYRING_OK);
    cr_assert_str_eq(erased, "ds_a:1 ");
    cr_assert_eq(keyring_erase_all(keys, "ds_a"), KEYRING_OK);
    cr_assert_eq(keyring_erase_all(keys, "ds_a"), KEYRING_OK);
    cr_assert_eq(stat(file_of("ds_a"), &status), 0);
    cr_assert_eq(status.st_size, 128);
    expect_find(0, KEYRING_NONE, NULL);
    cr_assert_eq(keyring_need(keys, "ds_a", numbers, 1, 0, key), KEYRING_ERASED);
    erased[0] = '\0';
    cr_assert_eq(keyring_erased(keys, note_erased, erased), KEYRING_OK);
    cr_assert_str_eq(erased, "ds_a:-1 ");
}

/* A slot opens in its own place alone, under its own root key, and not with a byte changed. */
Test(keyring, refuses_what_was_moved_or_changed, .init = open_keys, .fini = close_keys)
{
    unsigned char first[4][KEYRING_KEY], slots[5 * 128];
    need(first);
    int file = open(file_of("ds_a"), O_RDWR);
    cr_assert_eq(pread(file, slots, sizeof slots, 0), (ssize_t)sizeof slots);
    cr_assert_eq(pwrite(file, slots + 128, 128, 2 * 128), 128);
    expect_find(1, KEYRING_DAMAGED, NULL);
    slots[128 + 40] ^= 1;
    cr_assert_eq(pwrite(file, slots + 128, 128, 128), 128);
    expect_find(0, KEYRING_DAMAGED, NULL);
    close(file);
    enum keyring_status states[4];
    unsigned char all[4][KEYRING_KEY];
    keyring_find_all(keys, "ds_a", 4, all[0], states);
    const enum keyring_status wanted[] = {KEYRING_DAMAGED, KEYRING_DAMAGED, KEYRING_NONE,
                                          KEYRING_OK};
    cr_assert_arr_eq(states, wanted, sizeof states);
    cr_assert_arr_eq(all[3], first[1], KEYRING_KEY);
}

Test(keyring, is_private_and_names_what_is_wrong, .init = open_keys, .fini = close_keys)
{
    char name[KEYRING_NAME_SIZE], again[KEYRING_NAME_SIZE];
    keyring_name(keys, name);
    open_again();
    keyring_name(keys, again);
    cr_assert_str_eq(name, again);
    cr_assert_eq(chmod(directory, 0755), 0);
    cr_assert_null(keyring_open(directory, master, why, sizeof why));
    cr_assert_not_null(strstr(why, "chmod 700"));
    cr_assert_eq(chmod(directory, 0700), 0);
    cr_assert_eq(truncate(file_of("root"), 20), 0);
    cr_assert_null(keyring_open(directory, master, why, sizeof why));
}

/* On a network's disk only what is open for writing can be locked for writing. */
Test(keyring, locks_no_folder, .init = open_keys, .fini = close_keys, .timeout = 600)
{
    int folder = open(directory, O_RDONLY | O_DIRECTORY);
    cr_assert_eq(flock(folder, LOCK_EX), 0);
    open_again();
    cr_assert(keyring_rotate(directory, master, other, why, sizeof why), "%s", why);
    cr_assert(keyring_rotate(directory, other, master, why, sizeof why), "%s", why);
    close(folder);
}

/* A folder that goes, as a network's disk does, is not taken for an empty one. */
Test(keyring, stays_in_its_folder, .init = open_keys, .fini = close_keys)
{
    unsigned char first[4][KEYRING_KEY], again[4][KEYRING_KEY];
    char moved[80];
    need(first);
    snprintf(moved, sizeof moved, "%s.moved", directory);
    cr_assert_eq(rename(directory, moved), 0);
    cr_assert_eq(mkdir(directory, 0700), 0);
    need(again);
    cr_expect_arr_eq(first, again, sizeof first);
    expect_find(0, KEYRING_OK, first[0]);
    cr_assert_eq(rmdir(directory), 0, "something was written there");
    cr_assert_eq(rename(moved, directory), 0);
}

static bool count_erased(void *context, const char *name, uint32_t number)
{
    (void)name;
    (void)number;
    ++*(unsigned *)context;
    return true;
}

static unsigned erased_now(void)
{
    unsigned count = 0;
    cr_assert_eq(keyring_erased(keys, count_erased, &count), KEYRING_OK);
    return count;
}

Test(keyring, shows_twice_what_was_erased_since, .init = open_keys, .fini = close_keys)
{
    cr_assert_eq(keyring_erase(keys, "ds_a", 3, NULL, NULL), KEYRING_OK);
    cr_assert_eq(keyring_erase(keys, "ds_a", 5, NULL, NULL), KEYRING_OK);
    cr_expect_eq(erased_now(), 2);
    cr_expect_eq(erased_now(), 2);
    cr_expect_eq(erased_now(), 0);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); /* a file's time is coarse */
    cr_assert_eq(keyring_erase_all(keys, "ds_b"), KEYRING_OK);
    cr_expect_eq(erased_now(), 1);
    cr_expect_eq(erased_now(), 1);
    cr_expect_eq(erased_now(), 0);
}

/* The second fsync says that all is well, although the system gave up what the first one was for.
 */
Test(keyring, that_was_not_synced_is_written_again, .init = open_keys, .fini = close_keys)
{
    unsigned char key[4][KEYRING_KEY], again[4][KEYRING_KEY];
    sync_fails = true;
    cr_assert_eq(keyring_need(keys, "ds_a", numbers, 4, UINT32_MAX, key[0]), KEYRING_FULL);
    syncs = 0;
    need(again);
    cr_expect_eq(syncs, 2, "the file and its folder");
    cr_expect_arr_eq(key, again, sizeof key);
}
