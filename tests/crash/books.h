/* What the ledger says after a crash, and what must be true of it. */
#ifndef TACET_TESTS_CRASH_BOOKS_H
#define TACET_TESTS_CRASH_BOOKS_H

#include <stdint.h>

#include "tests/http/scene.h"

struct totals { /* of the ledger, in its integers */
    int64_t entries;
    int64_t teacher_spent, teacher_limit;
    int64_t student_spent[SCENE_STUDENTS_MAX], student_limit[SCENE_STUDENTS_MAX];
    int64_t student_entries[SCENE_STUDENTS_MAX];
};

/* All accounts; the test ends when one holds something or has spent more than its limit. */
struct totals read_ledger(const struct scene *scene);

/* The ledger's own audit finds nothing. */
void expect_clean_audit(const struct scene *scene);

/* The entries of every account add up to its balance. */
void expect_entries_add_up(const struct scene *scene);

#endif
