/* Who is at the other end of a TLS connection. */
#ifndef TACET_SERVER_TLS_PEER_H
#define TACET_SERVER_TLS_PEER_H

#include <stdbool.h>

#define PEER_HASH_SIZE 32

/* True when the peer of SESSION (GnuTLS's, after its handshake) has shown a certificate for clients
 * that verifies against the authorities of the session's credentials: OUT receives the SHA-256 of
 * its DER. */
bool peer_certificate(void *session, unsigned char out[PEER_HASH_SIZE]);

#endif
