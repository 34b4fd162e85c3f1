/* Removes answers whose time is over (--keep-answers), and folds such debits of the ledger
 * (--keep-entries), erases experts' data that are older than their datasets declare, and writes
 * refusals into the audit trail, on a thread of its own. */
#ifndef TACET_SERVER_PRUNER_H
#define TACET_SERVER_PRUNER_H

#include <stdbool.h>
#include <stdint.h>

struct app;
struct db;
struct pruner;

/* What a removal believes of the clock: what is removed cannot come back. */
struct pruner_clocks {
    int64_t wall_ms;       /* at the last look; before the first, when something was stored last */
    int64_t steady_ms;     /* at the last look; 0 before the first */
    int64_t wait_until_ms; /* of the steady clock */
};

/* True when removals may go by the wall clock, which shows WALL_MS. They wait for a day, in which
 * it can be put right, after it went ahead of the steady clock by more than an hour, or when it is
 * at the first look more than a day ahead of what was stored last. *OUT_LEAPT: it did since the
 * last look. */
bool pruner_trusts(struct pruner_clocks *clocks, int64_t wall_ms, int64_t steady_ms,
                   bool *out_leapt);

#define PRUNER_TOLD 256 /* bytes of an error */

/* True when WHY is to be logged: it is not what TOLD holds, which it becomes. "" is never logged.
 */
bool pruner_tells(char told[PRUNER_TOLD], const char *why);

/* Starts the thread. APP, DB, a connection for it alone, and KEYS, the path of their directory,
 * outlive it. NULL: no thread can be started. */
struct pruner *pruner_start(struct app *app, struct db *db, const char *keys);

/* Whether the database, which the thread reads every ten seconds, answered when it was last read,
 * and did so within the last half minute. Any thread. */
bool pruner_reaches(const struct pruner *pruner);

/* What keys_stand said of the directory of keys, within the last half minute: it may hang, as other
 * machines' directories do. Any thread. */
bool pruner_sees_keys(const struct pruner *pruner);

/* Ends the thread behind the removal in hand. NULL is fine. */
void pruner_stop(struct pruner *pruner);

#endif
