/* Serving stored certificates. */
#include "api/call/certificates.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/project.h"
#include "storage/certificate_text.h"
#include "storage/policies.h"

enum problem certificate_reply(struct call *call, const char *id, char *text)
{
    /* The text of a certificate never changes, so its id is its tag. */
    const char *known = call_request_header(call, "If-None-Match");
    call_header(call, "ETag", "\"%s\"", id);
    call_cache_day(call);
    if (known && (strcmp(known, "*") == 0 || strstr(known, id))) {
        free(text);
        return call_reply_empty(call, 304);
    }
    return call_reply_bytes(call, 200, "application/json", text, strlen(text));
}

/* Whether CALL may see FOUND, whose POLICY was read: a certificate of something released is for
 * everyone with a token, a teacher's for those who may see the teacher. */
static enum db_status certificate_admits(struct call *call, enum db_status status,
                                         const struct certificate_any *found, bool released)
{
    if (found->kind == CERTIFICATE_RELEASE || released)
        return project_publishes(call, status, found->owner);
    unsigned others = found->kind == CERTIFICATE_TEACHER ? ROLE_STUDENT : 0;
    if (!call_is(call, ROLE_AUDITOR | ROLE_STEWARD | others) && status == DB_OK)
        status = DB_NONE;
    return project_shows(call, status, found->owner);
}

enum problem api_certificates_get(struct call *call)
{
    struct certificate_any found;
    struct policy_row policy = {0};
    enum db_status status = certificate_any_find(call->db, call_parameter(call, "id"), &found);
    if (status == DB_OK || status == DB_NONE) { /* a hidden one takes no other statements */
        enum db_status read = policies_find(call->db, found.policy, &policy);
        if (read != DB_NONE || found.policy[0] != '\0')
            status = db_owed(read);
    }
    status = certificate_admits(call, status, &found, policy.released);
    if (status == DB_OK)
        return certificate_reply(call, found.id, found.text);
    free(found.text);
    if (status != DB_NONE)
        return call_db(call, status);
    return call_problem(call, PROBLEM_NOT_FOUND, "There is no such certificate.");
}
