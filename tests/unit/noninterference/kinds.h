/* Every kind of job: each algorithm of the table, each of its mechanisms, each option of a request,
 * and what may happen to a job while it lives. */
#ifndef TACET_TESTS_UNIT_NONINTERFERENCE_KINDS_H
#define TACET_TESTS_UNIT_NONINTERFERENCE_KINDS_H

#include "algos/algorithm.h"
#include "tests/unit/noninterference/play.h"

struct job_tally {
    const char *algorithm, *mechanism;
    const char *option, *life;
    bool accepted, succeeded; /* else it was refused, or ended otherwise */
    bool happened;            /* the life took its turn */
};

/* What a request may say beside: members of itself, of its privacy, and of its parameters (each
 * with a comma behind it). */
struct job_option {
    const char *name, *members, *privacy, *parameters;
    int data;
    bool brief;            /* in brief runs, too */
    const char *algorithm; /* with this alone, because it takes long; NULL: with all */
};

/* The body of such a job as small as it can be. */
const char *kinds_job(struct play *play, const struct algorithm *algorithm, int mechanism,
                      const struct job_option *option);

/* Asks for what BODY says and lets it run to its end: the job as its owner then sees it, or the
 * refusal. */
struct response *kinds_run(struct play *play, const char *body);

/* Calls VISIT with every algorithm, mechanism and option that go together; with BRIEF, with those
 * alone that read private data in ways of their own. */
typedef void visit_kind(void *context, const struct algorithm *algorithm, int mechanism,
                        const struct job_option *option);
void kinds_visit(bool brief, visit_kind *visit, void *context);

/* The same for every mechanism of every algorithm, and for every option until TRY says that a job
 * which has it succeeded. Options that name another job are left out. */
typedef bool try_kind(void *context, const struct algorithm *algorithm, int mechanism,
                      const struct job_option *option);
void kinds_try(try_kind *try_one, void *context);

/* Asks for every kind of job and runs it, while PLAY is watched. BRIEF as above. *OUT (the caller
 * frees it) has what became of each. */
void kinds_play(struct play *play, bool brief, struct job_tally **out, size_t *out_count);

/* Asks, for each mechanism of each algorithm, for what it cannot do, which must be refused, and for
 * every number at both ends of its range (extremes.c). */
void extremes_play(struct play *play);

#endif
