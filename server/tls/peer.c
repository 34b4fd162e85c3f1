/* GnuTLS verifies. */
#include "server/tls/peer.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

bool peer_certificate(void *session, unsigned char out[PEER_HASH_SIZE])
{
    gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                     .data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT};
    unsigned status = 0, count = 0;
    size_t size = PEER_HASH_SIZE;
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &count);
    return chain && count > 0 &&
           gnutls_certificate_verify_peers(session, &purpose, 1, &status) == GNUTLS_E_SUCCESS &&
           status == 0 &&
           gnutls_fingerprint(GNUTLS_DIG_SHA256, &chain[0], out, &size) == GNUTLS_E_SUCCESS &&
           size == PEER_HASH_SIZE;
}
