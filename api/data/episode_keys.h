/* The episodes of an upload that are complete, so that rows of one that come later are noticed. */
#ifndef TACET_API_DATA_EPISODE_KEYS_H
#define TACET_API_DATA_EPISODE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EPISODE_KEYS_MAX (1U << 22) /* then 64 MiB */

/* Hashes of 64 bits under a key of chance: of the most that fit, two are taken for one another with
 * a probability of 5e-7. */
struct episode_keys {
    unsigned char key[16];
    uint64_t *slots; /* owned: 0 is empty */
    size_t room, count;
};

enum episode_keys_status { EPISODE_NEW, EPISODE_KNOWN, EPISODE_TOO_MANY };

/* An empty set. The caller frees it with episode_keys_free. */
struct episode_keys episode_keys_new(void);

/* Frees the set. */
void episode_keys_free(struct episode_keys *keys);

/* Adds the episode EPISODE of EXPERT, unless it is known, or the set is full. */
enum episode_keys_status episode_keys_add(struct episode_keys *keys, const char *expert,
                                          const char *episode);

#endif
