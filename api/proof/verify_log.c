/* The log of an export: its leaves come with their accounts, so they are put in order at the end,
 * and the tree is computed from them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/proof/row_text.h"
#include "api/proof/verify_state.h"
#include "memory/memory.h"
#include "storage/ledger/ledger_reduce.h"

static bool read_trail_number(char **at, const char *name, int64_t *out)
{
    return row_text_skip(at, name) && row_text_integer(at, out);
}

static bool read_trail_text(char **at, const char *name, char *out, size_t size)
{
    const char *text = row_text_skip(at, name) ? row_text_string(at) : NULL;
    return text && snprintf(out, size, "%s", text) < (int)size;
}

#define READ_NUMBER(NAME) read_trail_number(&at, ",\"" #NAME "\":", &out->NAME)
#define READ_TEXT(NAME)   read_trail_text(&at, ",\"" #NAME "\":", out->NAME, sizeof out->NAME)

/* Reads the row whose TEXT has SIZE bytes. False: it is none, or is not as the service writes it.
 */
static bool read_trail_row(const char *text, size_t size, struct trail_row *out)
{
    char copy[TRAIL_TEXT_SIZE], again[TRAIL_TEXT_SIZE], time[SIGNING_TIME_SIZE], *at = copy;
    if (size >= sizeof copy)
        return false;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return read_trail_number(&at, "{\"number\":", &out->number) &&
           read_trail_text(&at, ",\"time\":", time, sizeof time) &&
           proof_time_read(time, &out->time_ms) && READ_TEXT(actor) && READ_TEXT(client) &&
           READ_TEXT(role) && READ_NUMBER(token) && READ_TEXT(action) && READ_TEXT(resource) &&
           READ_TEXT(subject) && READ_NUMBER(status) && READ_TEXT(outcome) && READ_NUMBER(count) &&
           READ_TEXT(address) && READ_TEXT(request) && trail_text(out, again) == size &&
           memcmp(again, text, size) == 0;
}

bool verify_trail(struct verify *verify, const char *text, size_t size)
{
    struct trail_row row;
    if (!read_trail_row(text, size, &row))
        return false;
    if (verify->trail.number > 0 && !verify->trail.logged)
        verify_fault(verify, TRAIL_ACCOUNT, verify->trail.number, "the row is not in the log");
    if (row.number != verify->trail.number + 1)
        verify_fault(verify, TRAIL_ACCOUNT, row.number, "a row before this one is missing");
    verify_released(verify, &row);
    verify_uncovered(verify, &row);
    verify_rotation(verify, &row);
    verify_receipt_row(verify, &row);
    verify->trail.number = row.number;
    verify->trail.logged = false;
    trail_hash(text, size, verify->trail.hash);
    if (row.number == verify->trail_before.number &&
        memcmp(verify->trail.hash, verify->trail_before.hash, LEDGER_HASH_SIZE) == 0)
        verify->trail_before.number = 0; /* it goes on from there */
    verify->report->trail++;
    return true;
}

/* The leaf of the last row of the audit trail. */
static void trail_leaf(struct verify *verify, const struct ledger_leaf *leaf)
{
    if (strcmp(leaf->account, TRAIL_ACCOUNT) != 0 || leaf->sequence != verify->trail.number ||
        verify->trail.logged || memcmp(leaf->head, verify->trail.hash, LEDGER_HASH_SIZE) != 0)
        verify_fault(verify, TRAIL_ACCOUNT, verify->trail.number, "the log has another row");
    verify->trail.logged = true;
    verify_uncovered_leaf(verify, leaf->number);
    verify_rotation_leaf(verify, leaf->number);
}

static void account_leaf(struct verify *verify, const struct ledger_leaf *leaf)
{
    const struct ledger_account *sums = &verify->sums;
    if (strcmp(leaf->account, sums->id) != 0)
        verify_fault(verify, sums->id, leaf->sequence, "the leaf is another account's");
    if (leaf->sequence <= verify->last_leaf || leaf->sequence > sums->entries ||
        leaf->sequence < verify->fold_first)
        verify_fault(verify, sums->id, leaf->sequence, "the leaf does not follow its entry");
    else if (leaf->sequence < sums->entries)
        verify->report->lost++;
    else if (memcmp(leaf->head, sums->head, LEDGER_HASH_SIZE) != 0)
        verify_fault(verify, sums->id, leaf->sequence,
                     "the log has another entry: this is another history");
    if (verify->first_leaf.sequence == 0)
        verify->first_leaf = *leaf;
    verify->last_leaf = leaf->sequence;
}

void verify_leaf(struct verify *verify, const struct ledger_leaf *leaf)
{
    struct log_node *added = verify_list_add(&verify->leaves, sizeof *added);
    if (verify->trail.number > 0)
        trail_leaf(verify, leaf);
    else
        account_leaf(verify, leaf);
    verify->report->leaves++;
    added->number = leaf->number;
    ledger_leaf_hash(leaf, added->hash);
}

/* Reads the member "hashes" or "hash" that ends a line. False: it is not SIZE bytes. */
static bool read_hashes(char *at, unsigned char *out, size_t size)
{
    size_t got = 0;
    const char *hex = row_text_string(&at);
    return hex && row_text_skip(&at, "}}") && *at == '\0' && strlen(hex) == 2 * size &&
           strspn(hex, "0123456789abcdef") == 2 * size &&
           sodium_hex2bin(out, size, hex, 2 * size, NULL, &got, NULL) == 0;
}

bool verify_tile(struct verify *verify, char *at)
{
    unsigned char hashes[MERKLE_TILE * MERKLE_HASH_SIZE];
    int64_t number = -1;
    if (!row_text_integer(&at, &number) || !row_text_skip(&at, ",\"hashes\":") ||
        !read_hashes(at, hashes, sizeof hashes) || number < verify->next_tile ||
        number >= INT64_MAX / MERKLE_TILE)
        return false;
    verify->in_tree = true;
    verify->next_tile = number + 1;
    for (int64_t i = 0; i < MERKLE_TILE; i++) {
        struct log_node *added = verify_list_add(&verify->leaves, sizeof *added);
        *added = (struct log_node){.number = number * MERKLE_TILE + i, .of_tile = true};
        memcpy(added->hash, hashes + i * MERKLE_HASH_SIZE, MERKLE_HASH_SIZE);
    }
    return true;
}

/* Leaves below a node of LEVEL. */
static int64_t leaves_of(unsigned level)
{
    return INT64_C(1) << (8 * level);
}

bool verify_subtree(struct verify *verify, char *at)
{
    struct log_node node = {.of_tile = true};
    int64_t level = 0;
    if (!row_text_integer(&at, &level) || !row_text_skip(&at, ",\"number\":") ||
        !row_text_integer(&at, &node.number) || !row_text_skip(&at, ",\"hash\":") ||
        !read_hashes(at, node.hash, sizeof node.hash) || level < 1 || level > SUBTREE_LEVEL_MOST ||
        node.number < 0 || node.number >= (int64_t)MERKLE_SIZE_MAX / leaves_of((unsigned)level))
        return false;
    verify->in_tree = true;
    node.level = (uint8_t)level;
    struct log_node *added = verify_list_add(&verify->leaves, sizeof *added);
    *added = node;
    return true;
}

void verify_claim(struct verify *verify, const char *from, const struct tlog_checkpoint *then)
{
    if (then->size == 0)
        return;
    struct log_claim *claim = verify_list_add(&verify->claims, sizeof *claim);
    memcpy(claim->from, from, strlen(from));
    memcpy(claim->root, then->root, MERKLE_HASH_SIZE);
    claim->size = then->size;
    claim->renamed = from[0] == '\0' && strcmp(then->origin, verify->log.origin) != 0;
}

/* ---- the tree */

/* The nodes of each level that are there or follow from others, in order. */
struct tree_levels {
    int64_t leaves;
    /* Of struct log_node. Those of level 0 are in the place of the export's list. */
    struct verify_list nodes[MERKLE_LEVELS];
};

static int compare_number(const void *a, const void *b)
{
    const struct log_node *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

static bool level_node(void *context, unsigned level, uint64_t index,
                       unsigned char out[MERKLE_HASH_SIZE])
{
    const struct tree_levels *levels = context;
    const struct verify_list *nodes = &levels->nodes[level];
    struct log_node wanted = {.number = (int64_t)index};
    const struct log_node *found = NULL;
    if (nodes->count > 0)
        found = bsearch(&wanted, nodes->items, nodes->count, sizeof wanted, compare_number);
    if (found)
        memcpy(out, found->hash, MERKLE_HASH_SIZE);
    return found;
}

/* Adds NODE, which follows the last one of its level, and the nodes above that it completes. */
static void grow_levels(struct tree_levels *levels, const struct log_node *node)
{
    struct log_node next = *node;
    for (unsigned level = node->level; level + 1 < MERKLE_LEVELS; level++) {
        unsigned char tile[MERKLE_TILE][MERKLE_HASH_SIZE];
        struct verify_list *nodes = &levels->nodes[level];
        *(struct log_node *)verify_list_add(nodes, sizeof next) = next;
        if (next.number % MERKLE_TILE != MERKLE_TILE - 1)
            return;
        const struct log_node *last = (struct log_node *)nodes->items + nodes->count;
        for (unsigned i = 0; i < MERKLE_TILE; i++)
            memcpy(tile[i], last[(int)i - MERKLE_TILE].hash, MERKLE_HASH_SIZE);
        merkle_tile(tile, next.hash);
        next.number /= MERKLE_TILE;
    }
}

static int compare_places(const void *a, const void *b)
{
    const struct log_node *x = a, *y = b;
    int64_t p = x->number * leaves_of(x->level), q = y->number * leaves_of(y->level);
    if (p != q)
        return p > q ? 1 : -1;
    if (x->level != y->level)
        return x->level > y->level ? 1 : -1;
    return x->of_tile - y->of_tile;
}

/* Counts what NODE hides of the log. */
static void count_hidden(struct verify *verify, const struct log_node *node)
{
    int64_t leaves = leaves_of(node->level), end = (node->number + 1) * leaves;
    int64_t later = end - verify->earlier.size;
    if (!node->of_tile)
        return;
    verify->report->removed += leaves;
    if (later > 0)
        verify->report->unshown += later < leaves ? later : leaves;
}

/* Puts the leaves and subtrees in order, and computes the tree. A tile's hash counts where the leaf
 * itself is not there, and otherwise must be the leaf's. False: they are not 0, 1, ... */
static bool sort_nodes(struct verify *verify, struct tree_levels *out)
{
    struct log_node *nodes = verify->leaves.items;
    out->nodes[0] = (struct verify_list){.room = verify->leaves.room, .items = nodes};
    struct log_node before = {.number = -1};
    if (verify->leaves.count > 0)
        qsort(nodes, verify->leaves.count, sizeof *nodes, compare_places);
    for (size_t i = 0; i < verify->leaves.count; i++) {
        const struct log_node node = nodes[i];
        bool again = i > 0 && node.of_tile && node.level == 0 && before.level == 0 &&
                     node.number == before.number;
        if (again ? memcmp(node.hash, before.hash, MERKLE_HASH_SIZE) != 0
                  : node.number * leaves_of(node.level) != out->leaves)
            return false;
        if (again)
            continue;
        before = node;
        count_hidden(verify, &node);
        grow_levels(out, &node);
        out->leaves += leaves_of(node.level);
    }
    return true;
}

enum root_verdict { ROOT_SAME, ROOT_OTHER, ROOT_UNKNOWN };

static enum root_verdict judge_root(struct tree_levels *levels, int64_t size,
                                    const unsigned char wanted[MERKLE_HASH_SIZE])
{
    unsigned char root[MERKLE_HASH_SIZE];
    const struct merkle_tree tree = {(uint64_t)size, level_node, levels};
    if (!merkle_root(&tree, root))
        return ROOT_UNKNOWN;
    return memcmp(root, wanted, MERKLE_HASH_SIZE) == 0 ? ROOT_SAME : ROOT_OTHER;
}

static void compare_claim(struct verify *verify, struct tree_levels *levels,
                          const struct log_claim *claim)
{
    enum root_verdict verdict = ROOT_OTHER;
    if (claim->size <= levels->leaves)
        verdict = judge_root(levels, claim->size, claim->root);
    const char *fault = "the log once had other leaves: this is another history";
    if (claim->renamed)
        fault =
            "the log has another name, as after a restore: it does not go on from the log before";
    else if (claim->size > levels->leaves)
        fault = "the log once had more leaves: it was rolled back";
    else if (verdict == ROOT_UNKNOWN)
        fault = "the log does not show any more what it once was: a part of it that had to stay is "
                "gone";
    if (verdict == ROOT_SAME)
        verify->report->heads++;
    else
        verify_fault(verify, claim->from, 0, fault);
}

static void check_claims(struct verify *verify, struct tree_levels *levels)
{
    const struct log_claim *claims = verify->claims.items;
    for (size_t i = 0; i < verify->claims.count; i++)
        compare_claim(verify, levels, &claims[i]);
}

void verify_log_end(struct verify *verify)
{
    struct tree_levels levels = {.leaves = 0};
    verify_claim(verify, "", &verify->earlier);
    verify_claim(verify, "", &verify->kept);
    if (verify->trail.number > 0 && !verify->trail.logged)
        verify_fault(verify, TRAIL_ACCOUNT, verify->trail.number, "the row is not in the log");
    bool renamed = strcmp(verify->earlier.origin, verify->log.origin) != 0;
    if (verify->trail_before.number > 0)
        verify_fault(verify, TRAIL_ACCOUNT, verify->trail_before.number,
                     renamed ? "the earlier export has another row, as after a restore"
                             : "the earlier export has another row, or it is missing here");
    if (!sort_nodes(verify, &levels)) {
        verify_fault(verify, "", 0, "a leaf of the log is missing, or is there twice");
    } else {
        if (verify->report->unshown > verify->report->unproven)
            verify_fault(verify, "", 0, "more leaves of the log are removed than entries");
        if (!verify->has_checkpoint)
            verify_fault(verify, "", 0, "there is no checkpoint of the log");
        else if (verify->log.size != levels.leaves ||
                 judge_root(&levels, verify->log.size, verify->log.root) != ROOT_SAME)
            verify_fault(verify, "", 0, "the log is not that of its checkpoint");
        check_claims(verify, &levels);
    }
    for (unsigned l = 1; l < MERKLE_LEVELS; l++)
        free(levels.nodes[l].items);
}
