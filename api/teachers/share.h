/* Shares: a part of the common accounts that is set aside for one client, so that no other client
 * can drain it.
 *
 * A guarantee is a number of answers at the standard price, or a part of the client's own budget,
 * and then as many as it pays for. So the teacher's account (and the dataset's, where it pays too)
 * sets aside what so many answers cost it, in its own currency: it holds that amount under the name
 * of an account of kind "share", which pays for the client's questions first. When a share ends,
 * the hold is settled for what the share has spent; the rest was never spent and is common again.
 */
#ifndef TACET_API_TEACHERS_SHARE_H
#define TACET_API_TEACHERS_SHARE_H

#include <jansson.h>

#include "api/call/call.h"
#include "api/teachers/teacher_payers.h"
#include "storage/teachers.h"

/* What a guarantee sets aside. */
struct share_size {
    int64_t answers;             /* at the standard price */
    struct teacher_prices aside; /* of each payer; nothing is set aside of the client's own */
};

/* True when WISH is not nothing. */
bool share_wished(const struct teacher_guarantee *wish);

/* Reads {"answers"} or {"epsilon","delta"}, which stands at POINTER. Faults go into the call. */
void share_read(struct call *call, const json_t *object, const char *pointer,
                struct teacher_guarantee *out);

/* Computes what WISH, at POINTER, sets aside at TEACHER, where one answer costs ONE and the
 * client's own budget is (EPSILON, DELTA). False: the faults are in the call. */
bool share_measure(struct call *call, const struct teacher_row *teacher,
                   const struct teacher_prices *one, double epsilon, double delta,
                   const struct teacher_guarantee *wish, const char *pointer,
                   struct share_size *out);

/* Gives STANDING shares of SIZE in the place of what it has, and stores both. Problems: a common
 * account cannot set so much aside (budget-exhausted, budget-reserved). In the call's transaction.
 */
enum problem share_give(struct call *call, const struct teacher_row *teacher,
                        struct teacher_client_row *standing, const struct share_size *size);

/* Ends all shares of CLIENT, who is revoked, or at TEACHER, which is closed (the other is NULL). In
 * the call's transaction. */
enum problem share_end_all(struct call *call, const char *client, const char *teacher);

/* What is set aside for STANDING: {"account","limit","remaining","answers"} of the teacher's share,
 * or null. New reference; NULL: the database failed. */
json_t *share_json(struct call *call, const struct teacher_row *teacher,
                   const struct teacher_client_row *standing);

#endif
