/* The table of masked fields. Whatever is not in it is compared. */
#include "tests/unit/noninterference/transcript.h"

#define RELEASED "what a mechanism released, or computed from that alone"
#define HASHED   "hash of what is compared here, of random identifiers and of times"
#define COUNTED  "the owner may see how much was uploaded"
#define TIMED    "a job with a mechanism may take longer the more data there are"

static const struct mask masks[] = {
    /* ---- outputs of mechanisms, and public computations on them; a policy is granted to the
       student */
    {"GET /v1/policies/{id}/weights", "owner", "/layers/*", RELEASED},
    {"GET /v1/policies/{id}/weights", "owner", "digest", RELEASED},
    {"GET /v1/q-releases/{id}/weights", "*", "/layers/*", RELEASED},
    {"GET /v1/q-releases/{id}/weights", "*", "digest", RELEASED},
    {"POST /v1/policies/{id}/actions", "owner", "/actions/*", RELEASED},
    {"POST /v1/policies/{id}/actions", "student", "/actions/*", RELEASED},
    {"POST /v1/policies/{id}/actions", "owner", "/values/*", RELEASED},
    {"POST /v1/policies/{id}/actions", "student", "/values/*", RELEASED},
    {"POST /v1/q-releases/{id}/*", "*", "/actions/*", RELEASED},
    {"POST /v1/q-releases/{id}/*", "*", "/values/*", RELEASED},
    {"POST /v1/teachers/{id}/queries", "*", "/probabilities/*", RELEASED},
    {"POST /v2/models/{id}/infer", "*", "/outputs/*/data/*", RELEASED},
    {"GET /v1/jobs*", "owner", "*/evaluation/*_return", RELEASED},
    {"GET /v1/jobs*", "owner", "*/findings/mean_returns/*", RELEASED},
    {"GET /v1/jobs*", "owner", "*/findings/fitted_q_*", RELEASED},
    {"GET /v1/jobs*", "owner", "*/findings/ranges/*", RELEASED},
    {"GET /v1/jobs*", "owner", "*/findings/unclear", RELEASED},
    {"GET /v1/jobs*", "owner", "*/findings/released_*", RELEASED},
    {"GET /v1/jobs*", "owner", "{}*/findings/judge", RELEASED},
    {"GET /v1/jobs*", "owner", "*/findings/best", RELEASED}, /* try of a sweep */
    {"GET */certificate*", "*", "/parameters/learning_rate", "of a sweep: that of its best try"},

    {"GET */weights", "*", "/certificate/parameters/learning_rate", "the same"},
    {"GET */weights", "*", "size", "digits of that learning rate; all else is compared as JSON"},

    /* ---- hashes and keyed commitments; a download carries its certificate */
    {"*", "*", "*/binds/files/*", RELEASED},
    {"*", "*", "*/binds/weights_sha256", RELEASED},
    {"*", "*", "*/binds/*_commitment", "keyed with signing.key: looks random without it"},
    {"*", "*", "*/signature/value", HASHED},
    {"*", "*", "*/ledger/head", HASHED},
    {"* /v1/ledger/accounts*", "*", "*/head", HASHED},
    {"POST /v1/ledger:verify", "*", "/head", HASHED},
    {"POST /v1/ledger:verify", "*", "/log/root", HASHED},
    {"*", "*", "*/ledger/proof", HASHED},
    {"GET /v1/ledger/checkpoint", "*", "digest", HASHED},
    {"GET /v1/ledger/tile/*", "*", "digest", HASHED},
    {"GET /v1/ledger/proofs/*", "*", "digest", HASHED},
    {"GET /v1/ledger/accounts/{id}/proof", "*", "digest", HASHED},
    {"GET /v1/ledger/accounts/{id}/entries", "*", "/items/*hash", HASHED},

    /* ---- what the owner may see */
    {"*/datasets*", "owner", "*/experts", COUNTED},
    {"*/datasets*", "owner", "*/trajectories", COUNTED},
    {"*/datasets*", "owner", "*/transitions", COUNTED},
    {"POST /v1/jobs:estimate", "owner", "/running_time/*", COUNTED},

    /* ---- times; those of unprotected jobs are compared as seconds in the log (kinds.c) */
    {"GET /v1/jobs*", "owner", "*/finished_at", TIMED},
    {"* /v1/jobs*", "owner", "*/progress/eta_seconds", TIMED},
    {"GET /v1/policies*", "owner", "*/created_at", TIMED},
    {"GET /v1/policies", "owner", "/next_page_token",
     TIMED}, /* its last item's created_at and id */
    {"GET /v1/q-releases*", "*", "*/created_at", TIMED},
    {"GET /v1/audit*", "*", "/items/*/time", TIMED}, /* when a job gave its policy */
    {"GET */certificate*", "*", "/issued_at", TIMED},
    {"GET */weights", "*", "/certificate/issued_at", TIMED},
    {"GET /v1/ledger/accounts/{id}/entries", "*", "/items/*/time", TIMED},
};

const struct mask *mask_all(size_t *count)
{
    *count = sizeof masks / sizeof masks[0];
    return masks;
}
