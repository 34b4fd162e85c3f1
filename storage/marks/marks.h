/* Marks: for each account an amount that it has not passed, written down on another machine before
 * the account spends or holds up to there. When the data directory is lost, an older backup that is
 * spent up to its marks gives nothing a second time (docs/proofs/restore.md).
 *
 * A mark lies ahead of its account by a part of the limit, so that most commits write none, and one
 * write serves all accounts of a commit. A commit whose mark cannot be written is not made. The
 * same holds for the times that idempotency keys name. A mark without amounts stands for a dataset
 * that no budget covers any more. One process writes at a time; all calls but
 * marks_open and marks_close are inside of a writing transaction, or before the first one. */
#ifndef TACET_STORAGE_MARKS_MARKS_H
#define TACET_STORAGE_MARKS_MARKS_H

#include "storage/db/db.h"
#include "storage/marks/marks_file.h"

#define MARKS_PARTS      100           /* a mark is a hundredth of the limit ahead */
#define MARKS_KEYS_AHEAD INT64_C(2000) /* milliseconds */

struct marks;

/* An account around a change of its row. */
struct marks_change {
    struct marks_amounts used;  /* spent and held: the greater of before and after */
    struct marks_amounts limit; /* likewise */
    double epsilon, delta;      /* the budget as declared, likewise */
    int64_t entries;            /* it had before */
    bool fell;                  /* less is used than before */
};

/* Opens the marks in DIRECTORY, under a key of DB's store. *OUT_FOUND says what is there; marks
 * that are MARKS_NONE or MARKS_DAMAGED are empty. NULL: ERROR holds a sentence. */
struct marks *marks_open(struct db *db, const char *directory, enum marks_found *out_found,
                         char *error, size_t error_size);

/* Ends. NULL is fine. */
void marks_close(struct marks *marks);

/* The life that the marks are of; "" for none. */
const char *marks_life(const struct marks *marks);

/* Writes all marks anew, as those of LIFE. False: nothing is known to be written. */
bool marks_begin(struct marks *marks, const char *life);

/* From now on every commit of DB's store waits for its marks. */
void marks_guard(struct marks *marks, struct db *db);

/* Whether the marks could be written when that was last tried, or marks_look last looked. Any
 * thread, without a wait. */
bool marks_stand(const struct marks *marks);

/* Looks whether the marks of DB, if it has some, can be written. Inside of a writing transaction.
 */
void marks_look(struct db *db);

/* The greater of two amounts. */
int64_t marks_greater(int64_t a, int64_t b);

/* Writes the name of an account's mark. */
void marks_name(const char *kind, const char *resource, const char *client,
                char out[MARKS_NAME_SIZE]);

/* The mark of NAME. False: there is none. */
bool marks_find(const struct marks *marks, const char *name, struct mark *out);

/* Makes MARK what it is, in memory alone: for marks_begin. */
void marks_set(struct marks *marks, const struct mark *mark);

/* Forgets all marks, the life and the time of keys, in memory alone: for marks_begin. */
void marks_forget(struct marks *marks);

/* The time up to which keys may have been answered; 0: none was that names one. */
int64_t marks_key_ms(const struct marks *marks);

/* Makes that time at least KEY_MS, in memory alone: for marks_begin. */
void marks_set_key(struct marks *marks, int64_t key_ms);

typedef void marks_fn(void *context, const struct mark *mark);

/* Shows all marks. */
void marks_each(const struct marks *marks, marks_fn *each, void *context);

/* ---- inside a transaction of a store that may have marks */

/* Notes a change of an account's row. */
void marks_note(struct db *db, const char *name, const struct marks_change *change);

/* Notes that a key of this time is answered. */
void marks_note_key(struct db *db, int64_t key_ms);

/* Gives an account, not noted in this transaction, that may use less than was noted last: whoever
 * notes it as it is brings its mark down. False: there is none. */
bool marks_find_loose(struct db *db, char out_name[MARKS_NAME_SIZE]);

/* The mark of the account NAME, which is being opened, if it was lost with an earlier life. */
bool marks_find_orphan(struct db *db, const char *name, struct mark *out);

#endif
