/* Teachers for clients that speak the Open Inference Protocol, version 2 (KServe, Triton): a model
 * is a teacher, its input "state" [n, dim], its output "probabilities" [n, actions]. Mechanism,
 * accounts and answers are those of queries.h; only the form differs. */
#ifndef TACET_API_TEACHERS_INFERENCE_H
#define TACET_API_TEACHERS_INFERENCE_H

#include "api/call/call.h"

/* GET /v2 */
enum problem api_inference_server(struct call *call);

/* GET /v2/health/live */
enum problem api_inference_live(struct call *call);

/* GET /v2/health/ready */
enum problem api_inference_ready(struct call *call);

/* GET /v2/models/{id} */
enum problem api_inference_model(struct call *call);

/* GET /v2/models/{id}/ready */
enum problem api_inference_model_ready(struct call *call);

/* POST /v2/models/{id}/infer */
enum problem api_inference_infer(struct call *call);

/* Computes a heavy inference's distributions outside of any transaction (query_prepare.h). */
enum problem api_inference_prepare(struct call *call);

#endif
