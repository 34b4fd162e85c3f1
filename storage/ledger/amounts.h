/* What the ledger counts in: integers. Epsilon and Renyi divergence are counted in 1e-9, delta in
 * 1e-18. Every rounding goes against the spender: a price is rounded up, a limit down. A double
 * that is the nearest one to a decimal of at most 15 digits counts as exactly that decimal, so that
 * 0.1 is 100000000 both ways and a price equal to a limit fits it.
 *
 * The functions give false, and leave *out alone, for a number that is negative, not finite or more
 * than LEDGER_UNITS_MAX units. */
#ifndef TACET_STORAGE_LEDGER_AMOUNTS_H
#define TACET_STORAGE_LEDGER_AMOUNTS_H

#include <stdbool.h>
#include <stdint.h>

/* The largest amount: balance + held + request of such amounts cannot overflow. 4e9 epsilon. */
#define LEDGER_UNITS_MAX INT64_C(4000000000000000000)

/* A price in epsilon or Renyi divergence, in units of 1e-9, rounded up. */
bool ledger_units_up(double epsilon, int64_t *out);

/* A limit in the same units, rounded down. */
bool ledger_units_down(double epsilon, int64_t *out);

/* A price in delta, in units of 1e-18, rounded up. */
bool ledger_delta_up(double delta, int64_t *out);

/* A limit of delta in the same units, rounded down. */
bool ledger_delta_down(double delta, int64_t *out);

/* UNITS times COUNT; false on overflow past LEDGER_UNITS_MAX. Neither may be negative. */
bool ledger_units_times(int64_t units, int64_t count, int64_t *out);

/* Units of 1e-9 as epsilon, or as Renyi divergence. */
double ledger_units_value(int64_t units);

/* Units of 1e-18 as delta. */
double ledger_delta_value(int64_t delta_units);

#endif
