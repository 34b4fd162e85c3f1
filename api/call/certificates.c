/* Serving stored certificates. */
#include "api/call/certificates.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/project.h"
#include "storage/policies.h"
#include "storage/q_releases.h"
#include "storage/teachers.h"

enum problem certificate_reply(struct call *call, const char *id, char *text)
{
    /* The text of a certificate never changes, so its id is its tag. */
    const char *known = call_request_header(call, "If-None-Match");
    call_header(call, "ETag", "\"%s\"", id);
    call_header(call, "Cache-Control", "private, max-age=86400");
    if (known && (strcmp(known, "*") == 0 || strstr(known, id))) {
        free(text);
        return call_reply_empty(call, 304);
    }
    return call_reply_bytes(call, 200, "application/json", text, strlen(text));
}

/* Answers with the certificate ID, whose TEXT it takes, when the caller MAY see it. */
static enum problem certificate_show(struct call *call, enum db_status status, bool may,
                                     const char *id, char *text)
{
    if (status == DB_OK && may)
        return certificate_reply(call, id, text);
    free(text);
    if (status != DB_OK && status != DB_NONE)
        return call_db(call, status);
    return call_problem(call, PROBLEM_NOT_FOUND, "There is no such certificate.");
}

/* Shows a teacher's certificate to callers who may see the teacher, and to auditors. */
static enum problem teacher_certificate_of_id(struct call *call, const char *wanted)
{
    char id[ID_SIZE] = "", owner[ID_SIZE] = "", *text = NULL;
    enum db_status status = teachers_certificate(call->db, wanted, id, owner, &text);
    bool may = call_is(call, ROLE_AUDITOR | ROLE_STUDENT | ROLE_STEWARD) && strcmp(id, wanted) == 0;
    return certificate_show(call, project_shows(call, status, owner), may, id, text);
}

/* Shows the certificate of a released Q-function to everyone, because it is public. */
static enum problem release_certificate(struct call *call, const char *wanted)
{
    char id[ID_SIZE] = "", owner[ID_SIZE], *text = NULL;
    enum db_status status = q_releases_certificate(call->db, wanted, id, owner, &text);
    if (status == DB_NONE || (status == DB_OK && strcmp(id, wanted) != 0)) {
        free(text);
        return teacher_certificate_of_id(call, wanted);
    }
    return certificate_show(call, project_publishes(call, status, owner), true, id, text);
}

enum problem api_certificates_get(struct call *call)
{
    const char *wanted = call_parameter(call, "id");
    struct certificate_row certificate = {.text = NULL};
    struct policy_row policy = {0};
    enum db_status status = certificates_find(call->db, wanted, &certificate);
    if (status == DB_NONE)
        return release_certificate(call, wanted);
    if (status == DB_OK)
        status = policies_find(call->db, certificate.policy, &policy);
    bool may = call_is(call, ROLE_AUDITOR) || policy.released || call_owns(call, certificate.owner);
    status = project_publishes(call, status, certificate.owner);
    return certificate_show(call, status, may, certificate.id, certificate.text);
}
