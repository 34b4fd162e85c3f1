/* Liveness, readiness, metrics. */
#include "api/call/health.h"

#include <stdlib.h>

#include "api/call/app.h"

#define METRICS_BYTES_MAX ((size_t)1024 * 1024)

enum problem api_health_live(struct call *call)
{
    return call_reply_json(call, 200, json_pack("{s:s}", "status", "live"));
}

enum problem health_check_ready(struct call *call)
{
    const struct api_settings *settings = &call->app->settings;
    const char *why_not = "It is not ready.";
    if (settings->ready && !settings->ready(settings->ready_context, &why_not))
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

enum problem api_metrics(struct call *call)
{
    const struct api_settings *settings = &call->app->settings;
    char *text = malloc(METRICS_BYTES_MAX);
    size_t size = 0;
    if (text && settings->metrics) {
        size = settings->metrics(settings->metrics_context, text, METRICS_BYTES_MAX);
        size = size < METRICS_BYTES_MAX ? size : METRICS_BYTES_MAX;
    }
    return call_reply_bytes(call, 200, "text/plain; version=0.0.4; charset=utf-8", text, size);
}
