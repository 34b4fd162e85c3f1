/* A request that each endpoint answers well, and what it asks about. */
#ifndef TACET_TESTS_UNIT_FAULTS_REQUESTS_H
#define TACET_TESTS_UNIT_FAULTS_REQUESTS_H

#include "tests/unit/noninterference/play.h"

/* What stands for {id}; those that can be used once are made anew for each request. */
struct things {
    char policy[40], certificate[40], account[40], job[40], q_release[40];
};

struct things requests_things(struct play *play);

/* A request that ROUTE answers well, under a key of its own. Its texts live as domain_path's. */
struct ask requests_ask(struct play *play, const struct things *things, const struct route *route);

#endif
