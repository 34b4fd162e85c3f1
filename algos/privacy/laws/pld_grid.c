/* How wide the cells are.
 *
 * DESIGN. A cell of width w adds about rho w^3 / 4 to the variance of the composed loss, rho being
 * the tilted density of the loss. The fewest cells for a given total have w proportional to
 * rho^(-1/3). Widths are whole steps, at least one, and never so wide that the tilt varies by more
 * than a factor e inside a cell. */
#include "algos/privacy/laws/pld.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "memory/memory.h"

#define SPREAD    0.3  /* what wide cells may add, in units of step^2 */
#define MAX_WIDTH 0.25 /* of a cell, in nats */

/* The tilted density of the loss around outcome I, and how far its neighbourhood reaches. */
static double density_at(const struct pld_outcomes *outcomes, size_t i, double tilt,
                         double cumulant, double *out_reach)
{
    const struct pld_outcome *o = outcomes->outcome;
    double left = i > 0 ? o[i - 1].loss : o[i].loss;
    double right = i + 1 < outcomes->count ? o[i + 1].loss : o[i].loss;
    *out_reach = fmax(0.5 * (right - left), 1e-300);
    return o[i].mass * exp(tilt * o[i].loss - cumulant) / *out_reach;
}

/* The width that outcome I asks for of a cell that begins at FROM, at most WIDTH: the rule above,
 * and no wider than the outcome itself, over which the density changes little. (The lower law lifts
 * a bin to its place with mass from above it, so the density must not collapse within a cell.) */
static double cell_width(const struct pld_outcomes *outcomes, size_t i, double tilt,
                         double cumulant, double scale, double from, double width)
{
    double ahead = outcomes->outcome[i].loss - from;
    if (outcomes->outcome[i].atom) /* up to the atom's own cell, which is one step wide */
        return ahead >= 0.0 ? fmin(width, ahead) : width;
    double reach;
    double density = density_at(outcomes, i, tilt, cumulant, &reach);
    return fmin(width, fmin(scale / cbrt(density), reach));
}

static enum pld_status add_place(struct pld_grid *grid, size_t *capacity, double place)
{
    if (grid->count > PLD_MAX_CELLS)
        return PLD_TOO_LARGE;
    if (grid->count == *capacity) {
        *capacity = *capacity ? 2 * *capacity : 1024;
        grid->place = memory_resize(grid->place, *capacity, sizeof *grid->place);
    }
    grid->place[grid->count++] = (int64_t)place;
    return PLD_OK;
}

enum pld_status pld_grid_new(const struct pld_outcomes *outcomes, double tilt, double step,
                             struct pld_grid *out)
{
    assert(outcomes->count > 0 && tilt > 0.0 && step > 0.0);
    const struct pld_outcome *o = outcomes->outcome;
    *out = (struct pld_grid){.step = step};
    size_t capacity = 0, last = outcomes->count - 1;
    double first_place = floor(o[0].loss / step) - 1.0,
           last_place = ceil(o[last].loss / step) + 1.0;
    if (!(fabs(first_place) < 0x1p52 && fabs(last_place) < 0x1p52))
        return PLD_TOO_LARGE;
    double cumulant = pld_outcomes_cumulant(outcomes, tilt, NULL, NULL);
    double reach, sum = 0; /* of density^(1/3) d loss */
    for (size_t i = 0; i < outcomes->count; i++)
        if (!o[i].atom)
            sum += cbrt(density_at(outcomes, i, tilt, cumulant, &reach)) * reach;
    double scale = step * sqrt(SPREAD / sum);
    /* A law that consists of atoms alone has no density that the grid must follow. */
    double widest = sum > 0.0 ? fmin(MAX_WIDTH, 1.0 / tilt) : INFINITY;

    size_t near = 0;
    double place = first_place;
    while (place < last_place) {
        enum pld_status status = add_place(out, &capacity, place);
        if (status != PLD_OK)
            return status;
        /* The narrowest width that the outcomes ahead within one such width ask for. */
        double width = widest;
        while (near < last && o[near + 1].loss <= place * step)
            near++;
        for (size_t i = near; i <= last && o[i].loss <= place * step + width + step; i++)
            width = cell_width(outcomes, i, tilt, cumulant, scale, place * step, width);
        place = fmin(last_place, place + fmax(1.0, floor(width / step)));
    }
    return add_place(out, &capacity, place);
}

void pld_grid_clear(struct pld_grid *grid)
{
    free(grid->place);
    *grid = (struct pld_grid){0};
}
