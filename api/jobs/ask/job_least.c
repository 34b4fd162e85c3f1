/* The least epsilon for a plan that does not fit. All that is looked at is public: it is planned as
 * the request was, with larger epsilons. */
#include <math.h>

#include "api/call/budget.h"
#include "api/jobs/ask/job_request.h"
#include "api/jobs/ask/job_sweep.h"
#include "api/json/json_text.h"

#define DOUBLINGS 8 /* of the epsilon that was asked for */
#define HALVINGS  6 /* of the last doubling, in logarithms: to 1.1 % */

/* True when WISH can be planned with EPSILON. Its work is that of the request, which ends. */
static bool plans_with(const struct job_wish *wish, double epsilon)
{
    struct algorithm_request request = wish->plan.request;
    struct algorithm_plan plan = {.total_steps = 0};
    const char *message = NULL;
    request.epsilon = epsilon;
    return wish->plan.algorithm->plan(&request, &plan, &message) == ALGORITHM_OK;
}

/* X rounded up to four digits. */
static double round_epsilon(double x)
{
    if (!(x > 0))
        return 0;
    double scale = pow(10, 3 - floor(log10(x)));
    return ceil(x * scale) / scale;
}

double job_least_epsilon(const struct job_wish *wish)
{
    const struct algorithm_request *request = &wish->plan.request;
    double low = request->epsilon, high = low;
    if (request->mechanism == MECHANISM_NONE || !(low > 0))
        return 0;
    if (wish->plan.try_count > 0)
        return round_epsilon(job_sweep_least(&wish->plan));
    for (int i = 0; i < DOUBLINGS; i++) {
        high = 2 * low;
        if (plans_with(wish, high))
            break;
        low = high;
    }
    if (low == high)
        return 0;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = sqrt(low * high);
        if (plans_with(wish, middle))
            high = middle;
        else
            low = middle;
    }
    double rounded = round_epsilon(high);
    return plans_with(wish, rounded) ? rounded : 0;
}

json_t *job_least_json(const struct job_wish *wish)
{
    if (!(wish->least_epsilon > 0))
        return json_null();
    return budget_amount(wish->least_epsilon, wish->plan.request.delta);
}
