/* The name of one request in its answer and in the log. */
#ifndef TACET_SERVER_REQUEST_ID_H
#define TACET_SERVER_REQUEST_ID_H

#define REQUEST_ID_BYTES 12 /* of randomness in one id */
#define REQUEST_ID_STOCK 64
#define REQUEST_ID_SIZE  (4 + 2 * REQUEST_ID_BYTES + 1) /* with its NUL */

/* One thread's own stock of randomness, to ask for it seldom. All zero is ready to use. */
struct request_ids {
    unsigned left;
    unsigned char stock[REQUEST_ID_STOCK][REQUEST_ID_BYTES];
};

/* Writes REQUEST_ID_SIZE bytes: "req_", 24 hexadecimal digits and a NUL. */
void request_id_make(struct request_ids *ids, char *out);

#endif
