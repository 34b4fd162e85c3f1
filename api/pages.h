/* What a browser or a stranger reads without a token: the status page, the documentation, the
 * contract, the pages of problems and the keys of certificates. All but the keys are static bytes,
 * with strong ETags. */
#ifndef TACET_API_PAGES_H
#define TACET_API_PAGES_H

#include "api/call/app.h"
#include "api/call/call.h"

/* Writes the ETags of the embedded files, which api_page_file looks up. */
void pages_tag_files(char out[PAGE_FILES][PAGE_TAG_SIZE]);

/* GET /, /docs, /status.js, /status.css and /openapi.yaml. Any other path that a browser asks for
 * shows the status page, as /docs does: its script makes the documentation from openapi.yaml. */
enum problem api_page_file(struct call *call);

/* What a browser gets for a path that nothing has; the caller makes its status 404. */
enum problem api_page_missing(struct call *call);

/* GET /problems */
enum problem api_page_problems(struct call *call);

/* GET /problems/{slug} */
enum problem api_page_problem(struct call *call);

/* GET /.well-known/jwks.json */
enum problem api_page_signing_keys(struct call *call);

#endif
