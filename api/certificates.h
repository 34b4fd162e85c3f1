/* Certificates by their own id: what a policy's guarantee is, signed. */
#ifndef TACET_API_CERTIFICATES_H
#define TACET_API_CERTIFICATES_H

#include "api/call.h"

/* GET /v1/certificates/{id}: for the policy's owner and auditors; for everyone with a token once
 * the policy is released. */
enum problem api_certificates_get(struct call *call);

#endif
