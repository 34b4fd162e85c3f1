/* Hashes are spread evenly as they are: other bits of one choose the word than those in it. */
#include "storage/answers/answer_filter.h"

#include <stdlib.h>

#define FIRST_WORDS 16384 /* a power of two */
#define FULL        8     /* hashes to a word: of others, one in thirty seems to be there */

static uint64_t *word_of(const struct answer_filter *filter, int64_t hash)
{
    return &filter->words[(size_t)((uint64_t)hash >> 18) & (filter->count - 1)];
}

static uint64_t bits_of(int64_t hash)
{
    uint64_t h = (uint64_t)hash;
    return UINT64_C(1) << (h & 63) | UINT64_C(1) << (h >> 6 & 63) | UINT64_C(1) << (h >> 12 & 63);
}

bool answer_filter_may_hold(const struct answer_filter *filter, int64_t hash)
{
    bool shown = filter->count > 0 && (filter->complete || hash < filter->from);
    return !shown || (bits_of(hash) & ~*word_of(filter, hash)) == 0;
}

void answer_filter_add(struct answer_filter *filter, int64_t hash)
{
    if (filter->count > 0) {
        *word_of(filter, hash) |= bits_of(hash);
        filter->hashes++;
    }
}

/* Begins anew with COUNT words; without memory for them everything stays as it is. */
static void begin(struct answer_filter *filter, size_t count)
{
    uint64_t *words = calloc(count, sizeof *words);
    if (words) {
        free(filter->words);
        *filter = (struct answer_filter){.words = words, .count = count, .from = INT64_MIN};
    }
}

bool answer_filter_wants(struct answer_filter *filter, int64_t *out_from)
{
    if (filter->count == 0)
        begin(filter, FIRST_WORDS);
    else if (filter->hashes > FULL * filter->count)
        begin(filter, 2 * filter->count);
    *out_from = filter->from;
    return filter->count > 0 && !filter->complete;
}

void answer_filter_show(struct answer_filter *filter, const int64_t *hashes, size_t count, bool end)
{
    for (size_t i = 0; i < count; i++)
        answer_filter_add(filter, hashes[i]);
    bool last = count > 0 && hashes[count - 1] == INT64_MAX;
    if (end || last)
        filter->complete = true;
    else if (count > 0)
        filter->from = hashes[count - 1] + 1;
}

void answer_filter_clear(struct answer_filter *filter)
{
    free(filter->words);
    *filter = (struct answer_filter){0};
}
