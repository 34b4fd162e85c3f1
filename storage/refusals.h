/* Refusals on their way to the audit trail. A refused call changes nothing, so its row is in no
 * transaction of its own: it is kept in memory, and rows that are alike are counted in one, until a
 * thread writes all of them every few seconds. So nobody fills the disk with refusals, and a crash
 * loses those of the last seconds. */
#ifndef TACET_STORAGE_REFUSALS_H
#define TACET_STORAGE_REFUSALS_H

#include "storage/ledger/trail.h"

#define REFUSALS_MOST 64 /* different ones between two writings; others are counted together */

struct refusals;

/* Empty; refusals_free takes it back. */
struct refusals *refusals_new(void);

/* Frees REFUSALS. NULL is fine. */
void refusals_free(struct refusals *refusals);

/* Notes ROW, or counts it with those of the same client, action, resource, subject and outcome. Any
 * thread. */
void refusals_note(struct refusals *refusals, const struct trail_row *row);

/* Appends what was noted to the trail, in one transaction. Unless DB_OK all of it stays noted. */
enum db_status refusals_write(struct refusals *refusals, struct db *db);

#endif
