/* A shelf keeps things that are slow to open. Each is opened once and kept until others need its
 * room. All threads share the shelf. Its lock is never held while a thing is opened or closed. */
#ifndef TACET_MEMORY_SHELF_H
#define TACET_MEMORY_SHELF_H

#include <stdbool.h>
#include <stddef.h>

#define SHELF_NAME_SIZE 40 /* bytes of a name or a group, with the NUL */

struct shelf_kind {
    unsigned most;     /* things that are kept */
    size_t most_bytes; /* bytes that the kept things take together */
    void (*close)(void *thing);
};

/* A thing that was just opened. */
struct shelf_opened {
    void *thing;
    size_t bytes;
    char group[SHELF_NAME_SIZE]; /* the thing goes when this group is dropped; "": no group */
};

struct shelf;

/* An empty shelf. The caller frees it with shelf_free. */
struct shelf *shelf_new(const struct shelf_kind *kind);

/* Closes and frees everything that is kept; takes NULL. Nothing may be on loan. */
void shelf_free(struct shelf *shelf);

/* Lends the thing NAME. When it is not there, OPEN makes it; false from OPEN: there is none, and
 * CONTEXT knows why. Threads that open the same thing at once all get the one that is kept. The
 * thing that was lent longest ago makes room. When all are on loan, the new one is for this loan
 * alone. NULL: OPEN gave false, or is NULL and the thing is not there. */
const void *shelf_borrow(struct shelf *shelf, const char *name,
                         bool (*open)(void *context, const char *name, struct shelf_opened *out),
                         void *context);

/* Ends one loan of THING. */
void shelf_return(struct shelf *shelf, const void *thing);

/* Closes what belongs to GROUP or has that name, at once or when its last loan ends. What is being
 * opened is not kept. A thing of that name is never kept again: the shelf remembers all names,
 * because a slow reader may still open an old thing. Of GROUP other things may be kept later. */
void shelf_drop(struct shelf *shelf, const char *group);

#endif
