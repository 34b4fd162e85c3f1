/* Filling statements. */
#include "algos/statement.h"

#include <assert.h>
#include <string.h>

void statement_add(const char *list[STATEMENT_SENTENCES], const char *sentence)
{
    unsigned i = 0;
    while (i < STATEMENT_SENTENCES && list[i])
        i++;
    assert(i < STATEMENT_SENTENCES);
    list[i] = sentence;
}

void statement_number(struct statement *statement, const char *name, double value)
{
    assert(statement->figure_count < STATEMENT_FIGURES);
    statement->figures[statement->figure_count++] =
        (struct statement_figure){.name = name, .value = {value}};
}

void statement_list(struct statement *statement, const char *name, const double *value,
                    unsigned count)
{
    assert(statement->figure_count < STATEMENT_FIGURES && count > 0 && count <= ENV_MAX_STATE_DIM);
    struct statement_figure *figure = &statement->figures[statement->figure_count++];
    *figure = (struct statement_figure){.name = name, .count = count};
    memcpy(figure->value, value, count * sizeof *value);
}
