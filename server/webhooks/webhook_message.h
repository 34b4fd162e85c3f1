/* What a webhook says, and its signature, as in Standard Webhooks 1.0 (standardwebhooks.com). */
#ifndef TACET_SERVER_WEBHOOKS_WEBHOOK_MESSAGE_H
#define TACET_SERVER_WEBHOOKS_WEBHOOK_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "storage/webhooks.h"

#define WEBHOOK_BODY_SIZE      512
#define WEBHOOK_SIGNATURE_SIZE 64
#define WEBHOOK_KEY_LEAST      24 /* bytes */
#define WEBHOOK_KEY_MOST       64

struct webhook_key {
    unsigned char bytes[WEBHOOK_KEY_MOST];
    size_t size;
};

/* Reads "whsec_" and a key in base64; white space at the end is fine. NULL, or a sentence (static
 * text). */
const char *webhook_key_read(const char *text, struct webhook_key *out);

/* "v1," and the HMAC-SHA256 of "ID.SECONDS.BODY" in base64. */
void webhook_sign(const struct webhook_key *key, const char *id, int64_t seconds, const char *body,
                  char out[WEBHOOK_SIGNATURE_SIZE]);

/* EVENT as JSON: type, time, ids, and a sentence for a chat. Nothing else that is known of it. */
void webhook_body(const struct webhook_event *event, char out[WEBHOOK_BODY_SIZE]);

#endif
