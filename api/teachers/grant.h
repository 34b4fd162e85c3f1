/* A limit for a client of a teacher, as its steward gives it: granted outright, by the teacher's
 * default, or because the client asked for it. */
#ifndef TACET_API_TEACHERS_GRANT_H
#define TACET_API_TEACHERS_GRANT_H

#include "algos/privacy/answers/filter.h"
#include "api/call/call.h"
#include "api/teachers/share.h"
#include "storage/ledger/ledger.h"
#include "storage/teachers.h"

#define GRANT_EPSILON_MAX 1e6

struct grant {
    double epsilon, delta;
    struct teacher_guarantee guaranteed; /* zeros: nothing, or what the client has stays */
    struct filter limits;                /* in the teacher's units: grant_check */
    struct share_size size;              /* of what is guaranteed: grant_check */
    const char *event;                   /* of the ledger's entry: grant_event */
};

/* Checks the grant's epsilon and delta at TEACHER and sets its limits. False: the faults are in the
 * call, at "/epsilon" or "/delta", and the least that would do beside them. */
bool grant_check(struct call *call, const struct teacher_row *teacher, struct grant *grant);

/* The event of a ledger entry, with the REASON for the limit and the REQUEST that asked for it
 * (NULL: none). The hashes of the entries cover both. In the call's arena. */
const char *grant_event(struct call *call, const char *reason, const char *request);

/* Sets what TEACHER guarantees to clients under its default budget. */
enum db_status grant_default(struct call *call, const struct teacher_row *teacher,
                             struct grant *grant);

/* Opens the account of CLIENT, which has none, and its standing, and sets aside what is guaranteed.
 * Problems: a common account cannot set so much aside. */
enum problem grant_open(struct call *call, const struct teacher_row *teacher, const char *client,
                        const struct grant *grant, struct ledger_account *out);

/* Changes the limit of STANDING at TEACHER, up or down, and what is guaranteed where GRANT says so.
 */
enum problem grant_change(struct call *call, const struct teacher_row *teacher,
                          struct teacher_client_row *standing, const struct grant *grant,
                          struct ledger_account *out);

/* Finds the client ID that may have a budget at a teacher: a student or a steward who is not
 * revoked. Another one is not found. */
enum problem grant_find_client(struct call *call, const char *id);

#endif
