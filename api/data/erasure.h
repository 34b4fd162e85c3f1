/* Erasing data: the key first, then the rows.
 *
 * From the moment at which the key is overwritten, nobody can read what was uploaded of the expert:
 * not in the database, its log, or any copy of them. The same goes for what was derived from the
 * dataset and is not released: checkpoints, shards, unprotected policies. What the key opened is
 * ciphertext without meaning from then on, and stays where it is. */
#ifndef TACET_API_DATA_ERASURE_H
#define TACET_API_DATA_ERASURE_H

#include "api/call/call.h"
#include "storage/datasets.h"

/* The name of an erased expert begins with a mark, so that a second DELETE finds it, and is built
 * from the name that it had under a key: it tells nobody that name. */
#define ERASURE_MARK_SIZE 40

/* Writes the mark of an expert of DATASET who was called NAME. */
void erasure_mark(const struct app *app, const char *dataset, const char *name,
                  char out[ERASURE_MARK_SIZE]);

/* Erases EXPERT (its number and name) of DATASET, and stops the jobs that run on it. In the
 * caller's transaction; the key is gone even if that is rolled back. */
enum db_status erasure_expert(const struct app *app, struct db *db, const char *dataset,
                              const struct expert_row *expert, int64_t now_ms);

/* Erases a whole dataset. */
enum db_status erasure_dataset(const struct app *app, struct db *db, const char *dataset,
                               enum dataset_verdict *out_verdict);

/* Removes the rows of what was erased, where a crash left them or an older copy of the database
 * brought them back, and stops the jobs on it. At a start all that was ever erased is looked at, in
 * later calls what was erased since: another server may have died. */
enum db_status erasure_resume(const struct app *app, struct db *db);

/* Erases again, at a start, the experts and datasets that the database knows as erased and whose
 * keys came back with an older copy of the directory of keys. */
enum db_status erasure_repeat(const struct app *app, struct db *db);

/* Erases the experts whose data are older than their datasets' retention_days, of each dataset one;
 * *OUT_MORE becomes true when one was. Of several servers that do it at once, one finds what the
 * others have erased. Outside of any transaction. Not DB_OK: db_last_error names a dataset where it
 * failed, and the next call tries again. */
enum db_status erasure_due(const struct app *app, struct db *db, bool *out_more);

/* Refuses COUNT NAMES of new data of the caller if experts so called were erased from DATASET,
 * unless the query says erased=accept. A contributor is told of its own experts alone, a steward of
 * every client's. In the transaction that stores the data. */
enum problem erasure_refuse_names(struct call *call, const char *dataset, const char *const *names,
                                  uint32_t count);

/* Replies with the signed receipt of an erasure of EXPERT of CLIENT (both NULL: all) at TIME_MS.
 * The call's row of the audit trail has the receipt's SHA-256 as its subject. */
enum problem erasure_reply(struct call *call, const char *dataset, const char *expert,
                           const char *client, int64_t time_ms);

/* Reads the query parameter "receipt". */
enum problem erasure_wants_receipt(struct call *call, bool *out);

#endif
