/* A driver over SQLite that fails at its n-th call, for counting fault tests. */
#ifndef TACET_TESTS_STORAGE_FAILING_DRIVER_H
#define TACET_TESTS_STORAGE_FAILING_DRIVER_H

#include "storage/db/db.h"

extern struct db_driver failing_driver; /* with lists where the database beneath has them */

/* The N-th call of begin, run or commit from now on gives STATUS; later ones work again. With
 * ENDS_TRANSACTION, a failing run takes the open transaction with it, as a full disk may. 0: never.
 */
void failing_arm(unsigned n, enum db_status status, bool ends_transaction);

/* The process is killed at the N-th call from now on, or right behind it if it is a commit that has
 * ended by then. */
void failing_kill(unsigned n);

/* The calls of begin, run and commit so far. */
unsigned failing_calls(void);

/* Whether the armed failure has happened. */
bool failing_fired(void);

#endif
