/* Projects as their members and admins see them: who owns budgets, data and teachers. */
#ifndef TACET_API_BOOKS_PROJECTS_H
#define TACET_API_BOOKS_PROJECTS_H

#include "api/call/call.h"

/* POST /v1/projects */
enum problem api_projects_create(struct call *call);

/* GET /v1/projects: those of the caller; all for an admin or auditor. */
enum problem api_projects_list(struct call *call);

/* GET /v1/projects/{id} */
enum problem api_projects_get(struct call *call);

/* PATCH /v1/projects/{id} */
enum problem api_projects_change(struct call *call);

/* PUT /v1/projects/{id}/members/{client} */
enum problem api_projects_put_member(struct call *call);

/* DELETE /v1/projects/{id}/members/{client} */
enum problem api_projects_remove_member(struct call *call);

/* POST /v1/projects/{id}:transfer: another steward becomes the owner, with an entry in every
 * account. */
enum problem api_projects_transfer(struct call *call);

#endif
