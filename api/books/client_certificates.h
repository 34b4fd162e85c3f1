/* TLS client certificates of clients, bound by an administrator. */
#ifndef TACET_API_BOOKS_CLIENT_CERTIFICATES_H
#define TACET_API_BOOKS_CLIENT_CERTIFICATES_H

#include "api/call/call.h"

/* PUT /v1/clients/{id}/certificates/{sha256} */
enum problem api_client_certificates_bind(struct call *call);

/* GET /v1/clients/{id}/certificates */
enum problem api_client_certificates_list(struct call *call);

/* DELETE /v1/clients/{id}/certificates/{sha256} */
enum problem api_client_certificates_end(struct call *call);

#endif
