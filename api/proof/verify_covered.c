/* Whether a dataset's budget covers what was revealed of it: once it does not, no certificate may
 * say that it does. The size of the log tells which certificate is the later one. */
#include <stdlib.h>
#include <string.h>

#include "api/proof/verify_state.h"

static void add_mark(struct verify *verify, const char *dataset, int64_t leaves)
{
    struct cover_mark *mark = verify_list_add(&verify->marks, sizeof *mark);
    memcpy(mark->dataset, dataset, ID_SIZE);
    mark->leaves = leaves;
}

void verify_uncovered(struct verify *verify, const struct trail_row *row)
{
    verify->trail.uncovered[0] = '\0';
    if (strcmp(row->actor, "service") == 0 && strcmp(row->action, TRAIL_UNCOVERED) == 0)
        memcpy(verify->trail.uncovered, row->resource, ID_SIZE);
}

void verify_uncovered_leaf(struct verify *verify, int64_t number)
{
    if (verify->trail.uncovered[0] != '\0')
        add_mark(verify, verify->trail.uncovered, number);
}

static int compare_marks(const void *a, const void *b)
{
    const struct cover_mark *x = a, *y = b;
    int order = strcmp(x->dataset, y->dataset);
    if (order != 0)
        return order;
    return (x->leaves > y->leaves) - (x->leaves < y->leaves);
}

/* The first mark of DATASET among those that are sorted, or NULL. */
static const struct cover_mark *first_mark(const struct verify *verify, const char *dataset)
{
    const struct cover_mark *marks = verify->marks.items;
    size_t low = 0, high = verify->marks.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(marks[middle].dataset, dataset) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < verify->marks.count && strcmp(marks[low].dataset, dataset) == 0;
    return found ? &marks[low] : NULL;
}

void verify_covered_end(struct verify *verify)
{
    const struct stated *stated = verify->stated.items;
    for (size_t i = 0; i < verify->stated.count; i++)
        if (stated[i].figures.uncovered && stated[i].leaves > 0 &&
            stated[i].figures.dataset[0] != '\0') /* a teacher of observations names none */
            add_mark(verify, stated[i].figures.dataset, stated[i].leaves);
    if (verify->marks.count > 0)
        qsort(verify->marks.items, verify->marks.count, sizeof(struct cover_mark), compare_marks);
    const struct cover_mark *marks = verify->marks.items;
    for (size_t i = 0; i < verify->marks.count; i++)
        verify->report->uncovered += i == 0 || strcmp(marks[i - 1].dataset, marks[i].dataset) != 0;
    for (size_t i = 0; i < verify->stated.count; i++) {
        const struct cover_mark *mark = first_mark(verify, stated[i].figures.dataset);
        if (mark && !stated[i].figures.uncovered && stated[i].leaves > mark->leaves)
            verify_fault(verify, stated[i].id, 0,
                         "it does not say that an earlier job on its dataset is not covered");
    }
}
