/* Plans for the tests of accountants. */
#ifndef TACET_TESTS_UNIT_PRIVACY_PLANS_H
#define TACET_TESTS_UNIT_PRIVACY_PLANS_H

#include "algos/privacy/accounting/accountant.h"

struct mechanism plan_gaussian(double rate, double noise);
struct mechanism plan_pair(double epsilon, double delta);
struct mechanism plan_laplace(double noise);
struct mechanism plan_response(double noise, uint32_t buckets);

/* Adds TIMES runs; the test fails when that does. */
void plan_add(struct composition *composition, struct mechanism mechanism, uint64_t times);

/* Epsilon of TIMES runs at DELTA; 0 .. INFINITY when out of reach. */
struct privacy_interval plan_price(const struct accountant *accountant, struct mechanism mechanism,
                                   uint64_t times, double delta);

#endif
