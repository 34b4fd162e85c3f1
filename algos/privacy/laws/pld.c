/* Outcomes to grid masses, from both sides, and their cumulants. */
#include "algos/privacy/laws/pld.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void pld_outcomes_clear(struct pld_outcomes *outcomes)
{
    free(outcomes->outcome);
    *outcomes = (struct pld_outcomes){0};
}

static bool outcomes_append(struct pld_outcomes *outcomes, struct pld_outcome outcome)
{
    if (outcomes->count == outcomes->capacity) {
        size_t capacity = outcomes->capacity ? 2 * outcomes->capacity : 1024;
        if (capacity > SIZE_MAX / sizeof *outcomes->outcome)
            return false;
        struct pld_outcome *grown =
            realloc(outcomes->outcome, capacity * sizeof *outcomes->outcome);
        if (!grown)
            return false;
        outcomes->outcome = grown;
        outcomes->capacity = capacity;
    }
    outcomes->outcome[outcomes->count++] = outcome;
    return true;
}

bool pld_outcomes_add(struct pld_outcomes *outcomes, double loss, double mass)
{
    return outcomes_append(outcomes, (struct pld_outcome){loss, mass, false});
}

bool pld_outcomes_add_atom(struct pld_outcomes *outcomes, double loss, double mass)
{
    return outcomes_append(outcomes, (struct pld_outcome){loss, mass, true});
}

void pld_outcomes_reverse(struct pld_outcomes *outcomes)
{
    for (size_t i = 0, j = outcomes->count; i + 1 < j; i++) {
        struct pld_outcome kept = outcomes->outcome[i];
        outcomes->outcome[i] = outcomes->outcome[--j];
        outcomes->outcome[j] = kept;
    }
}

void pld_clear(struct pld *pld)
{
    free(pld->place);
    free(pld->mass);
    *pld = (struct pld){0};
}

/* An empty distribution on the grid's places. */
static bool pld_allocate(const struct pld_grid *grid, struct pld *out)
{
    assert(grid->count >= 2 && grid->step > 0.0);
    *out = (struct pld){.step = grid->step, .count = grid->count};
    out->place = malloc(grid->count * sizeof *out->place);
    out->mass = calloc(grid->count, sizeof *out->mass);
    if (!out->place || !out->mass)
        return false;
    memcpy(out->place, grid->place, grid->count * sizeof *out->place);
    return true;
}

static double pld_loss(const struct pld *pld, size_t i)
{
    return (double)pld->place[i] * pld->step;
}

/* An atom that a place was made for lies on it, not an ulp beside. (The composition pays for
 * roundings of losses.) */
static double exact_loss(const struct pld_outcome *outcome, double step)
{
    double place = nearbyint(outcome->loss / step) * step;
    bool there = outcome->atom && fabs(place - outcome->loss) <= 0x1p-51 * fabs(place);
    return there ? place : outcome->loss;
}

/* Moves *cell up to the cell that holds LOSS. Rounding may leave a loss a hair outside of its cell;
 * callers clamp. False above the last cell. */
static bool find_cell(const struct pld *pld, double loss, size_t *cell)
{
    while (*cell + 1 < pld->count && loss >= pld_loss(pld, *cell + 1))
        ++*cell;
    return *cell + 1 < pld->count;
}

bool pld_pessimistic(const struct pld_outcomes *outcomes, const struct pld_grid *grid,
                     struct pld *out)
{
    if (!pld_allocate(grid, out))
        return false;
    size_t cell = 0;
    out->infinite_mass = outcomes->high_mass + outcomes->infinite_mass;
    if (outcomes->count && find_cell(out, outcomes->outcome[0].loss, &cell))
        out->mass[cell + 1] += outcomes->low_mass; /* no loss there is larger */
    else
        out->infinite_mass += outcomes->low_mass;
    for (size_t i = 0; i < outcomes->count; i++) {
        double loss = exact_loss(&outcomes->outcome[i], grid->step);
        double mass = outcomes->outcome[i].mass;
        if (!find_cell(out, loss, &cell)) {
            out->infinite_mass += mass;
            continue;
        }
        double width = (double)(out->place[cell + 1] - out->place[cell]) * out->step;
        double inside = fmin(fmax(loss - pld_loss(out, cell), 0.0), width);
        /* up + down = P-mass and up e^-width + down = Q-mass e^(lower end) */
        double whole = -expm1(-width);
        out->mass[cell] += mass * (exp(-width) * expm1(width - inside) / whole);
        out->mass[cell + 1] += mass * (-expm1(-inside) / whole);
    }
    return true;
}

/* Merges outcomes into bins, from the left (SIGN +1) or from the right (-1). A bin is opened at the
 * far end of its first outcome's cell, owes for what it collects on the near side of its place, and
 * is closed when outcomes beyond have repaid. Gives the P-mass placed. */
static double outcomes_merge(const struct pld_outcomes *outcomes, double sign, struct pld *out)
{
    bool rising = sign > 0.0;
    size_t cell = rising ? 0 : out->count - 2, bin = rising ? 0 : out->count - 1;
    double collected = 0, owed = 0, placed = 0; /* P-mass, and |e^place Q - P|, of the open bin */
    for (size_t n = 0; n < outcomes->count; n++) {
        const struct pld_outcome *o = &outcomes->outcome[rising ? n : outcomes->count - 1 - n];
        double loss = exact_loss(o, out->step);
        if (loss < pld_loss(out, 0) || loss >= pld_loss(out, out->count - 1))
            continue;
        if (rising)
            find_cell(out, loss, &cell);
        while (!rising && cell > 0 && loss < pld_loss(out, cell))
            cell--;
        double rest = o->mass, owing;
        while ((owing = sign * expm1(pld_loss(out, bin) - loss)) < 0.0 && -owing * rest >= owed) {
            double part = owed / -owing;
            out->mass[bin] += collected + part;
            placed += collected + part;
            rest -= part;
            collected = owed = 0.0;
            bin = rising ? cell + 1 : cell;
        }
        collected += rest;
        owed += rest * owing;
    }
    /* The last bin stays unpaid. Giving up a little P-mass puts it on a place below its ratio. */
    size_t last = rising && bin > 0 ? bin - 1 : bin;
    double left = rising ? (collected + owed) * exp(pld_loss(out, last) - pld_loss(out, bin))
                         : collected - owed;
    out->mass[last] += fmax(left, 0.0);
    return placed + fmax(left, 0.0);
}

bool pld_optimistic(const struct pld_outcomes *outcomes, const struct pld_grid *grid,
                    struct pld *out)
{
    if (!pld_allocate(grid, out))
        return false;
    out->infinite_mass = outcomes->infinite_mass;
    double from_left = outcomes_merge(outcomes, 1.0, out);
    memset(out->mass, 0, out->count * sizeof *out->mass);
    double from_right = outcomes_merge(outcomes, -1.0, out);
    if (from_right >= from_left)
        return true;
    memset(out->mass, 0, out->count * sizeof *out->mass);
    outcomes_merge(outcomes, 1.0, out);
    return true;
}

double pld_outcomes_cumulant(const struct pld_outcomes *outcomes, double tilt, double *out_mean,
                             double *out_variance)
{
    double top = -INFINITY;
    for (size_t i = 0; i < outcomes->count; i++)
        top = fmax(top, tilt * outcomes->outcome[i].loss);
    double sum = 0, first = 0, second = 0;
    for (size_t i = 0; i < outcomes->count; i++) {
        double loss = outcomes->outcome[i].loss;
        double weight = outcomes->outcome[i].mass * exp(tilt * loss - top);
        sum += weight;
        first += weight * loss;
        second += weight * loss * loss;
    }
    double mean = first / sum;
    if (out_mean)
        *out_mean = mean;
    if (out_variance)
        *out_variance = fmax(0.0, second / sum - mean * mean);
    return top + log(sum);
}

double pld_cumulant(const struct pld *pld, double tilt)
{
    double top = -INFINITY;
    for (size_t i = 0; i < pld->count; i++)
        if (pld->mass[i] > 0.0)
            top = fmax(top, tilt * pld_loss(pld, i));
    double sum = 0;
    for (size_t start = 0; start < pld->count; start += 64) { /* sums of sums round less */
        size_t end = start + 64 < pld->count ? start + 64 : pld->count;
        double part = 0;
        for (size_t i = start; i < end; i++)
            if (pld->mass[i] > 0.0)
                part += pld->mass[i] * exp(tilt * pld_loss(pld, i) - top);
        sum += part;
    }
    return sum > 0.0 ? top + log(sum) : -INFINITY;
}
