/* What the files that check an export share. For verify*.c alone. */
#ifndef TACET_API_PROOF_VERIFY_STATE_H
#define TACET_API_PROOF_VERIFY_STATE_H

#include <sodium.h>

#include "api/proof/verify.h"
#include "api/proof/verify_prices.h"
#include "memory/buffer.h"
#include "storage/ledger/trail.h"

#define VERIFY_BALANCES 6 /* of an account, those that are spent first */

/* Somebody else's word for an entry's hash: a certificate's, or an earlier export's. */
struct anchor {
    char account[ID_SIZE];
    int64_t sequence;
    unsigned char hash[LEDGER_HASH_SIZE];
    char from[ID_SIZE]; /* the certificate; "" for an earlier export */
    bool met;           /* its account was read */
    bool debit;         /* of an earlier export: it is a debit or a fold, so a fold may count it */
    int64_t balances[VERIFY_BALANCES]; /* of an earlier export: behind it */
};

/* A certificate of this export or of an earlier one. */
struct known_certificate {
    char id[ID_SIZE];
    unsigned char hash[LEDGER_HASH_SIZE]; /* BLAKE2b-256 of its bytes */
};

struct known_hash {
    unsigned char hash[LEDGER_HASH_SIZE]; /* of an entry */
};

struct known_id {
    char id[ID_SIZE];
    char of[ID_SIZE]; /* what a list of these has beside it, or "" */
};

struct open_hold {
    char name[ID_SIZE];
    int64_t units, delta_units;
};

/* An amount in the name of a share: what the share has spent, or what its payer has set aside or
 * paid for it. For a converted account: what its successor was opened with, or what it paid for the
 * successor. */
struct share_amount {
    char id[ID_SIZE]; /* the share's account, or the one that was converted */
    bool converted;
    int64_t units, delta_units;
};

/* A leaf of the log or, of a LEVEL above, a subtree of which the export has this hash alone. */
struct log_node {
    int64_t number;
    unsigned char hash[MERKLE_HASH_SIZE];
    uint8_t level;
    bool of_tile; /* its hash is all that is there, unless the leaf itself is in the list, too */
};

/* Somebody else's word for the log when it had SIZE leaves: a certificate's, an earlier export's,
 * or a checkpoint's that was kept. */
struct log_claim {
    int64_t size;
    unsigned char root[MERKLE_HASH_SIZE];
    char from[ID_SIZE]; /* the certificate; "" */
    bool renamed;       /* the log then had another name than now */
};

struct purpose {
    unsigned char hash[16]; /* of what an account is for, or of a hold */
};

/* What a certificate states, beside what the accounts say. */
struct stated {
    char
        key[ID_SIZE]; /* the account; of a student, the teacher, whose clients' accounts it meets */
    char id[ID_SIZE]; /* the certificate */
    struct certificate_figures figures;
    char subject[ID_SIZE]; /* what it is about */
    int64_t entries;       /* of the account when it was issued, at least */
    int64_t leaves;        /* of the log then, at least; 0: it does not say */
    unsigned signer;       /* the key that signed it, of the export's */
    bool named;            /* it names an account, which then is its key */
    bool settled;          /* the job's settlement has come, or a limit that a student states */
    bool bounded;          /* the greatest limit that it states stood */
    struct stated_amount limit; /* of the account when it was issued */
    struct stated_amount most;  /* the greatest one so far */
};

/* Since the log has more leaves than these, the budget of a dataset does not cover all that was
 * revealed of it. */
struct cover_mark {
    char dataset[ID_SIZE];
    int64_t leaves;
};

/* COUNT elements in a buffer that is kept as an array. */
struct verify_list {
    size_t count, room;
    void *items;
};

struct verify {
    crypto_generichash_state digest; /* first: it is aligned to 64 bytes */
    struct verify_report *report;
    struct verify_prices *prices;
    struct proof_keys key;           /* the export's own, each following the one before it */
    unsigned char signer[32];        /* the last of them */
    unsigned char signer_before[32]; /* that of the export before; zeros: there was none */
    struct verify_list rotations;    /* of int64_t: leaves of the rows that tell of the others */

    struct verify_list anchors;  /* of struct anchor; sorted when the first account comes */
    struct verify_list heads;    /* of struct anchor: of this export, for the one behind it */
    struct verify_list restored; /* of struct known_hash: entries "restored" of this export */
    struct verify_list restored_before; /* of the same: of the earlier one, sorted */
    struct verify_list holds;           /* of struct open_hold: of the account in hand */
    struct verify_list purposes;        /* of struct purpose */
    struct verify_list hold_names;      /* of the same: of all accounts */
    struct verify_list shares;          /* of struct share_amount: spent */
    struct verify_list aside;           /* of struct share_amount: set aside or paid */

    struct verify_list certificates; /* of struct known_certificate: of this export */
    struct verify_list demanded;     /* of the same: of the earlier one */
    size_t next_demanded;            /* the first one that has not come */
    struct verify_list certified;    /* of struct known_id: what certificates are about, of a job */
    struct verify_list paid;         /* of struct known_id: jobs that have spent */
    struct verify_list payers;       /* of struct known_id: accounts, of a dataset or teacher */
    struct verify_list paying;       /* of struct known_id: datasets that have an account */

    struct verify_list stated; /* of struct stated; sorted when the first account comes */
    struct stated *stated_of;  /* those of the account in hand, */
    size_t stated_count;       /* this many */

    struct verify_list leaves;        /* of struct log_node */
    struct verify_list claims;        /* of struct log_claim */
    struct tlog_checkpoint earlier;   /* the log of the export before; size 0: none */
    struct tlog_checkpoint kept;      /* what the caller has kept; size 0: nothing */
    struct tlog_checkpoint log;       /* of this export */
    struct certificate_facts receipt; /* whose row is asked for; its digest is "" for none */
    struct verify_list erasures;      /* of struct known_hash: digests of all receipts */
    bool old_erasure;                 /* the trail has an erasure of its dataset without a digest */
    int64_t last_leaf;                /* sequence of the last leaf of the account in hand */
    struct ledger_leaf first_leaf;    /* of this account; sequence 0: none */
    int64_t fold_first;               /* the first entry that the last one counts */
    struct {
        int64_t number; /* of its last row; 0: none yet */
        unsigned char hash[LEDGER_HASH_SIZE];
        bool logged;             /* its leaf has come */
        bool rotated;            /* it tells of a new signing key */
        char uncovered[ID_SIZE]; /* the dataset that it says is not covered any more; "" */
    } trail;
    struct {
        int64_t number; /* of the last row of the export before; 0: none, or it has come */
        unsigned char hash[LEDGER_HASH_SIZE];
    } trail_before;
    struct verify_list marks; /* of struct cover_mark */
    bool in_tree;             /* nothing but nodes of the tree and the checkpoint may come */
    int64_t next_tile;        /* the least number that the next tile may have */
    bool reads_keys;          /* lines of keys may come, as in version 4 behind the head */
    bool has_checkpoint;

    struct ledger_account claimed,
        sums;                        /* the account in hand, as its line says and as it adds up */
    bool in_account, chained;        /* no break of its chain was reported yet */
    bool debit;                      /* its last entry is a debit or a fold */
    int64_t before[VERIFY_BALANCES]; /* before its last entry */
    size_t next_anchor;              /* the first one that its entries have not reached */
    int64_t proven_to;               /* its last entry in the earlier export; 0: it has none */
    const struct anchor
        *parted;             /* where it does not go on from the earlier export; NULL: it does */
    const char *parted_why;  /* a sentence */
    bool reborn;             /* it has an entry "restored" that the earlier export has not */
    int64_t last_created_ms; /* of the account before */
    char last_id[ID_SIZE];   /* and its id */
    char last_certificate[ID_SIZE];
};

/* A zeroed element at the end of LIST. */
void *verify_list_add(struct verify_list *list, size_t size);

/* Notes a fault in the line that is being read. WHERE is an id. */
void verify_fault(struct verify *verify, const char *where, long long sequence, const char *what);

/* Adds the key of LINE. False: it is none. */
bool verify_key_line(struct verify *verify, char *line);

/* Behind the last key: they lead to the one that signs the export. */
void verify_keys_read(struct verify *verify);

/* After the last line: one of the keys is TRUSTED, and none has another follower there. */
void verify_keys_trusted(struct verify *verify, const struct proof_keys *trusted);

/* ROW of the audit trail may tell of a new signing key. */
void verify_rotation(struct verify *verify, const struct trail_row *row);

/* The row of the audit trail in hand is the leaf NUMBER of the log. */
void verify_rotation_leaf(struct verify *verify, int64_t number);

/* After the last row: it tells of each key, and none has signed after another followed it. */
void verify_rotations_end(struct verify *verify);

/* Adds the certificate TEXT of SIZE bytes, the brace behind it included. */
void verify_certificate(struct verify *verify, char *text, size_t size);

/* ENTRY may say that a job has spent. */
void verify_job_paid(struct verify *verify, const struct ledger_entry *entry);

/* ROW of the audit trail may say that something was released, which has a certificate. What was
 * paid and certified is known before the first row. */
void verify_released(struct verify *verify, const struct trail_row *row);

/* Notes which dataset ROW of the audit trail says is not covered any more. */
void verify_uncovered(struct verify *verify, const struct trail_row *row);

/* The row of the audit trail in hand is the leaf NUMBER of the log. */
void verify_uncovered_leaf(struct verify *verify, int64_t number);

/* After the last row: no certificate says that a dataset is covered after the log, or another
 * certificate, said that it is not. */
void verify_covered_end(struct verify *verify);

/* ROW of the audit trail may be of an erasure, and that of the receipt that is asked for. */
void verify_receipt_row(struct verify *verify, const struct trail_row *row);

/* After the last row: counts repeats, and the one of the receipt that is asked for has come. */
void verify_receipt_end(struct verify *verify);

/* After the last line but one: no certificate of an earlier export is missing, and no two are about
 * the same. */
void verify_certificates_end(struct verify *verify);

/* What LIST, of struct known_id and sorted, has of ID, or NULL. */
const struct known_id *verify_known(const struct verify_list *list, const char *id);

/* Sorts LIST, of struct known_id. */
void verify_known_sort(struct verify_list *list);

/* Before the first account. */
void verify_anchors_sort(struct verify *verify);

/* Finds the first anchor of the account in hand. */
void verify_anchors_find(struct verify *verify);

/* Compares ENTRY, which was added, with the anchors that it reaches. */
void verify_anchors_meet(struct verify *verify, const struct ledger_entry *entry);

/* After the last entry of the account in hand: anchors that it does not reach, and whether it
 * parted from the earlier export. */
void verify_anchors_miss(struct verify *verify);

/* After the last account: anchors whose account is missing. */
void verify_anchors_end(struct verify *verify);

/* Whether debits of ACCOUNT are ever folded (ledger_fold.h). */
bool verify_may_fold(const struct ledger_account *account);

/* Before an entry is added: keeps the one before it for a later export, where no fold may count it,
 * and the balances. */
void verify_keep_entry(struct verify *verify);

/* Keeps the last entry of the account in hand for a later export. */
void verify_keep_head(struct verify *verify);

/* Notes ENTRY where it is what a restore has burnt. */
void verify_restored(struct verify *verify, const struct ledger_entry *entry);

/* Notes the figures of a certificate, to compare them with the accounts. */
void verify_stated(struct verify *verify, const struct certificate_facts *facts);

/* Finds what certificates state of the account in hand, which begins. */
void verify_stated_account(struct verify *verify);

/* Compares ENTRY, the next one of that account, with it. */
void verify_stated_entry(struct verify *verify, const struct ledger_entry *entry);

/* After the last entry of the account in hand: what certificates state that it does not. */
void verify_stated_end(struct verify *verify);

/* After the last account: each certificate was compared with the account that has to have paid. */
void verify_stated_payers(struct verify *verify);

/* Begins the account whose ROW was read. */
void verify_account(struct verify *verify, const struct ledger_account *row);

/* Adds ENTRY to the account in hand; its previous hash is filled in. */
void verify_next_entry(struct verify *verify, struct ledger_entry *entry);

/* Compares the account in hand, if there is one, with its entries. */
void verify_account_end(struct verify *verify);

/* Notes that UNITS and DELTA_UNITS are set aside or paid for NAME, if that is an account's id. */
void verify_share_aside(struct verify *verify, const char *name, int64_t units,
                        int64_t delta_units);

/* Notes ENTRY where it pays for the conversion of the account in hand, or opens one that goes on
 * from another. */
void verify_converted(struct verify *verify, const struct ledger_entry *entry);

/* Adds a leaf of the account in hand, which names the last entry that was read. */
void verify_leaf(struct verify *verify, const struct ledger_leaf *leaf);

/* Adds the row of the audit trail whose TEXT has SIZE bytes. False: it is none. */
bool verify_trail(struct verify *verify, const char *text, size_t size);

/* Adds the hashes of the tile whose text is behind AT. False: it is none. */
bool verify_tile(struct verify *verify, char *at);

/* Adds the subtree whose text is behind AT. False: it is none. */
bool verify_subtree(struct verify *verify, char *at);

/* Notes that the log was THEN so, as somebody else says: the certificate FROM, or "", who is asked
 * when the log's checkpoint was read. Size 0: nobody says so. */
void verify_claim(struct verify *verify, const char *from, const struct tlog_checkpoint *then);

/* After the last line but one: the log is that of its checkpoint and of all claims. */
void verify_log_end(struct verify *verify);

/* After the last account: no share has spent more than its payer set aside or paid for it, and no
 * account goes on from another one with more than that paid. */
void verify_shares_end(struct verify *verify);

/* After the last account: what no account has. */
void verify_accounts_end(struct verify *verify);

#endif
