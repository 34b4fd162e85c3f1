/* The keys of an export: each is signed by the one before it, the audit trail tells of each, and
 * none signs a certificate whose log says already that another one had followed. */
#include <stdio.h>
#include <string.h>

#include "api/proof/row_text.h"
#include "api/proof/verify_state.h"

/* Reads a line into KEY and LINK. What it says is in its line, at KID and SIGNATURE. */
static bool read_key_line(char *at, unsigned char key[32], struct proof_link *link,
                          const char **kid, const char **signature)
{
    const char *x = NULL, *follows = NULL, *from = NULL;
    bool good = row_text_skip(&at, "{\"key\":{\"kid\":") && (*kid = row_text_string(&at)) &&
                row_text_skip(&at, ",\"x\":") && (x = row_text_string(&at)) &&
                proof_bytes_read(x, key, 32) && row_text_skip(&at, ",\"follows\":") &&
                (follows = row_text_string(&at)) && strlen(follows) < sizeof link->follows &&
                row_text_skip(&at, ",\"from\":") && (from = row_text_string(&at)) &&
                strlen(from) < sizeof link->from && row_text_skip(&at, ",\"signature\":") &&
                (*signature = row_text_string(&at)) && row_text_skip(&at, "}}") && *at == '\0';
    if (!good)
        return false;
    snprintf(link->follows, sizeof link->follows, "%s", follows);
    snprintf(link->from, sizeof link->from, "%s", from);
    return true;
}

bool verify_key_line(struct verify *verify, char *line)
{
    struct proof_keys *keys = &verify->key;
    struct proof_link link = {.follows = ""};
    const char *kid = NULL, *signature = NULL;
    unsigned char key[32];
    char id[SIGNING_ID_SIZE];
    if (keys->count == SIGNING_KEYS_MOST || !read_key_line(line, key, &link, &kid, &signature))
        return false;
    signing_key_id(key, id);
    if (strcmp(kid, id) != 0)
        verify_fault(verify, "", 0, "the key's id is not that of the key");
    bool first = keys->count == 0;
    bool leads = first ? link.follows[0] == '\0' && link.from[0] == '\0' && signature[0] == '\0'
                       : proof_bytes_read(signature, link.signature, sizeof link.signature) &&
                             proof_key_follows(keys->key[keys->count - 1], key, &link);
    if (!leads)
        verify_fault(verify, "", 0, "the key before it has not signed that this one follows");
    memcpy(keys->key[keys->count++], key, sizeof key);
    return true;
}

void verify_keys_read(struct verify *verify)
{
    struct proof_keys *keys = &verify->key;
    verify->reads_keys = false;
    if (keys->count > 1 && memcmp(keys->key[keys->count - 1], verify->signer, 32) == 0)
        return;
    verify_fault(verify, "", 0, "its keys do not lead to the one that signs it");
    memcpy(keys->key[keys->count > 0 ? keys->count - 1 : keys->count++], verify->signer, 32);
}

void verify_keys_trusted(struct verify *verify, const struct proof_keys *trusted)
{
    const struct proof_keys *keys = &verify->key;
    struct verify_report *report = verify->report;
    const char *from;
    for (unsigned i = 0; i < keys->count; i++)
        report->trusted = report->trusted || proof_keys_have(trusted, keys->key[i]);
    report->follows = report->trusted && !proof_keys_have(trusted, verify->signer);
    for (unsigned i = 0; i + 1 < keys->count; i++) {
        unsigned next = proof_keys_next(trusted, keys->key[i]);
        if (next < trusted->count && memcmp(trusted->key[next], keys->key[i + 1], 32) != 0)
            verify_fault(verify, "", 0,
                         "it names another successor of a trusted key than the trusted set does");
    }
    if (proof_key_is_late(trusted, verify->signer, report->time_ms, &from))
        verify_fault(verify, "", 0, "another key had followed the one that signs it");
    snprintf(report->followed, sizeof report->followed, "%s", from);
}

void verify_rotation(struct verify *verify, const struct trail_row *row)
{
    size_t next = verify->rotations.count + 1;
    char id[SIGNING_ID_SIZE] = "";
    verify->trail.rotated =
        strcmp(row->actor, "operator") == 0 && strcmp(row->action, SIGNING_ROTATED) == 0;
    if (!verify->trail.rotated)
        return;
    if (next < verify->key.count)
        signing_key_id(verify->key.key[next], id);
    if (id[0] == '\0' || strcmp(row->resource, id) != 0)
        verify_fault(verify, TRAIL_ACCOUNT, row->number,
                     "it tells of another signing key than the export");
}

void verify_rotation_leaf(struct verify *verify, int64_t number)
{
    if (verify->trail.rotated)
        *(int64_t *)verify_list_add(&verify->rotations, sizeof number) = number;
}

void verify_rotations_end(struct verify *verify)
{
    const struct stated *stated = verify->stated.items;
    const int64_t *leaves = verify->rotations.items;
    if (verify->rotations.count + 1 != verify->key.count)
        verify_fault(verify, "", 0, "the audit trail does not tell of each signing key");
    for (size_t i = 0; i < verify->stated.count; i++)
        if (stated[i].signer < verify->rotations.count &&
            stated[i].leaves > leaves[stated[i].signer])
            verify_fault(verify, stated[i].id, 0,
                         "it is signed with a key that had already been replaced");
}
