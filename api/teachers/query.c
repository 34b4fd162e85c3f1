/* A question's way to its answer.
 *
 * DESIGN. The order of a charged call: check, debit, draw, store, reply. Debit and stored answer
 * are one transaction that call_serve.c wraps around this handler; the noise is drawn in memory
 * between them and is gone when the transaction fails. A batch of states is one debit: whole or
 * refused. Tens of thousands of these run in a second, so the teacher comes from the shelf and
 * nothing is computed twice. */
#include "api/teachers/query.h"

#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "api/call/app.h"
#include "api/call/budget.h"
#include "api/call/fields.h"
#include "api/teachers/queries.h"
#include "api/teachers/query_pay.h"
#include "api/teachers/query_prepare.h"
#include "api/teachers/teachers.h"
#include "memory/shelf.h"
#include "storage/datasets.h"
#include "storage/policies.h"

/* ---- the teacher */

static void query_give_back(void *context)
{
    struct query *query = context;
    teacher_shelf_return(query->call->app, query->teacher);
}

/* Finds the teacher, which is open: closing takes it off the shelf within its transaction, and only
 * an open one is put there (teacher_end.c). Another server has a shelf of its own, so where there
 * may be one, the database is asked. */
static enum problem find_teacher(struct query *query)
{
    struct call *call = query->call;
    const char *id = call_parameter(call, "id");
    struct teacher_row row;
    enum problem problem;
    query->teacher = teacher_shelf_at_hand(call->app, id);
    if (query->teacher)
        problem = teacher_admit(call, DB_OK, &query->teacher->row);
    else
        problem = teacher_of_call(call, &row);
    if (problem == PROBLEM_NONE && (!query->teacher || db_is_shared(call->db)))
        problem = teacher_check_open(call, id);         /* before its networks are read */
    if (query->teacher && problem == PROBLEM_NOT_FOUND) /* takes as long as what is missing */
        (void)teachers_find(call->db, id, &row);
    enum db_status status = DB_OK;
    if (problem == PROBLEM_NONE && !query->teacher)
        status = teacher_shelf_borrow(call->app, call->db, id, &query->teacher);
    if (query->teacher)
        call_defer(call, query_give_back, query);
    return problem == PROBLEM_NONE ? call_db(call, status) : problem;
}

/* Whether what the teacher learned from private data is still there. Another server's erasure wiped
 * nothing on this one's shelf. */
static enum db_status query_has_learned(const struct query *query, bool *out)
{
    struct db *db = query->call->db;
    *out = query->teacher->ensemble || query->teacher->policy;
    if (!*out || !db_is_shared(db))
        return DB_OK;
    return policies_have_bytes(db, query->teacher->row.policy, out);
}

/* Refuses where the policy was trained on a dataset that is deleted, or data of which were erased:
 * the policy is erased then. Notes who pays for the dataset, which may have changed since the
 * teacher was put on the shelf. */
static enum problem query_check_dataset(struct query *query)
{
    struct call *call = query->call;
    const struct shelved_teacher *t = query->teacher;
    struct dataset_row dataset;
    if (t->dataset[0] == '\0')
        return PROBLEM_NONE;
    bool learned = false;
    enum db_status status = datasets_find(call->db, t->dataset, &dataset);
    if (status == DB_OK)
        status = query_has_learned(query, &learned);
    if (status != DB_OK)
        return call_db(call, status);
    if (dataset.state == DATASET_DELETED || !learned) {
        shelf_drop(call->app->teachers, t->dataset);
        return call_problem(
            call, PROBLEM_TEACHER_SILENT,
            "Its dataset was deleted, or data of it were erased, and with them what "
            "the teacher had learned: it answers no more. Nothing was charged.");
    }
    if (t->ensemble)
        memcpy(query->dataset_account, dataset.account, ID_SIZE);
    return PROBLEM_NONE;
}

enum problem query_start(struct call *call, struct query **out)
{
    struct query *query = arena_array(&call->arena, 1, sizeof *query);
    query->call = call;
    *out = query;
    enum problem problem = find_teacher(query);
    if (problem != PROBLEM_NONE)
        return problem;
    return query_check_dataset(query);
}

/* ---- the request */

bool query_read_states(struct query *query, const json_t *states)
{
    struct call *call = query->call;
    uint32_t limit = call->app->settings.max_states_per_query;
    uint32_t most = states_limit(call->app, query->teacher->work);
    if (most < limit && json_array_size(states) > most) {
        call_invalid(call, "/states", "must be at most %u states for a network of %zu parameters",
                     most, query->teacher->work);
        return false;
    }
    query->count = states_read(call, states, query->teacher->state_dim, most, &query->states);
    return query->count > 0;
}

/* Sets QUERY at the end of the vanishing schedule: a free uniform answer, or a refusal. */
static enum problem set_floor(struct query *query)
{
    struct call *call = query->call;
    if (strcmp(query->teacher->row.at_floor, "uniform") != 0) {
        return call_problem(call, PROBLEM_TEACHER_SILENT,
                            "The vanishing schedule has ended in this roll-out, and the teacher "
                            "was made with \"at_floor\":\"refuse\". Nothing was charged.");
    }
    if (query->wished_concentration > 0) {
        return call_invalid(
            call, "/concentration",
            "cannot be chosen any more: the vanishing schedule has ended, and answers are uniform");
    }
    query->concentration = 0;
    query->cost = (struct teacher_prices){0};
    return PROBLEM_NONE;
}

enum problem query_admit(struct query *query)
{
    enum problem problem =
        teacher_standing_of_call(query->call, &query->teacher->row, &query->standing);
    if (problem != PROBLEM_NONE)
        return problem;
    return query_set_price(query);
}

/* Computes the cost of all states for each payer, or says that it is too large to be counted. */
static enum problem query_count_price(struct query *query)
{
    struct call *call = query->call;
    const struct shelved_teacher *t = query->teacher;
    struct ledger_account account;
    double order[TEACHER_PAYERS];
    bool counted;
    memcpy(order, t->order, sizeof order);
    if (query_has_new_payer(query)) {
        enum db_status status = ledger_find(call->db, query->dataset_account, &account);
        if (status != DB_OK)
            return call_db(call, db_owed(status));
        order[PAYER_DATASET] = account.renyi_order;
    }
    if (query->concentration == t->row.concentration && !query_has_new_payer(query))
        counted = teacher_prices_times(&t->price, query->count, &query->cost);
    else
        counted = teacher_prices_at(&t->teacher, &t->row, order, query->concentration, query->count,
                                    &query->cost);
    if (!counted)
        return call_invalid(call, "", "has a price that is too large to be counted");
    return PROBLEM_NONE;
}

enum problem query_set_price(struct query *query)
{
    struct call *call = query->call;
    const struct shelved_teacher *t = query->teacher;
    double most = rollout_concentration(&t->row, query->standing.rollout, &query->floor),
           least = rollout_least(&t->row);
    double wished = query->wished_concentration;
    if (query->floor)
        return set_floor(query);
    if (wished > 0 && most == 0)
        return call_invalid(call, "/concentration", "is not a setting of \"%s\"", t->row.mechanism);
    if (wished > most)
        return call_invalid(call, "/concentration", "must be at most %g, the teacher's now", most);
    if (wished > 0 && wished < least) {
        return call_invalid(call, "/concentration",
                            "must be at least %g: a smaller one would cost as much and say less",
                            least);
    }
    query->concentration = most;
    if (wished > 0)
        query->concentration = wished;
    return query_count_price(query);
}

/* ---- drawing */

/* Names the query with bytes of the noise's generator, which costs no system call. False: the
 * system gives no randomness. */
static bool query_name(struct query *query)
{
    struct teacher_noise *lender = query->call->app->noise;
    unsigned char bits[ID_RANDOM];
    struct noise_source *noise = teacher_noise_take(lender);
    if (noise)
        noise_bytes(noise, bits, sizeof bits);
    teacher_noise_give(lender);
    if (noise)
        id_from("qry_", bits, query->id);
    return noise;
}

/* Fills P with the uniform distribution, which reads neither policy nor states. */
static bool fill_uniform(const struct query *query, double *p)
{
    uint32_t actions = query->teacher->teacher.actions;
    for (uint32_t i = 0; i < query->count; i++)
        answer_error_uniform(actions, p + (size_t)i * actions);
    return true;
}

/* Writes into P the distributions that the answers will be noisy versions of. */
static bool look_up(const struct query *query, double *p)
{
    const double *prepared = query_prepared(query);
    if (query->random)
        return fill_uniform(query, p);
    if (!prepared)
        return teacher_shelf_distributions(query->teacher, query->states, query->count, p);
    memcpy(p, prepared, (size_t)query->count * query->teacher->teacher.actions * sizeof *p);
    return true;
}

static bool query_draw(struct query *query, double *answers)
{
    struct teacher_noise *lender = query->call->app->noise;
    const struct shelved_teacher *t = query->teacher;
    uint32_t actions = t->teacher.actions;
    size_t size = (size_t)query->count * actions * sizeof(double);
    double *p = arena_alloc(&query->call->arena, size);
    bool good = look_up(query, p);
    struct noise_source *noise = teacher_noise_take(lender);
    for (uint32_t i = 0; noise && good && i < query->count; i++) {
        size_t at = (size_t)i * actions;
        good = teacher_answer_about(&t->teacher, query->concentration, noise, p + at, answers + at);
    }
    teacher_noise_give(lender);
    sodium_memzero(p, size);
    return noise && good;
}

static enum problem query_undrawn(const struct query *query)
{
    return call_problem(query->call, PROBLEM_INTERNAL_ERROR,
                        "No answer could be drawn. Nothing was charged.");
}

static enum problem answer_at_floor(struct query *query, double *answers)
{
    fill_uniform(query, answers);
    enum db_status status =
        teachers_client_account(query->call->db, &query->standing, &query->account);
    return call_db(query->call, status);
}

static enum problem pay_and_draw(struct query *query, double *answers)
{
    enum problem problem = query_check_cost(query);
    if (problem != PROBLEM_NONE || (problem = query_pay(query)) != PROBLEM_NONE)
        return problem;
    if (query_draw(query, answers))
        return PROBLEM_NONE;
    return query_undrawn(query);
}

/* Sets the members of OUT that describe the noise. */
static void set_noise(const struct query *query, struct query_answer *out)
{
    const struct shelved_teacher *t = query->teacher;
    out->concentration = query->concentration;
    out->sigma = t->row.sigma;
    if (query->floor || query->random) {
        out->error_radius = M_SQRT2; /* two distributions are never farther apart */
    } else if (query->concentration == t->row.concentration) {
        out->error_radius = t->error_radius;
    } else {
        out->error_radius =
            teacher_error_radius(&t->teacher, query->concentration, TEACHER_RADIUS_BETA);
    }
}

/* True when a state has a number so large that no neighbour differs in it. Neighbours give the same
 * result, so the answer may tell it. */
static bool is_unresolved(const struct query *query)
{
    const struct shelved_teacher *t = query->teacher;
    double most = teacher_resolved_up_to(t->row.radius);
    bool found = false;
    for (size_t i = 0; i < (size_t)query->count * t->state_dim; i++)
        found = found || most == 0 || fabsf(query->states[i]) > most;
    return found && t->row.shards == 0;
}

enum problem query_settle(struct query *query, struct query_answer *out)
{
    struct call *call = query->call;
    const struct shelved_teacher *t = query->teacher;
    uint32_t actions = t->teacher.actions;
    double *answers = arena_array(&call->arena, (size_t)query->count * actions, sizeof *answers);
    enum problem problem;
    if (!query_name(query))
        problem = query_undrawn(query);
    else if (query->floor)
        problem = answer_at_floor(query, answers);
    else
        problem = pay_and_draw(query, answers);
    if (problem != PROBLEM_NONE)
        return problem;
    *out = (struct query_answer){.id = query->id,
                                 .probabilities = answers,
                                 .actions = actions,
                                 .count = query->count,
                                 .batch = query->batch,
                                 .floor = query->floor,
                                 .random = query->random,
                                 .expert = t->row.shards > 0,
                                 .unresolved = is_unresolved(query),
                                 .account = &query->account,
                                 .cost = query->cost.of[PAYER_CLIENT],
                                 .paid = query->paid};
    set_noise(query, out);
    return PROBLEM_NONE;
}
