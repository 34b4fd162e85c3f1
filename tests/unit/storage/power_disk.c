/* A file is what it held at its last sync and a list of changes since; a name that was removed and
 * made anew is two files. */
#include "tests/unit/storage/power_disk.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory/memory.h"
#include "tests/unit/storage/fixture.h"

enum { SECTOR = 512, FILES_MOST = 64, NAME_BYTES = 64, PATH_BYTES = 512 };

struct change {
    unsigned char *bytes; /* NULL: the file was given SIZE bytes */
    size_t size;
    int64_t at;
};

struct content {
    unsigned char *bytes;
    size_t size, room;
};

struct power_file {
    char name[NAME_BYTES];
    struct content synced;
    struct change *changes;
    size_t count, room;
    bool born, removed; /* its name is on the disk; its name was removed, on no disk yet */
};

static struct {
    char folder[PATH_BYTES]; /* "": there is no disk */
    struct power_file *files[FILES_MOST];
    unsigned count;
    unsigned long changes;
    power_watch_fn *watch;
    void *context;
} disk;

/* ---- contents */

static void content_resize(struct content *content, size_t size)
{
    if (size > content->room) {
        content->room = 2 * size;
        content->bytes = memory_resize(content->bytes, content->room, 1);
    }
    if (size > content->size)
        memset(content->bytes + content->size, 0, size - content->size);
    content->size = size;
}

static void content_write(struct content *content, const void *bytes, size_t size, size_t at)
{
    if (at + size > content->size)
        content_resize(content, at + size);
    if (size > 0)
        memcpy(content->bytes + at, bytes, size);
}

static void content_read(struct content *content, const char *path)
{
    struct stat info;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    cr_assert(file >= 0 && fstat(file, &info) == 0, "%s", path);
    content_resize(content, (size_t)info.st_size);
    cr_assert_eq(read(file, content->bytes, content->size), (ssize_t)content->size);
    close(file);
}

static void content_store(const struct content *content, const char *path)
{
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    cr_assert_geq(file, 0, "%s", path);
    cr_assert_eq(write(file, content->bytes, content->size), (ssize_t)content->size);
    close(file);
}

static void changes_drop(struct power_file *file)
{
    for (size_t i = 0; i < file->count; i++)
        free(file->changes[i].bytes);
    file->count = 0;
}

static void file_free(struct power_file *file)
{
    changes_drop(file);
    free(file->changes);
    free(file->synced.bytes);
    free(file);
}

/* ---- what is told */

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), wanted = strlen(ending);
    return length >= wanted && strcmp(text + length - wanted, ending) == 0;
}

static void tell_watcher(void)
{
    disk.changes++;
    if (disk.watch)
        disk.watch(disk.context, disk.changes);
}

static const char *name_of(const char *path)
{
    size_t length = strlen(disk.folder);
    bool within = length > 0 && path && strncmp(path, disk.folder, length) == 0 &&
                  path[length] == '/' && !strchr(path + length + 1, '/');
    return within && !ends_with(path, "-shm") ? path + length + 1 : NULL;
}

static struct power_file *file_add(const char *name, bool born)
{
    struct power_file *file = memory_new(1, sizeof *file);
    cr_assert_lt(disk.count, FILES_MOST);
    cr_assert_lt(strlen(name), NAME_BYTES);
    snprintf(file->name, sizeof file->name, "%s", name);
    file->born = born;
    disk.files[disk.count++] = file;
    return file;
}

static struct power_file *file_named(const char *name)
{
    for (unsigned i = 0; i < disk.count; i++)
        if (!disk.files[i]->removed && strcmp(disk.files[i]->name, name) == 0)
            return disk.files[i];
    return NULL;
}

struct power_file *power_disk_file(const char *path)
{
    const char *name = name_of(path);
    struct power_file *file = name ? file_named(name) : NULL;
    return name && !file ? file_add(name, false) : file;
}

void power_disk_wrote(struct power_file *file, const void *bytes, size_t size, int64_t at)
{
    if (!file)
        return;
    if (file->count == file->room) {
        file->room = 2 * file->room + 16;
        file->changes = memory_resize(file->changes, file->room, sizeof *file->changes);
    }
    unsigned char *copy = bytes ? memory_copy(bytes, size) : NULL;
    file->changes[file->count++] = (struct change){copy, size, at};
    tell_watcher();
}

static void change_apply(struct content *content, const struct change *change)
{
    if (change->bytes)
        content_write(content, change->bytes, change->size, (size_t)change->at);
    else
        content_resize(content, change->size);
}

void power_disk_synced(struct power_file *file)
{
    if (!file)
        return;
    for (size_t i = 0; i < file->count; i++)
        change_apply(&file->synced, &file->changes[i]);
    changes_drop(file);
    tell_watcher();
}

void power_disk_folder_synced(void)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < disk.count; i++) {
        struct power_file *file = disk.files[i];
        file->born = true;
        if (file->removed)
            file_free(file);
        else
            disk.files[kept++] = file;
    }
    disk.count = kept;
    tell_watcher();
}

void power_disk_removed(const char *path)
{
    const char *name = name_of(path);
    struct power_file *file = name ? file_named(name) : NULL;
    if (file) {
        file->removed = true;
        tell_watcher();
    }
}

void power_disk_watch(power_watch_fn *watch, void *context)
{
    disk.watch = watch;
    disk.context = context;
}

void power_disk_begin(const char *folder)
{
    char path[PATH_BYTES];
    power_disk_end();
    snprintf(disk.folder, sizeof disk.folder, "%s", folder);
    DIR *names = opendir(folder);
    cr_assert_not_null(names);
    for (struct dirent *entry = readdir(names); entry; entry = readdir(names)) {
        if (entry->d_name[0] == '.' || ends_with(entry->d_name, "-shm"))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        content_read(&file_add(entry->d_name, true)->synced, path);
    }
    closedir(names);
}

void power_disk_end(void)
{
    for (unsigned i = 0; i < disk.count; i++)
        file_free(disk.files[i]);
    disk.count = 0;
    disk.changes = 0;
    disk.folder[0] = '\0';
    disk.watch = NULL;
}

/* ---- what is left at a cut */

/* How a file's changes end: a cut draws one for each file. */
enum temper { ALL_LOST, ALL_KEPT, A_PREFIX, EACH_CHANGE, EACH_SECTOR, TEMPERS };

static void draw_sectors(struct content *content, const struct change *change, uint64_t *seed,
                         struct power_counts *counts)
{
    for (size_t done = 0; done < change->size;) {
        size_t at = (size_t)change->at + done, size = SECTOR - at % SECTOR;
        size = size < change->size - done ? size : change->size - done;
        size_t kept = size;
        switch (fixture_random(seed, 8)) {
        case 0:
        case 1:
        case 2: kept = 0; break;
        case 3: kept = (size_t)fixture_random(seed, size + 1); break;
        default: break;
        }
        counts->torn += kept > 0 && kept < size;
        counts->kept += kept == size;
        counts->lost += kept == 0;
        /* The size may have grown without the bytes. */
        if (kept == 0 && at + size > content->size && fixture_random(seed, 2) == 0) {
            content_resize(content, at + size);
            if (fixture_random(seed, 2) == 0) {
                for (size_t i = 0; i < size; i++)
                    content->bytes[at + i] = (unsigned char)fixture_random(seed, 256);
                counts->rubbish++;
            }
        }
        if (kept > 0)
            content_write(content, change->bytes + done, kept, at);
        done += size;
    }
}

static void draw_change(struct content *content, const struct change *change, enum temper temper,
                        uint64_t *seed, struct power_counts *counts)
{
    bool kept = temper == ALL_KEPT || fixture_random(seed, 2) == 0;
    if (temper == EACH_SECTOR && change->bytes) {
        draw_sectors(content, change, seed, counts);
        return;
    }
    counts->kept += kept && change->bytes;
    counts->lost += !kept && change->bytes;
    counts->truncations_lost += !kept && !change->bytes;
    if (kept)
        change_apply(content, change);
}

/* What FILE holds after the cut. */
static struct content draw_content(const struct power_file *file, uint64_t *seed,
                                   struct power_counts *counts)
{
    struct content content = {.bytes = NULL};
    size_t count = file->count, *order = memory_new(count, sizeof *order);
    enum temper temper = (enum temper)fixture_random(seed, TEMPERS);
    content_write(&content, file->synced.bytes ? file->synced.bytes : (unsigned char *)"",
                  file->synced.size, 0);
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = 0; temper >= EACH_CHANGE && i < count; i++) {
        if (fixture_random(seed, 4) != 0)
            continue;
        size_t other = (size_t)fixture_random(seed, count), mine = order[i];
        counts->swapped += other != i;
        order[i] = order[other];
        order[other] = mine;
    }
    if (temper == ALL_LOST) {
        counts->lost += count;
        count = 0;
    } else if (temper == A_PREFIX && count > 0) {
        size_t whole = (size_t)fixture_random(seed, count);
        for (size_t i = 0; i < whole; i++)
            draw_change(&content, &file->changes[i], ALL_KEPT, seed, counts);
        draw_change(&content, &file->changes[whole], EACH_SECTOR, seed, counts);
        counts->lost += count - whole - 1;
        count = 0;
    }
    for (size_t i = 0; i < count; i++)
        draw_change(&content, &file->changes[order[i]], temper, seed, counts);
    free(order);
    return content;
}

/* The file that has NAME after the cut: some of what was done to that name since the folder's last
 * sync has happened, in its order. NULL: there is none. */
static const struct power_file *draw_name(const char *name, uint64_t *seed,
                                          struct power_counts *counts)
{
    const struct power_file *now = NULL;
    unsigned pending = 0;
    for (unsigned i = 0; i < disk.count; i++)
        if (strcmp(disk.files[i]->name, name) == 0)
            pending += (unsigned)!disk.files[i]->born + (unsigned)disk.files[i]->removed;
    unsigned happened = (unsigned)fixture_random(seed, pending + 1);
    counts->names_lost += pending - happened;
    for (unsigned i = 0; i < disk.count; i++) {
        const struct power_file *file = disk.files[i];
        if (strcmp(file->name, name) != 0)
            continue;
        if (!file->born && happened-- == 0)
            return now;
        now = file;
        if (file->removed && happened-- == 0)
            return now;
        if (file->removed)
            now = NULL;
    }
    return now;
}

static bool is_first(unsigned index)
{
    for (unsigned i = 0; i < index; i++)
        if (strcmp(disk.files[i]->name, disk.files[index]->name) == 0)
            return false;
    return true;
}

/* The index of the log, which a start must not believe. */
static void draw_shared(const char *name, const char *to, uint64_t *seed)
{
    char from[PATH_BYTES + NAME_BYTES + 8], path[sizeof from]; /* 8: "/" and "-shm" */
    struct content content = {.bytes = NULL};
    uint64_t fate = fixture_random(seed, 3);
    if (!ends_with(name, ".db") || fate == 0)
        return;
    snprintf(from, sizeof from, "%s/%s-shm", disk.folder, name);
    snprintf(path, sizeof path, "%s/%s-shm", to, name);
    if (access(from, R_OK) == 0 && fate == 1) {
        content_read(&content, from);
    } else {
        content_resize(&content, (size_t)fixture_random(seed, 32769));
        for (size_t i = 0; i < content.size; i++)
            content.bytes[i] = (unsigned char)fixture_random(seed, 256);
    }
    content_store(&content, path);
    free(content.bytes);
}

void power_disk_cut(uint64_t seed, const char *to, struct power_counts *counts)
{
    char path[PATH_BYTES + NAME_BYTES];
    cr_assert_eq(mkdir(to, 0700), 0, "%s", to);
    counts->cuts++;
    for (unsigned i = 0; i < disk.count; i++) {
        if (!is_first(i))
            continue;
        const char *name = disk.files[i]->name;
        const struct power_file *file = draw_name(name, &seed, counts);
        if (!file)
            continue;
        struct content content = draw_content(file, &seed, counts);
        snprintf(path, sizeof path, "%s/%s", to, name);
        content_store(&content, path);
        free(content.bytes);
        draw_shared(name, to, &seed);
    }
}
