/* Liveness, readiness, metrics. */
#include "api/call/health.h"

#include <stdlib.h>

#include "api/call/app.h"
#include "memory/buffer.h"
#include "memory/memory.h"
#include "storage/census.h"

#define METRICS_BYTES_MAX ((size_t)1024 * 1024)

enum problem api_health_live(struct call *call)
{
    return call_reply_json(call, 200, json_pack("{s:s}", "status", "live"));
}

static bool is_ready(const struct api_settings *settings, const char **why_not)
{
    *why_not = "It is not ready.";
    return !settings->ready || settings->ready(settings->ready_context, why_not);
}

enum problem health_check_ready(struct call *call)
{
    const char *why_not;
    if (!is_ready(&call->app->settings, &why_not))
        return call_problem(call, PROBLEM_NOT_READY, "%s", why_not);
    return PROBLEM_NONE;
}

enum problem api_health_ready(struct call *call)
{
    enum problem problem = health_check_ready(call);
    if (problem != PROBLEM_NONE)
        return problem;
    return call_reply_json(
        call, 200,
        json_pack("{s:s, s:s}", "status", "ready", "version", call->app->settings.version));
}

/* ---- metrics */

static void say_accounts(struct buffer *text, const struct census *census, const char *name,
                         const char *help, double (*value)(const struct census_accounts *))
{
    buffer_add_format(text, "# HELP tacet_%s %s\n# TYPE tacet_%s gauge\n", name, help, name);
    for (int kind = 0; kind < CENSUS_KINDS; kind++)
        buffer_add_format(text, "tacet_%s{kind=\"%s\"} %.9g\n", name,
                          ledger_kind_name((enum ledger_kind)kind), value(&census->accounts[kind]));
}

static double count_of(const struct census_accounts *accounts)
{
    return (double)accounts->count;
}

static double low_of(const struct census_accounts *accounts)
{
    return (double)accounts->low;
}

static double spent_of(const struct census_accounts *accounts)
{
    return accounts->spent;
}

static double held_of(const struct census_accounts *accounts)
{
    return accounts->held;
}

static double remains_of(const struct census_accounts *accounts)
{
    return accounts->limit - accounts->spent - accounts->held;
}

static void say_ready(struct buffer *text, const struct api_settings *settings, bool counted)
{
    const char *ignored;
    buffer_add_format(text,
                      "# HELP tacet_ready Whether /healthz/ready says 200 and the database can be "
                      "read.\n"
                      "# TYPE tacet_ready gauge\ntacet_ready %d\n",
                      counted && is_ready(settings, &ignored));
}

static void say_census(struct buffer *text, const struct census *census)
{
    buffer_add_text(text, "# HELP tacet_jobs Jobs by state.\n# TYPE tacet_jobs gauge\n");
    for (int state = 0; state < JOB_STATES; state++)
        buffer_add_format(text, "tacet_jobs{state=\"%s\"} %lld\n",
                          job_state_name((enum job_state)state), (long long)census->jobs[state]);
    say_accounts(text, census, "accounts", "Accounts of the ledger.", count_of);
    say_accounts(text, census, "accounts_low", "Accounts with less than a tenth left.", low_of);
    say_accounts(text, census, "epsilon_spent", "Sum of what is spent.", spent_of);
    say_accounts(text, census, "epsilon_held", "Sum of what is held for jobs and shares.", held_of);
    say_accounts(text, census, "epsilon_left", "Sum of what is left.", remains_of);
    buffer_add_format(text,
                      "# HELP tacet_budget_requests_open Requests for more budget that wait.\n"
                      "# TYPE tacet_budget_requests_open gauge\ntacet_budget_requests_open %lld\n",
                      (long long)census->requests);
}

enum db_status health_metrics_text(struct app *app, struct db *db, char **out, size_t *out_size)
{
    struct census census;
    struct buffer text = {.lid = 2 * METRICS_BYTES_MAX};
    const struct api_settings *settings = &app->settings;
    enum db_status status = census_take(db, &census);
    char *own = memory_bytes(METRICS_BYTES_MAX);
    size_t size = 0;
    if (settings->metrics)
        size = settings->metrics(settings->metrics_context, own, METRICS_BYTES_MAX);
    buffer_add(&text, own, size);
    free(own);
    say_ready(&text, settings, status == DB_OK);
    if (status == DB_OK)
        say_census(&text, &census);
    *out = buffer_take(&text, out_size);
    return *out ? status : DB_MEMORY;
}

enum problem api_metrics(struct call *call)
{
    size_t size = 0;
    char *text = NULL;
    enum db_status status = health_metrics_text(call->app, call->db, &text, &size);
    if (status != DB_OK) {
        free(text);
        return call_db(call, status);
    }
    return call_reply_bytes(call, 200, "text/plain; version=0.0.4; charset=utf-8", text, size);
}
