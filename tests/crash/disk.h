/* A disk that fails under a server, on order: tests/failing_disk.c. */
#ifndef TACET_TESTS_CRASH_DISK_H
#define TACET_TESTS_CRASH_DISK_H

#include "tests/http/server_process.h"

struct disk {
    char orders[112], lost[128];
    char library[512], for_library[640], for_orders[144], for_sanitizer[512];
};

/* Prepared and not yet started, SERVER will have a disk that obeys orders; there are none yet. DISK
 * outlives the server's starts. The test ends with SIGALRM after three minutes. */
void disk_put(struct disk *disk, struct server_process *server);

/* The next start has an ordinary one. */
void disk_take_away(struct server_process *server);

/* "sync", "sync-database", "hold", "write", "full" or "full-columns"; NULL: go on as usual. */
void disk_order(const struct disk *disk, const char *word);

/* Takes from the log what the page cache still shows and the disk never got. */
void disk_lose_unsynced(const struct disk *disk, const struct server_process *server);

/* Waits until the server has ended by itself, with exit code 1 and the reason in its log. */
void disk_expect_end_in_doubt(struct server_process *server);

#endif
