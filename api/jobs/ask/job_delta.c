/* "delta":"auto": a job's part of the delta that its dataset's account has left takes its place in
 * the body, before anything else is read.
 *
 * DESIGN. More delta is less noise at the same epsilon, so the most that leaves enough is taken:
 * the part of what is left that the job's epsilon is of the epsilon that is left. The rest then
 * pays for jobs of the same kind until both end together, and a job that takes all epsilon takes
 * all delta, so that none is stranded. An account that counts Renyi divergence spends no delta but
 * what is set aside: the job gets the same part of the delta that the account converts with, or
 * less where what is set aside would not last. All of these numbers are public. */
#include <math.h>
#include <string.h>

#include "api/call/budget.h"
#include "api/data/datasets.h"
#include "api/jobs/ask/job_advice.h"
#include "api/json/json_text.h"
#include "storage/ledger/ledger.h"

#define DELTA_MOST     0.5
#define ROUNDING_PARTS 1000 /* of a job's delta, one is for the rounding of exact noise */

static enum problem refuse_auto(struct call *call, const char *why)
{
    return call_invalid(call, "/privacy/delta", "cannot be \"auto\" %s", why);
}

static double delta_basic(const struct ledger_account *account, double epsilon)
{
    int64_t left = account->limit_units - account->spent_units - account->held_units,
            delta = account->limit_delta - account->spent_delta - account->held_delta, wanted;
    if (!ledger_units_up(epsilon, &wanted) || wanted >= left)
        return ledger_delta_value(delta);
    double part = (double)wanted / (double)left;
    return ledger_delta_value((int64_t)floor((double)delta * part * (1 - 1e-15)));
}

static double delta_renyi(const struct ledger_account *account, double epsilon, bool selective)
{
    double aside = ledger_delta_value(account->limit_delta),
           left = ledger_delta_value(account->limit_delta - account->spent_delta -
                                     account->held_delta),
           part = fmin(1, epsilon / budget_remaining_sum(account).epsilon);
    double most = selective ? left : fmin(account->delta - aside, ROUNDING_PARTS * left);
    return most * part;
}

/* Puts DELTA in the place of "auto". */
static void delta_replace(struct call *call, double delta)
{
    json_t *taken = json_copy(call->body);
    json_t *privacy = json_copy(json_object_get(taken, "privacy"));
    json_object_set_new(privacy, "delta", json_number(delta));
    json_object_set_new(taken, "privacy", privacy);
    (void)call_own(call, call->body); /* texts of it are borrowed */
    call->body = taken;
}

/* Finds the account that would pay for a job on dataset ID. */
static enum problem delta_payer(struct call *call, const char *id, struct ledger_account *out)
{
    struct dataset_row row;
    if (!id || strlen(id) >= ID_SIZE)
        return refuse_auto(call, "without a dataset, whose account says how much is left");
    enum problem problem = dataset_of_owner(call, id, &row);
    if (problem == PROBLEM_NOT_FOUND)
        call_invalid(call, "/dataset", "is not known");
    if (problem != PROBLEM_NONE)
        return problem;
    if (row.account[0] == '\0')
        return refuse_auto(call, "on a dataset without a budget");
    return call_db(call, db_owed(ledger_find(call->db, row.account, out)));
}

enum problem job_delta_take(struct call *call)
{
    const json_t *privacy = json_object_get(call->body, "privacy");
    const char *named = json_string_value(json_object_get(privacy, "delta"));
    if (!named || strcmp(named, "auto") != 0)
        return PROBLEM_NONE;
    double epsilon = json_number_value(json_object_get(privacy, "epsilon"));
    if (!(epsilon > 0 && epsilon <= 1e6))
        return call_invalid(call, "/privacy/epsilon", "must be a positive number");
    struct ledger_account account;
    enum problem problem =
        delta_payer(call, json_string_value(json_object_get(call->body, "dataset")), &account);
    if (problem != PROBLEM_NONE)
        return problem;
    const char *mechanism = json_string_value(json_object_get(call->body, "mechanism"));
    bool selective = mechanism && strcmp(mechanism, "selective_dpsgd") == 0;
    double delta = account.renyi_order > 1 ? delta_renyi(&account, epsilon, selective)
                                           : delta_basic(&account, epsilon);
    if (!(delta > 0))
        return call_problem(call, PROBLEM_BUDGET_EXHAUSTED,
                            "Nothing is left of the delta of the account %s. Nothing was charged.",
                            account.id);
    delta_replace(call, fmin(delta, DELTA_MOST));
    return PROBLEM_NONE;
}
