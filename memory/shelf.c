/* One list, the thing that was lent last in front, behind one lock.
 *
 * DESIGN. An entry that is not kept (there was no room, or something was dropped while it was
 * opened, perhaps its group) stays in the list
 * until its loans end, and nobody finds it by its name any more. Entries that nobody needs are
 * moved to a list of the caller's, which closes them when it has given the lock back. */
#include "memory/shelf.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"

struct shelf_entry {
    struct shelf_entry *next;
    struct shelf_opened opened;
    char name[SHELF_NAME_SIZE];
    unsigned loans;
    bool kept;
};

struct shelf {
    struct shelf_kind kind;
    pthread_mutex_t lock;
    struct shelf_entry *entries;
    unsigned kept;
    size_t bytes;                     /* bytes of the kept things */
    char (*dropped)[SHELF_NAME_SIZE]; /* every name that was dropped */
    size_t dropped_count;
    unsigned long drops; /* so far */
};

struct shelf *shelf_new(const struct shelf_kind *kind)
{
    struct shelf *shelf = memory_new(1, sizeof *shelf);
    shelf->kind = *kind;
    pthread_mutex_init(&shelf->lock, NULL);
    return shelf;
}

static void shelf_close(const struct shelf *shelf, struct shelf_entry *entries)
{
    while (entries) {
        struct shelf_entry *next = entries->next;
        shelf->kind.close(entries->opened.thing);
        free(entries);
        entries = next;
    }
}

void shelf_free(struct shelf *shelf)
{
    if (!shelf)
        return;
    shelf_close(shelf, shelf->entries);
    pthread_mutex_destroy(&shelf->lock);
    free(shelf->dropped);
    free(shelf);
}

/* Moves the entry at *AT to the list *TO. */
static void shelf_move(struct shelf_entry **at, struct shelf_entry **to)
{
    struct shelf_entry *entry = *at;
    *at = entry->next;
    entry->next = *to;
    *to = entry;
}

/* Takes the entry at *AT off the shelf. True: it was not on loan and was moved to *GONE. */
static bool shelf_release(struct shelf *shelf, struct shelf_entry **at, struct shelf_entry **gone)
{
    if ((*at)->kept) {
        shelf->kept--;
        shelf->bytes -= (*at)->opened.bytes;
        (*at)->kept = false;
    }
    if ((*at)->loans > 0)
        return false;
    shelf_move(at, gone);
    return true;
}

static struct shelf_entry *shelf_find(struct shelf *shelf, const char *name)
{
    for (struct shelf_entry **at = &shelf->entries; *at; at = &(*at)->next) {
        if ((*at)->kept && strcmp((*at)->name, name) == 0) {
            shelf_move(at, &shelf->entries);
            shelf->entries->loans++;
            return shelf->entries;
        }
    }
    return NULL;
}

static bool shelf_was_dropped(const struct shelf *shelf, const char *name)
{
    for (size_t i = 0; i < shelf->dropped_count; i++)
        if (strcmp(shelf->dropped[i], name) == 0)
            return true;
    return false;
}

static void shelf_remember(struct shelf *shelf, const char *name)
{
    if (shelf_was_dropped(shelf, name))
        return;
    shelf->dropped =
        memory_resize(shelf->dropped, shelf->dropped_count + 1, sizeof *shelf->dropped);
    strcpy(shelf->dropped[shelf->dropped_count++], name);
}

/* Makes room for one more thing of BYTES. False: too many things are on loan. */
static bool shelf_make_room(struct shelf *shelf, size_t bytes, struct shelf_entry **gone)
{
    if (bytes > shelf->kind.most_bytes)
        return false;
    while (shelf->kept >= shelf->kind.most || shelf->bytes > shelf->kind.most_bytes - bytes) {
        struct shelf_entry **oldest = NULL;
        for (struct shelf_entry **at = &shelf->entries; *at; at = &(*at)->next)
            if ((*at)->kept && (*at)->loans == 0)
                oldest = at;
        if (!oldest)
            return false;
        shelf_release(shelf, oldest, gone);
    }
    return true;
}

/* Puts FRESH, which was opened since the drop number DROPS, on the shelf for its first loan, or on
 * *GONE if another thread was faster. */
static struct shelf_entry *shelf_add(struct shelf *shelf, struct shelf_entry *fresh,
                                     unsigned long drops, struct shelf_entry **gone)
{
    struct shelf_entry *twin = shelf_find(shelf, fresh->name);
    if (twin) {
        shelf_move(&fresh, gone);
        return twin;
    }
    fresh->loans = 1;
    fresh->kept = drops == shelf->drops && !shelf_was_dropped(shelf, fresh->name) &&
                  shelf_make_room(shelf, fresh->opened.bytes, gone);
    if (fresh->kept) {
        shelf->kept++;
        shelf->bytes += fresh->opened.bytes;
    }
    shelf_move(&fresh, &shelf->entries);
    return shelf->entries;
}

const void *shelf_borrow(struct shelf *shelf, const char *name,
                         bool (*open)(void *context, const char *name, struct shelf_opened *out),
                         void *context)
{
    struct shelf_entry *gone = NULL;
    size_t length = strlen(name);
    pthread_mutex_lock(&shelf->lock);
    struct shelf_entry *entry = shelf_find(shelf, name);
    unsigned long drops = shelf->drops;
    pthread_mutex_unlock(&shelf->lock);
    if (entry)
        return entry->opened.thing;
    struct shelf_opened opened = {.thing = NULL};
    if (length >= SHELF_NAME_SIZE || !open || !open(context, name, &opened))
        return NULL;
    entry = memory_new(1, sizeof *entry);
    entry->opened = opened;
    memcpy(entry->name, name, length + 1);
    pthread_mutex_lock(&shelf->lock);
    entry = shelf_add(shelf, entry, drops, &gone);
    pthread_mutex_unlock(&shelf->lock);
    shelf_close(shelf, gone);
    return entry->opened.thing;
}

void shelf_return(struct shelf *shelf, const void *thing)
{
    struct shelf_entry *gone = NULL;
    pthread_mutex_lock(&shelf->lock);
    struct shelf_entry **at = &shelf->entries;
    while ((*at)->opened.thing != thing)
        at = &(*at)->next;
    assert((*at)->loans > 0);
    (*at)->loans--;
    if (!(*at)->kept)
        shelf_release(shelf, at, &gone);
    pthread_mutex_unlock(&shelf->lock);
    shelf_close(shelf, gone);
}

void shelf_drop(struct shelf *shelf, const char *group)
{
    struct shelf_entry *gone = NULL;
    assert(group[0] != '\0' && strlen(group) < SHELF_NAME_SIZE);
    pthread_mutex_lock(&shelf->lock);
    shelf_remember(shelf, group);
    shelf->drops++;
    struct shelf_entry **at = &shelf->entries;
    while (*at) {
        bool named = strcmp((*at)->opened.group, group) == 0 || strcmp((*at)->name, group) == 0;
        bool moved = named && shelf_release(shelf, at, &gone);
        if (!moved)
            at = &(*at)->next;
    }
    pthread_mutex_unlock(&shelf->lock);
    shelf_close(shelf, gone);
}
