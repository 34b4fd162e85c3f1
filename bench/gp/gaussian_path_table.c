/* Visited points in a treap.
 *
 * DESIGN. A binary search tree by x that is also a heap by random priorities: its shape is that of
 * a random insertion order whatever order the points come in, so a search visits O(log n) nodes
 * with high probability. Nodes live in one array and name each other by number. A new node is
 * inserted where its priority belongs, and the subtree it replaces is split in one walk: neither
 * recursion nor a stack. */
#include "bench/gp/gaussian_path_table.h"

#include <assert.h>
#include <math.h>
#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>

#define NONE        UINT32_MAX
#define FIRST_NODES 64

struct node {
    struct gaussian_bridge_point point;
    uint32_t left, right, priority;
};

struct gaussian_path_table {
    struct node *node;
    size_t count, capacity, max_points;
    uint32_t root;
    double beta, sigma;
};

struct gaussian_path_table *gaussian_path_table_new(double beta, double sigma, size_t max_points)
{
    assert(beta > 0.0 && isfinite(beta) && sigma > 0.0 && isfinite(sigma));
    assert(max_points >= 1 && max_points <= GAUSSIAN_PATH_TABLE_MAX_POINTS);
    struct gaussian_path_table *table = calloc(1, sizeof *table);
    if (!table)
        return NULL;
    table->max_points = max_points;
    table->root = NONE;
    table->beta = beta;
    table->sigma = sigma;
    return table;
}

void gaussian_path_table_free(struct gaussian_path_table *table)
{
    if (!table)
        return;
    if (table->node)
        sodium_memzero(table->node, table->capacity * sizeof *table->node);
    free(table->node);
    free(table);
}

size_t gaussian_path_table_count(const struct gaussian_path_table *table)
{
    return table->count;
}

/* Room for one more. The old nodes are wiped, which realloc would not do. */
static bool table_reserve(struct gaussian_path_table *table)
{
    if (table->count < table->capacity)
        return true;
    size_t capacity = table->capacity ? 2 * table->capacity : FIRST_NODES;
    struct node *bigger = malloc(capacity * sizeof *bigger);
    if (!bigger)
        return false;
    for (size_t i = 0; i < table->count; i++)
        bigger[i] = table->node[i];
    if (table->node)
        sodium_memzero(table->node, table->capacity * sizeof *table->node);
    free(table->node);
    table->node = bigger;
    table->capacity = capacity;
    return true;
}

size_t gaussian_path_table_neighbours(const struct gaussian_path_table *table, double x,
                                      struct gaussian_bridge_point *left, bool *has_left,
                                      struct gaussian_bridge_point *right, bool *has_right)
{
    size_t seen = 0;
    *has_left = *has_right = false;
    uint32_t at = table->root;
    while (at != NONE) {
        seen++;
        const struct node *node = &table->node[at];
        if (node->point.x <= x) {
            *left = node->point;
            *has_left = true;
        }
        if (node->point.x >= x) {
            *right = node->point;
            *has_right = true;
        }
        if (node->point.x == x)
            break;
        at = x < node->point.x ? node->left : node->right;
    }
    return seen;
}

/* The node just appended; its x is not in the tree. */
static void table_insert(struct gaussian_path_table *table, uint32_t added)
{
    struct node *node = table->node;
    double x = node[added].point.x;
    uint32_t *link = &table->root;
    while (*link != NONE && node[*link].priority >= node[added].priority)
        link = x < node[*link].point.x ? &node[*link].left : &node[*link].right;
    uint32_t below = *link, *less = &node[added].left, *more = &node[added].right;
    *link = added;
    while (below != NONE) {
        if (node[below].point.x < x) {
            *less = below;
            less = &node[below].right;
            below = *less;
        } else {
            *more = below;
            more = &node[below].left;
            below = *more;
        }
    }
    *less = *more = NONE;
}

enum gaussian_path_table_status gaussian_path_table_value(struct gaussian_path_table *table,
                                                          struct noise_source *noise, double x,
                                                          double *value)
{
    if (!(x >= 0.0 && x <= 1.0))
        return GAUSSIAN_PATH_TABLE_BAD_POINT;
    struct gaussian_bridge_point left, right;
    bool has_left, has_right;
    gaussian_path_table_neighbours(table, x, &left, &has_left, &right, &has_right);
    if (has_left && left.x == x) { /* 0 and -0 are one point */
        *value = left.value;
        return GAUSSIAN_PATH_TABLE_OK;
    }
    if (table->count == table->max_points)
        return GAUSSIAN_PATH_TABLE_FULL;
    if (!table_reserve(table))
        return GAUSSIAN_PATH_TABLE_NO_MEMORY;
    double mean, variance;
    gaussian_bridge(table->beta, table->sigma, x, has_left ? &left : NULL,
                    has_right ? &right : NULL, &mean, &variance);
    double drawn = mean + sqrt(fmax(variance, 0.0)) * noise_normal(noise);
    uint32_t added = (uint32_t)table->count++;
    uint32_t priority = (uint32_t)noise_u64(noise);
    table->node[added] = (struct node){{x, drawn}, NONE, NONE, priority};
    table_insert(table, added);
    *value = drawn;
    return GAUSSIAN_PATH_TABLE_OK;
}
