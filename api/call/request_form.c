/* The form of a request, before anybody looks at what it means. */
#include "api/call/request_form.h"

#include <string.h>
#include <strings.h>

#include "api/call/fields.h"
#include "api/call/uri.h"
#include "api/json/json_text.h"

enum problem request_check_query(struct call *call)
{
    const char *query = call->request->query;
    if (*query == '\0')
        return PROBLEM_NONE;
    const char *name = NULL;
    switch (uri_query_check(query, call->route->query, &call->arena, &name)) {
    case URI_QUERY_GOOD:
        return PROBLEM_NONE;
    case URI_QUERY_MALFORMED:
        return call_problem(call, PROBLEM_BAD_REQUEST, "The query has a broken escape.");
    case URI_QUERY_TWICE:
        return call_invalid_query(call, name, "is given twice");
    case URI_QUERY_UNKNOWN:
        break;
    }
    if (call->route->query[0] == '\0')
        return call_invalid_query(call, name, "is not known: this endpoint takes no parameters");
    return call_invalid_query(call, name, "is not known; this endpoint takes: %s",
                              call->route->query);
}

/* application/json, with parameters of which charset may only be UTF-8. */
static bool is_json_type(const char *type)
{
    static const char json[] = "application/json";
    if (!type || strncasecmp(type, json, sizeof json - 1) != 0)
        return false;
    const char *rest = type + sizeof json - 1;
    rest += strspn(rest, " \t");
    if (*rest != ';' && *rest != '\0')
        return false;
    const char *charset = strcasestr(rest, "charset=");
    return !charset || strncasecmp(charset + 8, "utf-8", 5) == 0 ||
           strncasecmp(charset + 8, "\"utf-8\"", 7) == 0;
}

static enum problem parse_body(struct call *call)
{
    struct json_fault fault;
    const struct api_request *request = call->request;
    enum json_text_status status =
        json_text_parse((const char *)request->body, request->body_size, &call->body, &fault);
    if (status == JSON_TEXT_GOOD)
        return PROBLEM_NONE;
    if (status == JSON_TEXT_INVALID)
        return call_invalid(call, fault.pointer, "%s", fault.detail);
    if (status == JSON_TEXT_TOO_LARGE)
        return call_problem(call, PROBLEM_BODY_TOO_LARGE, "%s", fault.detail);
    return call_problem(call, PROBLEM_NOT_JSON, "%s", fault.detail);
}

enum problem request_read_body(struct call *call)
{
    const struct api_request *request = call->request;
    if (call->route->body == BODY_STREAM ||
        (call->route->body == BODY_NONE && request->body_size == 0))
        return PROBLEM_NONE;
    const char *encoding = call_request_header(call, "Content-Encoding");
    if (encoding && strcasecmp(encoding, "identity") != 0) {
        return call_problem(call, PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                            "This endpoint takes no Content-Encoding; uploads do.");
    }
    if (request->body_size > 0 && !is_json_type(call_request_header(call, "Content-Type"))) {
        return call_problem(call, PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                            "The body must be sent as Content-Type: application/json.");
    }
    enum problem problem = parse_body(call);
    if (problem == PROBLEM_NONE && call->route->body == BODY_NONE &&
        !fields_read(call, call->body, "", NULL, 0))
        return PROBLEM_VALIDATION;
    return problem;
}
