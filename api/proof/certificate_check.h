/* Checks certificates off-line: the signature, and what they bind. */
#ifndef TACET_API_PROOF_CERTIFICATE_CHECK_H
#define TACET_API_PROOF_CERTIFICATE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/proof/proof_keys.h"
#include "storage/ledger/ledger_log.h"

/* An epsilon and a delta; NAN where a certificate has no such number. */
struct stated_amount {
    double epsilon, delta;
};

/* The figures of a certificate that the ledger has, too. */
struct certificate_figures {
    char job[ID_SIZE], dataset[ID_SIZE];
    char teacher[ID_SIZE], payer[ID_SIZE]; /* whom a student asked, and who paid for it */
    char unit[40];                         /* of privacy */
    struct stated_amount privacy;
    double epsilon_lower, order;          /* NAN: none */
    struct stated_amount limit, greatest; /* of ledger.exposure */
    bool uncovered;                       /* dataset_covered is false */
};

/* What a certificate says of itself. Texts are "" where it says nothing. */
struct certificate_facts {
    char id[ID_SIZE], account[ID_SIZE];
    char subject[ID_SIZE]; /* the teacher, released function or policy that it is about */
    bool receipt;          /* it is the receipt of an erasure, which has none of these, but */
    char digest[65];       /* the SHA-256 of its canonical text, which the audit trail has, */
    char erased_at[32];    /* this time, in UTC, */
    char expert[80];       /* the expert, "": all of the dataset, */
    char client[ID_SIZE];  /* and whose it was; "": an older one does not say */
    unsigned signer;       /* the key that signed it, by its place among those that were given, */
    char followed[SIGNING_TIME_SIZE]; /* and since when another of these has followed it, or "" */
    bool canonical;  /* it is laid out as it was signed: sorted, compact, shortest numbers */
    int64_t entries; /* of the account when it was issued; 0: it does not say */
    unsigned char head[LEDGER_HASH_SIZE];
    bool proven;                /* it proves that this entry is in the ledger's log: */
    int64_t leaf;               /* its number there */
    struct tlog_checkpoint log; /* as it then was */
    struct certificate_figures figures;
    char software[64];
    char weights_sha256[65],
        files_sha256[3][65]; /* of the network; of its JSON, safetensors, ONNX */
};

/* Checks that TEXT is a certificate that one of KEYS signed, with a proof that holds if it has one,
 * and fills OUT. NULL, or a sentence. */
const char *proof_certificate(const char *text, size_t size, const struct proof_keys *keys,
                              struct certificate_facts *out);

/* The same for the receipt of an erasure, too, and for a download that carries its certificate
 * (certified_file.h), which then has to bind it: *OUT_CARRIED. SAYS (NULL: nobody asks) receives
 * lines of what a genuine one guarantees and does not, in its own words. */
const char *proof_certificate_or_policy(const char *bytes, size_t size,
                                        const struct proof_keys *keys,
                                        struct certificate_facts *out, bool *out_carried,
                                        struct buffer *says);

/* Checks that TEXT is the receipt of an erasure that one of KEYS signed, and fills OUT. NULL, or a
 * sentence. */
const char *proof_receipt(const char *text, size_t size, const struct proof_keys *keys,
                          struct certificate_facts *out);

/* Checks that the file BYTES, without the certificate that it may carry, is one of the three
 * downloads that the certificate of FACTS binds, and that it carries no other one. Where it binds a
 * network and no file, BYTES has to carry a certificate that one of KEYS signed and that binds
 * both. NULL, or a sentence. */
const char *proof_weights(const struct certificate_facts *facts, const struct proof_keys *keys,
                          const char *bytes, size_t size);

#endif
