/* The table of problems: the one place where a refusal gets its status and its words. */
#include "api/wire/problem.h"

#include <assert.h>
#include <string.h>

static const struct problem_info problems[PROBLEM_COUNT] = {
    [PROBLEM_BAD_REQUEST] =
        {"bad-request", 400, "The request is malformed",
         "The request line, its path or a header cannot be understood. A percent sign in a path "
         "begins an escape of two hexadecimal digits, and no escape may stand for NUL."},
    [PROBLEM_NOT_JSON] =
        {"not-json", 400, "The body is not JSON",
         "The body must be one JSON value (RFC 8259) in UTF-8: nothing after it, no member named "
         "twice, no NaN or Infinity, nested at most 32 deep. An empty body is not JSON either. The "
         "detail names the line and the column where reading stopped."},
    [PROBLEM_VALIDATION] =
        {"validation", 422, "The request is not valid",
         "The body is JSON, but members are missing, unknown, of the wrong type or out of bounds. "
         "Each element of errors names one of them by a JSON pointer (RFC 6901), by the line of an "
         "upload or by the query parameter. Nothing was stored and nothing was charged."},
    [PROBLEM_UNAUTHORIZED] =
        {"unauthorized", 401, "A valid token is needed",
         "Send Authorization: Bearer tct_..., the token that was shown once when the client was "
         "made or its token was rotated. The token is missing or wrong, has expired, or has been "
         "revoked; an administrator can give the client a new one: POST "
         "/v1/clients/{id}:rotate."},
    [PROBLEM_FORBIDDEN] = {"forbidden", 403, "This role may not do that",
                           "The token is good, but its role does not include this endpoint. The "
                           "documentation at /docs lists the roles of each."},
    [PROBLEM_INSUFFICIENT_SCOPE] =
        {"insufficient-scope", 403, "The token's scopes do not include this",
         "The token is good, and its client's role may do this, but the token was made for less. "
         "The scopes are read (calls that change nothing), spend (calls that can spend) and write "
         "(all other changes). WWW-Authenticate names the one that is missing (RFC 6750). No token "
         "can give itself or another one a scope that it lacks."},
    [PROBLEM_NOT_FOUND] = {"not-found", 404, "Not found",
                           "No resource has this path or id, or the caller may not know of it."},
    [PROBLEM_METHOD_NOT_ALLOWED] = {"method-not-allowed", 405, "This path does not take the method",
                                    "The Allow header lists them."},
    [PROBLEM_NOT_ACCEPTABLE] =
        {"not-acceptable", 406, "No acceptable format",
         "The Accept header excludes every format that this endpoint has. JSON endpoints answer "
         "application/json: leave out Accept, or add */*."},
    [PROBLEM_REQUEST_TIMEOUT] = {"request-timeout", 408, "The request took too long to arrive",
                                 "The connection was idle before the request was complete. Nothing "
                                 "of it was stored; send it again."},
    [PROBLEM_BODY_TOO_LARGE] =
        {"body-too-large", 413, "The body is too large",
         "The body, as sent or decompressed, is larger than this server allows. Nothing of it was "
         "stored. Split an upload into several; each of them is stored whole or not at all."},
    [PROBLEM_CLIENT_DISK_FULL] =
        {"client-disk-full", 413, "The client's share of the disk is full",
         "Each client may store so many bytes of uploads and experts' policies on this server, of "
         "all datasets together. The upload would exceed them. Nothing of it was stored. Delete a "
         "dataset, or ask the operator for a larger share (--client-disk)."},
    [PROBLEM_UNSUPPORTED_MEDIA_TYPE] =
        {"unsupported-media-type", 415, "The format of the body is not supported",
         "JSON endpoints take Content-Type: application/json. Uploads take application/x-ndjson or "
         "application/json, plain or with Content-Encoding gzip or zstd."},
    [PROBLEM_CORRUPT_ENCODING] =
        {"corrupt-encoding", 400, "The compressed body is damaged",
         "The gzip or zstd stream is broken or ends too early. Nothing of it was stored."},
    [PROBLEM_URI_TOO_LONG] = {"uri-too-long", 414, "The request target is too long",
                              "Path and query are longer than this server reads."},
    [PROBLEM_HEADERS_TOO_LARGE] = {"headers-too-large", 431, "The request headers are too large",
                                   "The headers are longer than this server reads."},

    [PROBLEM_CONFLICT] = {"conflict", 409, "The state of the resource does not allow this",
                          "The detail names the state."},
    [PROBLEM_PRECONDITION_FAILED] =
        {"precondition-failed", 412, "The resource has changed in the meantime",
         "If-Match names another revision than the present one. Read it again, then decide."},
    [PROBLEM_PRECONDITION_REQUIRED] =
        {"precondition-required", 428, "Say which revision you mean to change",
         "This exists already. Send If-Match with the ETag of the revision that you have read, so "
         "that two writers cannot overwrite each other unseen."},
    [PROBLEM_DATASET_NOT_OPEN] =
        {"dataset-not-open", 409, "The dataset takes no more data",
         "The dataset has been sealed: its data are fixed. Make a new dataset. (One that was "
         "deleted answers 404.)"},
    [PROBLEM_DATASET_NOT_SEALED] =
        {"dataset-not-sealed", 409, "The dataset is still open",
         "A job needs data that no longer change: POST /v1/datasets/{id}:seal first."},
    [PROBLEM_DATASET_EMPTY] = {"dataset-empty", 409, "The dataset holds nothing to learn from",
                               "Upload trajectories before sealing it."},
    [PROBLEM_JOB_NOT_CANCELLABLE] = {"job-not-cancellable", 409, "The job has ended",
                                     "Only a queued or running job can be cancelled."},
    [PROBLEM_NOT_RELEASED] =
        {"not-released", 403, "The guarantee does not cover this",
         "The policy was trained without privacy on private data: it exists only inside the "
         "service, as a teacher behind a noisy mechanism, and is never handed out. An imported "
         "policy belongs to the steward who imported it: nobody else may download or query it."},
    [PROBLEM_TEACHER_SILENT] = {"teacher-silent", 403, "The teacher does not answer any more",
                                "Either the vanishing schedule has ended and the teacher was made "
                                "with \"at_floor\":\"refuse\", or the dataset was deleted together "
                                "with what was learned from it. A call that is repeated under its "
                                "key still gets its stored answer. A student goes on alone."},
    [PROBLEM_NO_BUDGET] =
        {"no-budget", 403, "No budget was given to this client",
         "The teacher has no budget for clients in general, and its steward has not granted one to "
         "this client: PUT /v1/teachers/{id}/budgets/{client}."},
    [PROBLEM_AGGREGATION_CLOSED] = {"aggregation-closed", 409,
                                    "The aggregation takes no more reports",
                                    "Its steward has closed it. The parameters can still be read."},
    [PROBLEM_STALE_VERSION] =
        {"stale-version", 409, "The parameters have changed",
         "The report was made for an earlier version, and this aggregation takes only the present "
         "one. Nothing was charged. But the server has seen the report: an agent that does not "
         "trust the server must count it, and should send another one only if it meant to send "
         "several."},
    [PROBLEM_ALREADY_REPORTED] =
        {"already-reported", 409, "This agent has sent all its reports",
         "All the reports that one agent may send to this aggregation were accepted before. "
         "Another one would cost more privacy than was promised to the agent."},

    [PROBLEM_IDEMPOTENCY_KEY_REQUIRED] =
        {"idempotency-key-required", 400, "This call can spend: it needs an Idempotency-Key",
         "Send Idempotency-Key with a fresh value, such as a UUID, for every new call, and the "
         "same value when you repeat a call whose answer you did not see. The repeat gets the "
         "stored answer and is not charged."},
    [PROBLEM_IDEMPOTENCY_KEY_INVALID] =
        {"idempotency-key-invalid", 400, "The Idempotency-Key is malformed",
         "A key is 1 to 255 visible ASCII characters, without spaces. A server that does not keep "
         "answers for ever wants the time in the keys of questions to teachers."},
    [PROBLEM_IDEMPOTENCY_KEY_REUSED] =
        {"idempotency-key-reused", 422, "This Idempotency-Key was used for another call",
         "The same client has used the key with another method, path, query or body, and its "
         "answer is stored. Use a fresh key for a new call. Nothing was charged."},
    [PROBLEM_IDEMPOTENCY_KEY_EXPIRED] =
        {"idempotency-key-expired", 410, "The time of this Idempotency-Key is over",
         "The key names a time from which this server keeps no answers any more. It cannot tell "
         "whether the key was used, and so never answers it again. If it was, it was charged then, "
         "and the ledger shows it. Nothing was charged now."},
    [PROBLEM_CLOSED] =
        {"closed", 410, "The teacher is closed",
         "Its steward has closed it for ever. What was not spent of its budgets is never spent. An "
         "answer that is stored is given again under its key, until the teacher is deleted. "
         "Nothing was charged."},
    [PROBLEM_BUDGET_EXHAUSTED] =
        {"budget-exhausted", 403, "The privacy budget cannot pay for this",
         "The call would raise the spent privacy loss above the limit of each account listed in "
         "violated. A budget does not refill: waiting or repeating does not help. Nothing was "
         "charged and no noise was drawn."},
    [PROBLEM_BUDGET_RESERVED] =
        {"budget-reserved", 409, "The rest of the budget is reserved",
         "The call would fit if queued or running jobs did not hold a part of the budget. A job "
         "may free some of it when it ends. Nothing was charged."},
    [PROBLEM_COST_ABOVE_MAXIMUM] =
        {"cost-above-maximum", 422, "The call would cost more than max_epsilon",
         "The price of the call is above the max_epsilon that it carries. Nothing was charged."},
    [PROBLEM_INFEASIBLE] = {"infeasible", 422, "No plan fits what was asked for",
                            "With these parameters no number of steps keeps within the requested "
                            "epsilon and delta. POST /v1/jobs:estimate shows what a plan costs."},
    [PROBLEM_HOPELESS] =
        {"hopeless-plan", 422, "The plan is hopeless",
         "Measured runs whose noise was like this plan's were no better than random play, so the "
         "job would spend budget for nothing. Nothing was charged. POST /v1/jobs:advise ranks what "
         "could be asked for instead and says how many experts or how much epsilon would do. With "
         "\"force\":true in privacy the job is accepted all the same."},

    [PROBLEM_TRAINING_FAILED] = {"training-failed", 500, "The training failed",
                                 "The job could not go on. What its steps may have cost is spent; "
                                 "nothing was released."},
    [PROBLEM_EVALUATION_FAILED] =
        {"evaluation-failed", 500, "The policy could not be evaluated",
         "The training is complete. Its policy is stored, paid for and available like any other "
         "(the job's member policy). Only the requested evaluation is missing, for the reason in "
         "detail. Submitting the job again would train and pay again. A job that only evaluates "
         "has cost nothing: remove the cause and ask again."},
    [PROBLEM_DATA_UNREADABLE] = {"data-unreadable", 500, "The stored data could not be read",
                                 "The job's dataset or checkpoint is damaged or missing. Nothing "
                                 "was released."},
    [PROBLEM_JOB_INTERRUPTED] = {"job-interrupted", 500,
                                 "The job was interrupted and could not resume",
                                 "The job's worker stopped, and the job could not continue from a "
                                 "checkpoint. Nothing was released."},

    [PROBLEM_RATE_LIMITED] = {"rate-limited", 429, "Too many requests",
                              "Wait as long as Retry-After says. This has nothing to do with "
                              "privacy budgets, which do not refill."},
    [PROBLEM_OVERLOADED] = {"overloaded", 503, "The server has too much to do",
                            "Nothing of the request was done. Try again after Retry-After; with "
                            "the same Idempotency-Key, where there was one."},
    [PROBLEM_SHUTTING_DOWN] = {"shutting-down", 503, "The server is shutting down",
                               "Nothing of the request was done. Try again after Retry-After; with "
                               "the same Idempotency-Key, where there was one."},
    [PROBLEM_STORAGE_FULL] = {"storage-full", 503, "Nothing can be made durable now",
                              "The change could not be made durable, so it was not made and "
                              "nothing was charged. The operator's log says why: a full disk, or "
                              "a place to write to that is away. Try again after Retry-After."},
    [PROBLEM_NOT_READY] = {"not-ready", 503, "The server is not ready",
                           "It is starting, draining or missing a part; the detail says which."},
    [PROBLEM_INTERNAL_ERROR] =
        {"internal-error", 500, "The server failed",
         "This is a fault of the server. Nothing was changed or charged. The operator finds the "
         "line in the server's log by the request_id."},
};

const struct problem_info *problem_info(enum problem problem)
{
    assert(problem > PROBLEM_NONE && problem < PROBLEM_COUNT);
    assert(problems[problem].slug != NULL);
    return &problems[problem];
}

enum problem problem_find(const char *slug)
{
    for (int problem = PROBLEM_NONE + 1; problem < PROBLEM_COUNT; problem++)
        if (strcmp(problems[problem].slug, slug) == 0)
            return (enum problem)problem;
    return PROBLEM_NONE;
}
