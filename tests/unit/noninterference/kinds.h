/* Every kind of job: each algorithm of the table, each of its mechanisms, each option of a request,
 * and what may happen to a job while it lives. */
#ifndef TACET_TESTS_UNIT_NONINTERFERENCE_KINDS_H
#define TACET_TESTS_UNIT_NONINTERFERENCE_KINDS_H

#include "tests/unit/noninterference/play.h"

struct job_tally {
    const char *algorithm, *mechanism;
    const char *option, *life;
    bool accepted, succeeded; /* else it was refused, or ended otherwise */
    bool happened;            /* the life took its turn */
};

/* Asks for every kind of job and runs it, while PLAY is watched; with BRIEF, for those alone that
 * read private data in ways of their own. *OUT (the caller frees it) has what became of each. */
void kinds_play(struct play *play, bool brief, struct job_tally **out, size_t *out_count);

#endif
