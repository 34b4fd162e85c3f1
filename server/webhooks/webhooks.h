/* Webhooks (--webhook): tells the operator's targets that a job has ended, that a budget is low or
 * that more is asked for. Each target has a process, which alone speaks to it, and a thread, which
 * looks for what the target was not told yet (storage/webhooks.h). So a slow target delays nothing
 * but itself. */
#ifndef TACET_SERVER_WEBHOOKS_WEBHOOKS_H
#define TACET_SERVER_WEBHOOKS_WEBHOOKS_H

#include <stdbool.h>
#include <stddef.h>

#include "storage/db/db.h"

#define WEBHOOKS_MOST 16

struct webhooks;

/* KEYFILE of the setting "PROJECT ADDRESS KEYFILE"; "" when there are fewer words. */
const char *webhook_key_file(const char *setting);

/* Text that the processes wipe, because they need none of it. */
struct webhooks_secret {
    void *bytes;
    size_t size;
};

/* Reads COUNT settings, "PROJECT ADDRESS KEYFILE" with a project's id or "all", begins their
 * processes, which wipe SECRET, and then reads the keys; while there is one thread and before other
 * secrets are read. NULL with ERROR empty: there is no setting; otherwise ERROR is a sentence. */
struct webhooks *webhooks_open(const char *const *settings, size_t count,
                               struct webhooks_secret secret, char *error, size_t error_size);

/* Looks at such settings, and begins nothing. False: ERROR says what is wrong with one. */
bool webhooks_look(const char *const *settings, size_t count, char *error, size_t error_size);

/* How many targets there are; 0 for NULL. */
unsigned webhooks_count(const struct webhooks *webhooks);

/* Starts the threads, with a connection of MANY for each target. HEED is called after a write.
 * False: no thread. */
bool webhooks_follow(struct webhooks *webhooks, struct db *const *many, void (*heed)(struct db *));

/* Ends processes and threads and frees. NULL is fine. */
void webhooks_close(struct webhooks *webhooks);

#endif
