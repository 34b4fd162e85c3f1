/* One question to a teacher, whatever the form in which it came: who asks whom, what it costs, and
 * the one way in which it is paid and answered. */
#ifndef TACET_API_TEACHERS_QUERY_H
#define TACET_API_TEACHERS_QUERY_H

#include "api/call/call.h"
#include "api/teachers/query_reply.h"
#include "api/teachers/teacher_shelf.h"
#include "storage/ledger/ledger.h"

struct query {
    struct call *call;
    const struct shelved_teacher *teacher; /* borrowed from the shelf */
    struct teacher_client_row standing;
    bool batch; /* several states were sent as such */
    uint32_t count;
    float *states;               /* count x the policy's input */
    double wished_concentration; /* 0: not sent */
    double max_epsilon;          /* 0: not sent */
    double concentration;        /* 0 where the mechanism has none */
    bool floor; /* the schedule is at its end: the answer looks at nothing and costs nothing */
    struct filter_price cost; /* of all states together */
    char id[ID_SIZE];         /* query_settle gives it, and the client's account */
    struct ledger_account account;
};

/* Makes a query in the call's arena and borrows the teacher that {id} names, until the call ends.
 */
enum problem query_start(struct call *call, struct query **out);

/* The most states that one query of this teacher may hold. */
uint32_t query_states_limit(const struct app *app, const struct shelved_teacher *teacher);

/* The same of the query's own teacher. */
uint32_t query_states_max(const struct query *query);

/* Reads a batch that stands at "/states". False: the faults are in the call. */
bool query_read_states(struct query *query, const json_t *states);

/* Sets the concentration and the cost of COUNT answers, from what was wished and STANDING. */
enum problem query_set_price(struct query *query);

/* Debits all accounts, then draws the answers. Comes after query_set_price, inside the call's
 * transaction. *out points into the query and the call's arena. */
enum problem query_settle(struct query *query, struct query_answer *out);

#endif
