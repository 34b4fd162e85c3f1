/* Released Q-functions: a release is paid for once; questions to it cost nothing. The same state
 * gives the same values, today, after a restart, from any replica. */
#ifndef TACET_API_RELEASES_Q_RELEASES_H
#define TACET_API_RELEASES_Q_RELEASES_H

#include "algos/release/q_release.h"
#include "api/call/call.h"
#include "storage/q_releases.h"

/* GET /v1/q-releases */
enum problem api_q_releases_list(struct call *call);

/* GET /v1/q-releases/{id} */
enum problem api_q_releases_get(struct call *call);

/* DELETE /v1/q-releases/{id} */
enum problem api_q_releases_end(struct call *call);

/* GET /v1/q-releases/{id}/certificate */
enum problem api_q_releases_certificate(struct call *call);

/* GET /v1/q-releases/{id}/weights: its coefficients as a file, where it is a network. */
enum problem api_q_releases_weights(struct call *call);

/* POST /v1/q-releases/{id}/queries */
enum problem api_q_releases_query(struct call *call);

/* POST /v1/q-releases/{id}/actions */
enum problem api_q_releases_actions(struct call *call);

/* PROBLEM_NONE when the release ID is the caller's and has not ended; PROBLEM_NOT_FOUND otherwise.
 * OWNER receives its project. */
enum problem q_release_of_owner(struct call *call, const char *id, char owner[ID_SIZE]);

/* Stores RELEASE under ROW, whose id, owner, names, job and certificate are filled in; its terms
 * are written here. Inside the transaction that settles the price. */
enum db_status q_release_store(const struct app *app, struct db *db, struct q_release_row *row,
                               const struct q_release *release, const char *certificate_text);

#endif
