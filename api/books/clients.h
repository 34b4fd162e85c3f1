/* Clients: who may call, made and revoked by an administrator. */
#ifndef TACET_API_BOOKS_CLIENTS_H
#define TACET_API_BOOKS_CLIENTS_H

#include "api/call/call.h"

/* POST /v1/clients */
enum problem api_clients_create(struct call *call);

/* GET /v1/clients */
enum problem api_clients_list(struct call *call);

/* DELETE /v1/clients/{id} */
enum problem api_clients_revoke(struct call *call);

#endif
