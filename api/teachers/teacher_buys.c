/* What the rest of an account buys in answers. Each figure is a division of integers, rounded down,
 * so it is never more than what would be paid. */
#include <string.h>

#include "api/teachers/teachers.h"

int64_t price_fits(const struct filter_price *left, const struct filter_price *each)
{
    int64_t count = INT64_MAX;
    if (each->units > 0)
        count = left->units / each->units;
    if (each->delta_units > 0 && left->delta_units / each->delta_units < count)
        count = left->delta_units / each->delta_units;
    return count > 0 ? count : 0;
}

/* Takes off LEFT what the teacher's next answer costs a dataset beside its price. */
static enum db_status take_first(struct db *db, const struct teacher_row *teacher,
                                 struct filter_price *left)
{
    struct filter_price first;
    enum db_status status = teacher_first_price(db, teacher, &first);
    if (status == DB_OK) {
        left->units -= first.units;
        left->delta_units -= first.delta_units;
    }
    return status;
}

enum db_status teacher_buys(struct db *db, const struct ledger_account *account, int64_t *out)
{
    struct teacher_row teacher;
    static const enum teacher_payer payers[] = {[LEDGER_DATASET] = PAYER_DATASET,
                                                [LEDGER_TEACHER] = PAYER_TEACHER,
                                                [LEDGER_CLIENT] = PAYER_CLIENT};
    struct filter_price left = teacher_account_left(account);
    struct teacher_prices prices;
    enum db_status status;
    if (account->kind == LEDGER_DATASET)
        status = teachers_find_newest(db, account->id, &teacher);
    else
        status = teachers_find(db, account->resource, &teacher);
    if (status == DB_OK)
        status = teacher_answer_prices(db, &teacher, &prices);
    if (status == DB_OK && account->kind == LEDGER_DATASET)
        status = take_first(db, &teacher, &left);
    if (status == DB_OK)
        *out = price_fits(&left, &prices.of[payers[account->kind]]);
    return status;
}

static json_t *count_json(int64_t count)
{
    return count < 0 ? json_null() : json_integer((json_int_t)count);
}

json_t *buys_json(int64_t jobs, int64_t answers, int64_t labels)
{
    return json_pack("{s:o, s:o, s:o}", "jobs_like_the_last", count_json(jobs), "answers",
                     count_json(answers), "labels", count_json(labels));
}
