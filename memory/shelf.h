/* A shelf: things that are slow to open, opened once and kept until others are wanted more. It is
 * shared by all threads. Its lock is never held while a thing is opened or closed. */
#ifndef TACET_MEMORY_SHELF_H
#define TACET_MEMORY_SHELF_H

#include <stdbool.h>
#include <stddef.h>

#define SHELF_NAME_SIZE 40 /* bytes of a name or a group, with the NUL */

struct shelf_kind {
    unsigned most;     /* things that are kept */
    size_t most_bytes; /* that they take together */
    void (*close)(void *thing);
};

/* A thing that was just opened. */
struct shelf_opened {
    void *thing;
    size_t bytes;
    char group[SHELF_NAME_SIZE]; /* it goes when its group is dropped; "": it has none */
};

struct shelf;

/* An empty shelf. The caller frees it with shelf_free. */
struct shelf *shelf_new(const struct shelf_kind *kind);

/* Closes everything that is kept. Nothing may be on loan. NULL is fine. */
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

/* Closes what belongs to GROUP, at once or when its last loan ends. Nothing of it is kept again:
 * the shelf remembers the last 64 groups, because a slow reader may still open an old thing. */
void shelf_drop(struct shelf *shelf, const char *group);

#endif
