/* DESIGN. The signature is over the canonical text of the certificate without the member
 * "signature", so the text is parsed and written again: how it was laid out does not matter. */
#include "api/proof/certificate_check.h"

#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json_member.h"
#include "api/json/json_text.h"
#include "api/json/text.h"
#include "api/wire/certified_file.h"
#include "memory/memory.h"

static void copy_member(const json_t *object, const char *name, char *out, size_t size)
{
    snprintf(out, size, "%s", json_member_text(object, name));
    text_clean(out, '?');
}

/* ---- the signature */

/* Checks the SIGNATURE of CERTIFICATE, from which it was taken. *OUT_SIGNER is the key that signed,
 * by its place among KEYS. */
static const char *check_signature(const json_t *certificate, const json_t *signature,
                                   const struct proof_keys *keys, unsigned *out_signer)
{
    unsigned char value[crypto_sign_BYTES];
    char id[SIGNING_ID_SIZE], wanted[SIGNING_ID_SIZE];
    const char *algorithm = json_string_value(json_object_get(signature, "algorithm"));
    copy_member(signature, "key_id", wanted, sizeof wanted);
    if (!algorithm || strcmp(algorithm, "Ed25519") != 0 ||
        !proof_bytes_read(json_member_text(signature, "value"), value, sizeof value))
        return "it has no signature";
    for (unsigned i = 0; i < keys->count; i++) {
        signing_key_id(keys->key[i], id);
        if (strcmp(id, wanted) != 0)
            continue;
        size_t size = 0;
        char *text = json_text_write(certificate, true, &size);
        bool good = crypto_sign_verify_detached(value, (const unsigned char *)text, size,
                                                keys->key[i]) == 0;
        free(text);
        *out_signer = i;
        return good ? NULL : "its signature does not hold: it was changed";
    }
    return "it is signed with the key of another service";
}

/* Notes in OUT since when another one of KEYS has followed the signer, who signed before that. */
static const char *check_signer(const json_t *certificate, const struct proof_keys *keys,
                                struct certificate_facts *out)
{
    const char *erased = json_member_text(certificate, "erased_at"), *from;
    int64_t time_ms;
    if (!proof_time_read(erased[0] != '\0' ? erased : json_member_text(certificate, "issued_at"),
                         &time_ms))
        time_ms = INT64_MAX;
    bool late = proof_key_is_late(keys, keys->key[out->signer], time_ms, &from);
    snprintf(out->followed, sizeof out->followed, "%s", from);
    return late ? "it was signed with a key that had been replaced before the time it states"
                : NULL;
}

/* Reads which entry of the ledger CERTIFICATE names. One that it names in part is none. */
static const char *read_named_entry(const json_t *certificate, struct certificate_facts *out)
{
    const json_t *ledger = json_object_get(certificate, "ledger");
    const json_t *head = json_object_get(ledger, "head");
    const json_t *entries = json_object_get(ledger, "entries");
    size_t size = 0;
    copy_member(ledger, "account", out->account, sizeof out->account);
    if ((!head || json_is_null(head)) && (!entries || json_is_null(entries)))
        return NULL;
    if (!json_is_string(head) || json_string_length(head) != 2 * LEDGER_HASH_SIZE ||
        sodium_hex2bin(out->head, sizeof out->head, json_string_value(head),
                       json_string_length(head), NULL, &size, NULL) != 0 ||
        size != LEDGER_HASH_SIZE || json_integer_value(entries) < 1 || out->account[0] == '\0')
        return "the entry of the ledger that it names cannot be read";
    out->entries = json_integer_value(entries);
    return NULL;
}

static struct stated_amount read_stated_amount(const json_t *object)
{
    return (struct stated_amount){json_member_number(object, "epsilon"),
                                  json_member_number(object, "delta")};
}

static void read_figures(const json_t *certificate, struct certificate_figures *out)
{
    const json_t *privacy = json_object_get(certificate, "privacy");
    const json_t *exposure = json_object_get(json_object_get(certificate, "ledger"), "exposure");
    const json_t *teacher = json_object_get(certificate, "teacher");
    copy_member(certificate, "job", out->job, sizeof out->job);
    copy_member(certificate, "dataset", out->dataset, sizeof out->dataset);
    copy_member(teacher, "id", out->teacher, sizeof out->teacher);
    copy_member(teacher, "client", out->payer, sizeof out->payer);
    copy_member(privacy, "unit", out->unit, sizeof out->unit);
    out->privacy = read_stated_amount(privacy);
    out->epsilon_lower = json_member_number(privacy, "epsilon_lower");
    out->order = json_member_number(privacy, "order");
    out->limit = read_stated_amount(json_object_get(exposure, "limit"));
    out->greatest = read_stated_amount(json_object_get(exposure, "greatest_limit"));
    out->uncovered = json_is_false(json_object_get(certificate, "dataset_covered"));
}

static void read_facts(const json_t *certificate, struct certificate_facts *out)
{
    static const char *const formats[] = {"json", "safetensors", "onnx"};
    static const char *const subjects[] = {"teacher", "q_release", "policy"};
    const json_t *binds = json_object_get(certificate, "binds");
    const json_t *files = json_object_get(binds, "files");
    copy_member(certificate, "id", out->id, sizeof out->id);
    copy_member(certificate, "software_version", out->software, sizeof out->software);
    for (int i = 0; i < 3 && out->subject[0] == '\0'; i++)
        copy_member(certificate, subjects[i], out->subject, sizeof out->subject);
    copy_member(certificate, "erased_at", out->erased_at, sizeof out->erased_at);
    copy_member(certificate, "expert", out->expert, sizeof out->expert);
    copy_member(certificate, "client", out->client, sizeof out->client);
    read_figures(certificate, &out->figures);
    copy_member(binds, "weights_sha256", out->weights_sha256, sizeof out->weights_sha256);
    for (int i = 0; i < 3; i++)
        copy_member(files, formats[i], out->files_sha256[i], sizeof out->files_sha256[i]);
}

/* Checks that the entry which the certificate names is in the log of whoever has KEYS. The key that
 * signed the certificate may be newer than the log that it proves. */
static const char *check_log_proof(const json_t *certificate, const struct proof_keys *keys,
                                   struct certificate_facts *facts)
{
    const json_t *proof = json_object_get(json_object_get(certificate, "ledger"), "proof");
    struct ledger_leaf leaf = {.sequence = facts->entries};
    unsigned char hash[MERKLE_HASH_SIZE];
    struct tlog_text text;
    if (!proof || json_is_null(proof))
        return NULL;
    if (facts->entries < 1 || !json_is_string(proof) ||
        !tlog_proof_read(json_string_value(proof), json_string_length(proof), &text))
        return "its proof that the log has its entry cannot be read";
    const char *why = proof_checkpoint_read(text.note, text.note_size, keys, &facts->log);
    if (why)
        return why;
    memcpy(leaf.account, facts->account, ID_SIZE);
    memcpy(leaf.head, facts->head, LEDGER_HASH_SIZE);
    ledger_leaf_hash(&leaf, hash);
    facts->leaf = text.number;
    facts->proven = merkle_inclusion_holds(hash, (uint64_t)text.number, (uint64_t)facts->log.size,
                                           &text.proof, facts->log.root);
    return facts->proven ? NULL : "its proof that the log has its entry does not hold";
}

static void hex_sha256(const char *bytes, size_t size, char out[65])
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, (const unsigned char *)bytes, size);
    sodium_bin2hex(out, 65, hash, sizeof hash);
}

/* Whether TEXT is JSON as it was signed; of that the digest. */
static bool is_canonical(const json_t *json, const char *text, size_t size, char digest[65])
{
    size_t again_size = 0;
    char *again = json_text_write(json, true, &again_size);
    bool same = again_size == size && memcmp(again, text, size) == 0;
    hex_sha256(again, again_size, digest);
    free(again);
    return same;
}

/* ---- what it says */

static void say_text(struct buffer *out, const char *before, const json_t *text, const char *after)
{
    if (!json_is_string(text))
        return;
    char *said = memory_copy_text(json_string_value(text));
    text_clean(said, '?');
    (void)buffer_add_format(out, "%s%s%s", before, said, after);
    free(said);
}

static void say_number(struct buffer *out, const char *before, const json_t *number)
{
    char text[32];
    if (!json_is_number(number))
        return;
    json_text_number(json_number_value(number), text);
    (void)buffer_add_format(out, "%s%s", before, text);
}

/* Who is protected by how much, and who is not, each in a line and in the certificate's words. */
static void say_guarantee(const json_t *certificate, struct buffer *out)
{
    const json_t *privacy = json_object_get(certificate, "privacy"), *warning;
    const json_t *mechanism = json_object_get(certificate, "mechanism");
    const json_t *exposure = json_object_get(json_object_get(certificate, "ledger"), "exposure");
    const json_t *limit = json_object_get(exposure, "greatest_limit");
    if (json_is_false(json_object_get(certificate, "dataset_covered")))
        limit = NULL; /* a job that nothing covers was accepted: nothing bounds all together */
    size_t i;
    if (!json_is_object(privacy))
        return;
    say_number(out, "guarantees epsilon ", json_object_get(privacy, "epsilon"));
    say_number(out, " and delta ", json_object_get(privacy, "delta"));
    say_text(out, " for the unit \"", json_object_get(privacy, "unit"), "\"");
    if (json_is_object(mechanism))
        mechanism = json_object_get(mechanism, "name");
    say_text(out, ", by the mechanism \"", mechanism, "\"");
    say_text(out, ". ", json_object_get(privacy, "neighbours"), "");
    say_text(out, " An expert is ", json_object_get(certificate, "expert_means"), ".");
    (void)buffer_add_text(out, "\n");
    say_number(out, "with all else that is released of the dataset, at most epsilon ",
               json_object_get(limit, "epsilon"));
    say_number(out, " and delta ", json_object_get(limit, "delta"));
    if (json_is_object(limit))
        (void)buffer_add_text(out, ", by the limits when this was issued\n");
    (void)buffer_add_text(out, "warns:");
    say_text(out, " Not protected: ", json_object_get(certificate, "does_not_protect"), "");
    json_array_foreach(json_object_get(certificate, "warnings"), i, warning)
        say_text(out, " ", warning, "");
    (void)buffer_add_text(out, "\n");
}

static void say_erasure(const json_t *receipt, struct buffer *out)
{
    say_text(out, "erased at ", json_object_get(receipt, "erased_at"), ":");
    say_text(out, " the expert \"", json_object_get(receipt, "expert"), "\" of");
    say_text(out, " the client ", json_object_get(receipt, "client"), " in");
    say_text(out, " the dataset ", json_object_get(receipt, "dataset"), "\n");
    say_text(out, "means: ", json_object_get(receipt, "meaning"), "\n");
}

/* ---- certificates */

/* Checks that TEXT, a certificate or a receipt, is one that a key of KEYS signed; SAYS (NULL: none)
 * receives what it says. */
static const char *check_signed(const char *text, size_t size, const struct proof_keys *keys,
                                struct certificate_facts *out, struct buffer *says)
{
    struct json_fault fault;
    json_t *json = NULL;
    *out = (struct certificate_facts){.entries = 0};
    if (size == 0)
        return "it is empty";
    if (json_text_parse(text, size, &json, &fault) != JSON_TEXT_GOOD || !json_is_object(json)) {
        json_decref(json);
        return "it is not a JSON object";
    }
    out->canonical = is_canonical(json, text, size, out->digest);
    json_t *signature = json_incref(json_object_get(json, "signature"));
    (void)json_object_del(json, "signature");
    const char *why = check_signature(json, signature, keys, &out->signer);
    if (!why)
        why = check_signer(json, keys, out);
    read_facts(json, out);
    const char *no_entry = read_named_entry(json, out);
    if (!why)
        why = no_entry;
    if (!why)
        why = check_log_proof(json, keys, out);
    const char *type = json_string_value(json_object_get(json, "type"));
    out->receipt = out->id[0] == '\0' && type && strcmp(type, "erasure") == 0;
    if (!why && says && out->receipt)
        say_erasure(json, says);
    else if (!why && says)
        say_guarantee(json, says);
    json_decref(signature);
    json_decref(json);
    if (!why && out->id[0] == '\0' && !out->receipt)
        return "it has no id";
    return why;
}

const char *proof_certificate(const char *text, size_t size, const struct proof_keys *keys,
                              struct certificate_facts *out)
{
    const char *why = check_signed(text, size, keys, out, NULL);
    if (!why && out->receipt)
        return "it is the receipt of an erasure, and no certificate";
    return why;
}

const char *proof_receipt(const char *text, size_t size, const struct proof_keys *keys,
                          struct certificate_facts *out)
{
    const char *why = check_signed(text, size, keys, out, NULL);
    return why || out->receipt ? why : "it is no receipt of an erasure";
}

/* Whether BYTES are one of the files whose digests FACTS has. */
static bool is_bound_file(const struct certificate_facts *facts, const char *bytes, size_t size)
{
    char hex[65];
    hex_sha256(bytes, size, hex);
    for (int i = 0; i < 3; i++)
        if (strcmp(facts->files_sha256[i], hex) == 0)
            return true;
    return false;
}

static const char *const NOT_BOUND =
    "these weights are not a file that the certificate was issued for";

static const char *const LAID_OUT_ANEW = "it is a policy that another program has laid out anew, "
                                         "so it is no file that a certificate was "
                                         "issued for: download it again";

/* Whether BYTES, from which no certificate can be cut, is JSON that carries one all the same. */
static bool is_laid_out_anew(const char *bytes, size_t size)
{
    struct json_fault fault;
    json_t *json = NULL;
    bool good = json_text_parse(bytes, size, &json, &fault) == JSON_TEXT_GOOD &&
                json_is_object(json_object_get(json, "certificate"));
    json_decref(json);
    return good;
}

const char *proof_certificate_or_policy(const char *bytes, size_t size,
                                        const struct proof_keys *keys,
                                        struct certificate_facts *out, bool *out_carried,
                                        struct buffer *says)
{
    struct certified_file policy;
    *out_carried = certified_file_cut(bytes, size, &policy);
    if (!*out_carried) {
        const char *wrong = check_signed(bytes, size, keys, out, says);
        return wrong && is_laid_out_anew(bytes, size) ? LAID_OUT_ANEW : wrong;
    }
    const char *why = check_signed(policy.certificate, policy.certificate_size, keys, out, says);
    if (!why && !is_bound_file(out, policy.file, policy.file_size))
        why = NOT_BOUND;
    free(policy.file);
    free(policy.certificate);
    return why;
}

/* Whether POLICY is the network that the certificate of FACTS binds, by the word of its own. */
static const char *check_carried_network(const struct certificate_facts *facts,
                                         const struct certificate_facts *own,
                                         const struct certified_file *policy)
{
    if (!is_bound_file(own, policy->file, policy->file_size))
        return "these weights are not a file that the certificate inside of it was issued for";
    if (strcmp(own->weights_sha256, facts->weights_sha256) != 0)
        return "these weights are not the network that the certificate was issued for";
    return NULL;
}

/* The same as proof_weights, of a file that carries a certificate. */
static const char *check_carrying(const struct certificate_facts *facts,
                                  const struct proof_keys *keys,
                                  const struct certified_file *policy)
{
    struct certificate_facts own;
    const char *why = check_signed(policy->certificate, policy->certificate_size, keys, &own, NULL);
    bool same = own.canonical && strcmp(own.digest, facts->digest) == 0;
    if (is_bound_file(facts, policy->file, policy->file_size))
        return same ? NULL
                    : "the weights are those of the certificate, but the certificate inside of the "
                      "file is another one";
    if (facts->files_sha256[0][0] != '\0')
        return NOT_BOUND;
    return why ? why : check_carried_network(facts, &own, policy);
}

const char *proof_weights(const struct certificate_facts *facts, const struct proof_keys *keys,
                          const char *bytes, size_t size)
{
    struct certified_file carrying;
    if (facts->files_sha256[0][0] == '\0' && facts->weights_sha256[0] == '\0')
        return "the certificate binds no weights";
    if (certified_file_cut(bytes, size, &carrying)) {
        const char *why = check_carrying(facts, keys, &carrying);
        free(carrying.file);
        free(carrying.certificate);
        return why;
    }
    if (is_bound_file(facts, bytes, size))
        return NULL;
    if (is_laid_out_anew(bytes, size))
        return LAID_OUT_ANEW;
    if (facts->files_sha256[0][0] == '\0')
        return "the certificate binds a network and no file of it, so the file has to carry the "
               "policy's own certificate, as a download does";
    return NOT_BOUND;
}
