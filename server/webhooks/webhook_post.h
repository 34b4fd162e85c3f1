/* The process that sends webhooks to one address. Within server/webhooks. */
#ifndef TACET_SERVER_WEBHOOKS_WEBHOOK_POST_H
#define TACET_SERVER_WEBHOOKS_WEBHOOK_POST_H

#include <stdint.h>

#include "server/webhooks/webhook_message.h"

/* One message, as a packet to the process. It is signed: the process has no key. */
struct webhook_post {
    uint64_t number; /* 1, 2, ... */
    int64_t seconds;
    char id[WEBHOOK_EVENT_SIZE];
    char signature[WEBHOOK_SIGNATURE_SIZE];
    char body[WEBHOOK_BODY_SIZE];
};

/* What became of it, as a packet from the process. */
struct webhook_outcome {
    uint64_t number; /* of the message; 0: the process died, and is there again soon */
    int64_t taken;   /* 1: the address answered with 2xx */
    char why[200];   /* not, "" otherwise */
};

/* Posts to ADDRESS what comes through SOCKET, one after another, and never follows a redirect. Is a
 * process of its own; ends when the other end is closed. */
_Noreturn void webhook_post_run(const char *address, int socket);

#endif
