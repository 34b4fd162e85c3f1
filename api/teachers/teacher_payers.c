/* The payers' orders and prices. */
#include "api/teachers/teacher_payers.h"

#include "storage/ledger/ledger_restore.h"

enum db_status teacher_orders_find(struct db *db, const struct teacher_row *row,
                                   double out[TEACHER_PAYERS])
{
    struct ledger_account account;
    for (int i = 0; i < TEACHER_PAYERS; i++)
        out[i] = row->renyi_order;
    enum db_status status = ledger_find(db, row->account, &account);
    if (status != DB_OK)
        return status;
    out[PAYER_TEACHER] = account.renyi_order;
    if (row->dataset_account[0] == '\0')
        return DB_OK;
    status = ledger_find(db, row->dataset_account, &account);
    if (status == DB_OK && account.renyi_order > 1)
        out[PAYER_DATASET] = account.renyi_order;
    return status;
}

enum db_status teacher_first_price(struct db *db, const struct teacher_row *row,
                                   struct filter_price *out)
{
    struct ledger_account cap;
    int64_t burnt = 0, burnt_delta = 0;
    *out = (struct filter_price){0, 0};
    if (row->first_units == 0)
        return DB_OK;
    enum db_status status = db_owed(ledger_find(db, row->account, &cap));
    if (status == DB_OK && cap.spent_units > 0)
        status = ledger_burnt(db, row->account, &burnt, &burnt_delta);
    if (status == DB_OK && cap.spent_units <= burnt)
        *out = (struct filter_price){row->first_units, row->first_delta};
    return status;
}

bool teacher_prices_at(const struct teacher *teacher, const struct teacher_row *row,
                       const double order[TEACHER_PAYERS], double concentration, int64_t count,
                       struct teacher_prices *out)
{
    struct teacher_prices one;
    for (int i = 0; i < TEACHER_PAYERS; i++) {
        if (teacher_price(teacher, concentration, order[i], row->delta_share, &one.of[i]))
            continue;
        if (i != PAYER_DATASET)
            return false;
        one.of[i] = (struct filter_price){LEDGER_UNITS_MAX, 0}; /* which no account can pay */
    }
    return teacher_prices_times(&one, count, out);
}

bool teacher_prices_times(const struct teacher_prices *prices, int64_t count,
                          struct teacher_prices *out)
{
    for (int i = 0; i < TEACHER_PAYERS; i++) {
        const struct filter_price *one = &prices->of[i];
        out->of[i] = *one;
        if (i == PAYER_DATASET && one->units == LEDGER_UNITS_MAX)
            continue; /* a dataset that cannot pay for one answer pays for no number of them */
        if (!ledger_units_times(one->units, count, &out->of[i].units) ||
            !ledger_units_times(one->delta_units, count, &out->of[i].delta_units))
            return false;
    }
    return true;
}
