/* Certificates are JSON objects that we sign: Ed25519 over the canonical JSON (RFC 8785: members
 * sorted, compact, shortest numbers) of the object without its "signature" member. */
#ifndef TACET_API_CALL_CERTIFICATE_H
#define TACET_API_CALL_CERTIFICATE_H

#include <jansson.h>

struct app;

/* The canonical text of CERTIFICATE (an object, borrowed, without "signature") with the member
 * "signature":{"algorithm":"Ed25519","key_id":...,"value":base64url} added: what is stored and
 * served as it is. The caller frees it. */
char *certificate_sign(const struct app *app, const json_t *certificate);

/* The key set of /.well-known/jwks.json (RFC 7517, 8037). New reference. */
json_t *certificate_keys(const struct app *app);

#endif
