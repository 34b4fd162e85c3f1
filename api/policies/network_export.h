/* Networks as files for other programs: JSON (network_json.h), safetensors, ONNX. */
#ifndef TACET_API_POLICIES_NETWORK_EXPORT_H
#define TACET_API_POLICIES_NETWORK_EXPORT_H

#include <stddef.h>

#include "algos/policy.h"
#include "api/call/call.h"

/* safetensors: float32 tensors "layers.0.weight" [out, in], "layers.0.bias" [out], ...; activation
 * and output (as in network_json.h) stand in its metadata. The caller frees it; NULL: it is too
 * large. */
char *network_safetensors(const struct policy *policy, size_t *out_size);

/* ONNX, opset 13: Gemm and Relu or Tanh from "state" [n, state_dim] to "values" [n, action_count]
 * (of other outputs than q "logits", "scores" or, of both heads together, "heads"). The
 * caller frees it; NULL: it is too large. */
char *network_onnx(const struct policy *policy, size_t *out_size);

/* Answers with POLICY in the format that the query parameter "format" names, json by default; ID,
 * of something that never changes, is the tag and the file's name. The file carries CERTIFICATE
 * (certified_file.h; NULL: it has none) unless the parameter "certificate" is "none". */
enum problem network_reply(struct call *call, const struct policy *policy, const char *id,
                           const char *certificate);

#endif
