/* A new teacher: the steward's request, and the guarantees for the teacher's answers, in sentences
 * and as the JSON that is signed when the teacher is made. Everything in it is public. */
#ifndef TACET_API_TEACHERS_TEACHER_NEW_H
#define TACET_API_TEACHERS_TEACHER_NEW_H

#include <jansson.h>

#include "api/call/call.h"
#include "api/call/commitment.h"
#include "api/teachers/share.h"
#include "api/teachers/teacher_payers.h"
#include "storage/datasets.h"
#include "storage/ledger/ledger.h"

/* What the answers protect, as a sentence. */
const char *teacher_protects(const struct teacher_row *row);

/* What the answers do not protect, as a sentence. SECRET: the policy is not released and nothing
 * accounts for its data (policy_is_secret). */
const char *teacher_exposes(const struct teacher_row *row, bool secret);

/* How the teacher's accounts count: "renyi" or "basic". */
const char *teacher_accounting(const struct teacher_row *row);

/* {"name",...} as requests have it, defaults included. New reference. */
json_t *teacher_mechanism_json(const struct teacher_row *row);

/* {"unit",...} as requests have it; of observations also "resolved_up_to"
 * (teacher_resolved_up_to). New reference. */
json_t *teacher_adjacency_json(const struct teacher_row *row);

/* ---- what a steward wants a teacher to be (teacher_request.c) */

struct teacher_wish {
    struct teacher_row row; /* complete but for id, account and time */
    uint32_t actions;
    bool secret;           /* the policy is secret and nothing accounts for it: policy_is_secret */
    bool basic;            /* accounts by basic composition */
    double epsilon, delta; /* the cap over all clients */
    struct teacher_guarantee guaranteed; /* to a client under its default budget; zeros: nothing */
    int64_t approvals;                   /* stewards that a change of the cap takes; 0: not sent */
    double order[TEACHER_PAYERS];        /* at which each payer counts */
    struct teacher_prices price;         /* of one answer at the full concentration */
    struct dataset_row dataset;          /* that its policy was trained on; all zero: none */
    bool released;                       /* its policy's weights may leave */
    unsigned char policy_digest[DIGEST_BYTES]; /* network_digest, or SHA-256 of an ensemble's sealed
                                                  bytes */
};

/* The signed text of a new teacher made by WISH, whose ROW is complete; ACCOUNT is the teacher's,
 * PROOF its certificate_proof and DESCRIBED the dataset_certified_description (both borrowed). The
 * caller frees *OUT, which is NULL unless DB_OK. */
enum db_status teacher_certificate(const struct call *call, const struct teacher_row *row,
                                   const struct teacher_wish *wish,
                                   const struct ledger_account *account, json_t *proof,
                                   json_t *described, char **out);

/* Reads the body, loads the policy, computes bound, order and prices. */
enum problem teacher_wish_read(struct call *call, struct teacher_wish *out);

#endif
