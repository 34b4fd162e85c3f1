/* Certificates by their own id: what is guaranteed of a policy, a release or a teacher, signed. */
#ifndef TACET_API_CALL_CERTIFICATES_H
#define TACET_API_CALL_CERTIFICATES_H

#include "api/call/call.h"

/* GET /v1/certificates/{id}: for the policy's owner and auditors; for everyone with a token once
 * the policy is released. */
enum problem api_certificates_get(struct call *call);

/* Replies with the certificate ID, whose TEXT it takes. */
enum problem certificate_reply(struct call *call, const char *id, char *text);

#endif
