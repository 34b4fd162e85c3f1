/* Checks an export (export.h) without access to the service that wrote it.
 *
 * What is checked: the form of every line; the signature over all of them; each account's chain of
 * hashes, its sums and its limits after every entry; that what is held is what open holds say; that
 * no two accounts are for the same; that shares spend what their payers set aside; the price of
 * every entry that spends; every certificate, and that the entries are those whose hash it names. A
 * folded entry (ledger_fold.h) has no hash that can be computed again: what it sums up is the
 * service's word, and is counted apart. */
#ifndef TACET_API_PROOF_VERIFY_H
#define TACET_API_PROOF_VERIFY_H

#include "api/json/byte_reader.h"
#include "api/proof/certificate_check.h"
#include "storage/ledger/ledger.h"

#define VERIFY_FAULTS_MAX 16 /* faults that a report describes; all are counted */

struct verify_fault {
    long long line;      /* of the export, from 1; 0: none in particular */
    char where[ID_SIZE]; /* an account, a certificate, or "" */
    long long sequence;  /* of an entry, or 0 */
    char what[160];      /* a sentence */
};

struct verify_report {
    bool begun;      /* its first line is that of an export; otherwise nothing else is known */
    int64_t time_ms; /* when it was made, as it says */
    char key_id[SIGNING_ID_SIZE];     /* that signs it */
    bool asked;                       /* the caller named keys, */
    bool trusted;                     /* of which one is its key, or leads to it */
    bool follows;                     /* it leads there, and is another one */
    char followed[SIGNING_TIME_SIZE]; /* since when another of these has followed it; "": none */
    int64_t lines, certificates, accounts, entries, open_holds;
    int64_t folded;   /* of the entries, those that folds count */
    int64_t unproven; /* of these, those behind the last entry of the earlier export, if any */
    int64_t prices, unknown;   /* entries whose price was computed again, or was out of reach */
    int64_t heads, lost;       /* hashes of earlier that were compared, or are inside of folds */
    int64_t leaves;            /* of the log */
    int64_t removed;           /* of these, those of which the hash alone is there */
    int64_t unshown;           /* of these, those that the earlier export's log does not have */
    int64_t trail;             /* rows of the audit trail */
    int64_t raised, uncovered; /* limits raised, datasets that no budget covers any more, */
    int64_t erased;            /* calls that erased: no faults, and an auditor asks */
    int64_t repeated;          /* of these, those whose receipt an earlier one gave */
    int64_t receipt;           /* the first row of the receipt that was asked for; 0: none */
    int64_t receipts;          /* rows that have it */
    char receipt_time[32];     /* of the first one, in UTC, */
    char receipt_by[ID_SIZE];  /* and the client that called */
    unsigned char digest[32];  /* of its lines; zeros: it has no end */
    int64_t fault_count;       /* 0: all is well */
    unsigned described;
    struct verify_fault faults[VERIFY_FAULTS_MAX];
};

struct verify;

/* Begins. The caller frees it with export_verify_free. */
struct verify *export_verify_new(void);

/* Frees VERIFY. NULL is fine. */
void export_verify_free(struct verify *verify);

/* From now on the log of each export has to go on from the tree of KEPT, which the caller has
 * checked: what a witness has cosigned, say. */
void export_verify_expect(struct verify *verify, const struct tlog_checkpoint *kept);

/* From now on each export has to have the row of the audit trail of RECEIPT, an erasure's that the
 * caller has checked. */
void export_verify_receipt(struct verify *verify, const struct certificate_facts *receipt);

/* Reads one export to its end, or to a line that is none. KEYS: those that the caller trusts, NULL
 * for whichever the export names. A second export must have the key of the first, or
 * keys that follow it, contain every account of it, and go on from its last entry. */
void export_verify(struct verify *verify, struct byte_reader reader, const struct proof_keys *keys,
                   struct verify_report *out);

#endif
