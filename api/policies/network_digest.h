/* Digests of networks, by which a certificate names the weights that it certifies. */
#ifndef TACET_API_POLICIES_NETWORK_DIGEST_H
#define TACET_API_POLICIES_NETWORK_DIGEST_H

#include <jansson.h>
#include <stdbool.h>

#include "algos/policy.h"
#include "api/call/commitment.h"

/* SHA-256 of what a network is, whatever file holds it:
 *   the line "ACTIVATION OUTPUT INPUT WIDTH WIDTH ...\n", for instance "relu q 4 64 64 2\n", the
 *   words as in network_json.h, then little-endian float32: the threshold (0 but for bcq), and of
 *   each layer weight[out][in], then bias[out]. A zero has no sign. */
void network_digest(const struct policy *policy, unsigned char out[DIGEST_BYTES]);

/* Adds to the object BINDS "weights_sha256", which is network_digest, and "files":{"json",
 * "safetensors","onnx"}, SHA-256 of the files that network_reply sends, without the certificate in
 * them. False: a file does not fit into memory. */
bool network_binds(const struct policy *policy, json_t *binds);

#endif
