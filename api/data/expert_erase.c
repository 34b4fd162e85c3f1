/* DELETE /v1/datasets/{id}/experts/{expert}. A contributor erases its own experts, a steward those
 * of every client. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/data/datasets.h"
#include "api/data/erasure.h"
#include "api/json/text.h"

#define NAMED_MOST 8 /* clients that a refusal lists */

struct named {
    struct expert_row expert;
    unsigned count;
    char clients[NAMED_MOST * (ID_SIZE + 2)];
};

static bool note_named(void *context, const struct expert_row *expert)
{
    struct named *named = context;
    if (named->count == 0)
        named->expert = *expert;
    text_list_add(named->clients, sizeof named->clients, ", ", expert->owner);
    return ++named->count < NAMED_MOST;
}

static enum problem no_expert(struct call *call)
{
    return call_problem(call, PROBLEM_NOT_FOUND, "There is no such expert.");
}

/* Replies with the receipt of an expert of CLIENT (NULL: any) that was erased before. */
static enum problem erased_before(struct call *call, const char *dataset, const char *client,
                                  const char *name)
{
    char mark[ERASURE_MARK_SIZE];
    struct expert_row erased;
    erasure_mark(call->app, dataset, name, mark);
    enum db_status status = datasets_find_erased(call->db, dataset, client, mark, &erased);
    if (status == DB_NONE)
        return no_expert(call);
    if (status != DB_OK)
        return call_db(call, status);
    return erasure_reply(call, dataset, name, erased.owner,
                         strtoll(erased.name + strlen(mark), NULL, 10));
}

enum problem api_experts_erase(struct call *call)
{
    struct dataset_row dataset;
    struct named named = {.count = 0};
    enum problem problem = dataset_of_call(call, &dataset);
    if (problem != PROBLEM_NONE)
        return problem;
    const char *name = call_parameter(call, "expert"), *client = call_query(call, "client");
    if (name[0] == '~')
        return no_expert(call);
    if (!call_is(call, ROLE_STEWARD)) {
        if (client && strcmp(client, call->caller.id) != 0)
            return no_expert(call);
        client = call->caller.id;
    }
    enum db_status status =
        datasets_experts_named(call->db, dataset.id, client, name, note_named, &named);
    if (status != DB_OK)
        return call_db(call, status);
    if (named.count == 0)
        return erased_before(call, dataset.id, client, name);
    if (named.count > 1)
        return call_problem(call, PROBLEM_CONFLICT,
                            "Several clients have an expert of this name: add ?client=ID with the "
                            "client whose expert is to be erased: %s.",
                            named.clients);
    status = erasure_expert(call->app, call->db, dataset.id, &named.expert, call->now_ms);
    if (status != DB_OK)
        return call_db(call, status);
    dataset_silence(call, dataset.id);
    return erasure_reply(call, dataset.id, name, named.expert.owner, call->now_ms);
}
