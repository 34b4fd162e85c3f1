#include "server/webhooks/webhook_message.h"

#include <assert.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *webhook_key_read(const char *text, struct webhook_key *out)
{
    static const char head[] = "whsec_";
    const char *end = NULL;
    out->size = 0;
    if (strncmp(text, head, sizeof head - 1) != 0)
        return "a key begins with whsec_";
    text += sizeof head - 1;
    if (sodium_base642bin(out->bytes, sizeof out->bytes, text, strlen(text), " \t\r\n", &out->size,
                          &end, sodium_base64_VARIANT_ORIGINAL) != 0 ||
        *end != '\0' || out->size < WEBHOOK_KEY_LEAST)
        return "a key is whsec_ and 24 to 64 random bytes in base64";
    return NULL;
}

void webhook_sign(const struct webhook_key *key, const char *id, int64_t seconds, const char *body,
                  char out[WEBHOOK_SIGNATURE_SIZE])
{
    unsigned char hash[crypto_auth_hmacsha256_BYTES];
    crypto_auth_hmacsha256_state state;
    char head[WEBHOOK_EVENT_SIZE + 32];
    int size = snprintf(head, sizeof head, "%s.%" PRId64 ".", id, seconds);
    crypto_auth_hmacsha256_init(&state, key->bytes, key->size);
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)head, (size_t)size);
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)body, strlen(body));
    crypto_auth_hmacsha256_final(&state, hash);
    sodium_memzero(&state, sizeof state);
    memcpy(out, "v1,", 3);
    sodium_bin2base64(out + 3, WEBHOOK_SIGNATURE_SIZE - 3, hash, sizeof hash,
                      sodium_base64_VARIANT_ORIGINAL);
}

/* How each kind is written. Ids have no character that JSON would escape. */
static const struct {
    const char *type, *member, *before, *after;
} words[] = {
    [WEBHOOK_JOB_ENDED] = {"job.ended", "job", "Job ", " has ended: "},
    [WEBHOOK_BUDGET_LOW] = {"budget.low", "account", "Less than a tenth is left in account ", "."},
    [WEBHOOK_BUDGET_REQUESTED] = {"budget.requested", "budget_request",
                                  "More budget is asked for in request ", "."},
};

void webhook_body(const struct webhook_event *event, char out[WEBHOOK_BODY_SIZE])
{
    char when[40], state[48] = "";
    struct tm utc;
    time_t seconds = (time_t)(event->time_ms / 1000);
    gmtime_r(&seconds, &utc);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
    if (event->kind == WEBHOOK_JOB_ENDED)
        snprintf(state, sizeof state, ",\"state\":\"%s\"", event->state);
    int size = snprintf(out, WEBHOOK_BODY_SIZE,
                        "{\"type\":\"%s\",\"timestamp\":\"%s\",\"data\":{\"%s\":\"%s\","
                        "\"project\":\"%s\"%s},\"text\":\"%s%s%s%s\"}",
                        words[event->kind].type, when, words[event->kind].member, event->subject,
                        event->project, state, words[event->kind].before, event->subject,
                        words[event->kind].after, event->state);
    assert(size > 0 && size < WEBHOOK_BODY_SIZE);
    (void)size;
}
