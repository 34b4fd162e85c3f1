/* Static bytes and the few pages that are made of our own tables. All have a strong ETag, the hash
 * of their bytes, so that a browser asks once and gets 304 from then on. */
#include "api/pages.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/accept.h"
#include "api/call/app.h"
#include "api/call/certificate.h"
#include "api/embedded.h"
#include "api/json/json_text.h"
#include "api/match.h"

#define PAGE_POLICY                                                                                \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/* True when the If-None-Match list holds ETAG or is "*". */
static bool is_known(const char *list, const char *etag)
{
    return list && (strcmp(list, "*") == 0 || strstr(list, etag));
}

/* Adds ETag and Cache-Control for SIZE bytes; true when the caller has them already. */
static bool add_tag(struct call *call, const char *bytes, size_t size)
{
    unsigned char hash[16];
    char hex[2 * sizeof hash + 1], etag[2 * sizeof hash + 3];
    crypto_generichash(hash, sizeof hash, (const unsigned char *)bytes, size, NULL, 0);
    sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
    snprintf(etag, sizeof etag, "\"%s\"", hex);
    call_header(call, "ETag", "%s", etag);
    call_header(call, "Cache-Control", "no-cache"); /* keep it, but ask whether it is still so */
    return is_known(call_request_header(call, "If-None-Match"), etag);
}

static enum problem reply_embedded(struct call *call, enum embedded which)
{
    struct embedded_file file = embedded_file(which);
    if (which == EMBEDDED_HOME) {
        call_header(call, "Content-Security-Policy", PAGE_POLICY);
        call_header(call, "Vary", "Accept");
    }
    if (add_tag(call, file.bytes, file.size))
        return call_reply_empty(call, 304);
    return call_reply_static(call, 200, file.content_type, file.bytes, file.size);
}

enum problem api_page_home(struct call *call)
{
    return reply_embedded(call, EMBEDDED_HOME);
}

enum problem api_page_script(struct call *call)
{
    return reply_embedded(call, EMBEDDED_SCRIPT);
}

enum problem api_page_style(struct call *call)
{
    return reply_embedded(call, EMBEDDED_STYLE);
}

enum problem api_page_openapi(struct call *call)
{
    return reply_embedded(call, EMBEDDED_OPENAPI);
}

/* A page that is made here: BODY is malloc'ed and taken. */
static enum problem reply_html(struct call *call, char *body, size_t size)
{
    if (!body)
        return PROBLEM_INTERNAL_ERROR;
    call_header(call, "Content-Security-Policy", PAGE_POLICY);
    call_header(call, "Vary", "Accept");
    if (add_tag(call, body, size)) {
        free(body);
        return call_reply_empty(call, 304);
    }
    return call_reply_bytes(call, 200, "text/html; charset=utf-8", body, size);
}

/* Opens a page of OUT; our tables hold no markup, so their texts need no escapes but & and <. */
static void begin_page(FILE *out, const char *title)
{
    fprintf(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
        "<meta name=\"color-scheme\" content=\"light dark\"><title>%s - Tacet</title>"
        "<link rel=\"icon\" href=\"data:,\"><link rel=\"stylesheet\" href=\"/status.css\">"
        "</head>\n<body><header class=\"top\"><a class=\"mark\" href=\"/\"><span class=\"rest\">"
        "</span>Tacet</a><nav><a href=\"/v1/jobs\">Jobs</a>"
        "<a href=\"/v1/ledger/accounts\">Budgets</a><a href=\"/docs\">Endpoints</a>"
        "<a href=\"/problems\">Problems</a></nav></header>\n<main><h1>%s</h1>\n",
        title, title);
}

static void put_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++)
        if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '&')
            fputs("&amp;", out);
        else
            fputc(*text, out);
}

static void put_roles(FILE *out, const struct route *route)
{
    if (route->roles == ROLE_NONE || route->roles == ROLE_ANY) {
        fputs(route->roles == ROLE_NONE ? "public" : "any", out);
        return;
    }
    const char *comma = "";
    for (unsigned role = 1; role <= ROLE_AUDITOR; role *= 2) {
        if (route->roles & role) {
            fprintf(out, "%s%s", comma, role_name((enum role)role));
            comma = ", ";
        }
    }
}

/* Ends the stream and gives the page to the call; a short memory gives NULL. */
static enum problem end_page(struct call *call, FILE *out, char **body, size_t *size)
{
    fputs("</main></body></html>\n", out);
    bool good = ferror(out) == 0;
    if (fclose(out) != 0 || !good) {
        free(*body);
        return PROBLEM_INTERNAL_ERROR;
    }
    return reply_html(call, *body, *size);
}

enum problem api_page_docs(struct call *call)
{
    char *body = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&body, &size);
    if (!out)
        return PROBLEM_INTERNAL_ERROR;
    unsigned count;
    const struct route *routes = route_all(&count);
    begin_page(out, "Endpoints");
    fputs(
        "<p>The contract with every member and example is <a href=\"/openapi.yaml\">openapi.yaml"
        "</a> (OpenAPI 3.1). Send <code>Authorization: Bearer tct_...</code>. Calls that can spend"
        " need an <code>Idempotency-Key</code>.</p>\n<div class=\"card scroll\"><table><thead><tr>"
        "<th>Method</th><th>Path</th><th>Who</th><th>What</th></tr></thead><tbody>\n",
        out);
    for (unsigned i = 0; i < count; i++) {
        fprintf(out, "<tr><td>%s</td><td class=\"mono\">%s</td><td class=\"soft\">",
                routes[i].method, routes[i].pattern);
        put_roles(out, &routes[i]);
        fputs("</td><td>", out);
        put_text(out, routes[i].summary);
        fputs(routes[i].flags & ROUTE_KEY_REQUIRED
                  ? " <span class=\"soft\">Needs an Idempotency-Key.</span></td></tr>\n"
                  : "</td></tr>\n",
              out);
    }
    fputs("</tbody></table></div>\n", out);
    return end_page(call, out, &body, &size);
}

static json_t *problem_json(enum problem problem)
{
    const struct problem_info *info = problem_info(problem);
    return json_pack("{s:o, s:s, s:i, s:s}", "type", json_sprintf("/problems/%s", info->slug),
                     "title", info->title, "status", info->status, "explanation",
                     info->explanation);
}

static enum problem problems_html(struct call *call)
{
    char *body = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&body, &size);
    if (!out)
        return PROBLEM_INTERNAL_ERROR;
    begin_page(out, "Problems");
    fputs("<div class=\"card scroll\"><table><thead><tr><th>Status</th><th>Type</th><th>What it "
          "means</th></tr></thead><tbody>\n",
          out);
    for (int i = PROBLEM_NONE + 1; i < PROBLEM_COUNT; i++) {
        const struct problem_info *info = problem_info((enum problem)i);
        fprintf(out,
                "<tr><td>%d</td><td class=\"mono\"><a href=\"/problems/%s\">%s</a></td><td>%s</td>"
                "</tr>\n",
                info->status, info->slug, info->slug, info->title);
    }
    fputs("</tbody></table></div>\n", out);
    return end_page(call, out, &body, &size);
}

enum problem api_page_problems(struct call *call)
{
    if (accept_prefers_html(call_request_header(call, "Accept")))
        return problems_html(call);
    json_t *items = json_array();
    for (int i = PROBLEM_NONE + 1; i < PROBLEM_COUNT; i++) {
        if (json_array_append_new(items, problem_json((enum problem)i)) != 0) {
            json_decref(items);
            return PROBLEM_INTERNAL_ERROR;
        }
    }
    call_header(call, "Vary", "Accept");
    return call_reply_json(call, 200, json_pack("{s:o, s:n}", "items", items, "next_page_token"));
}

enum problem api_page_problem(struct call *call)
{
    enum problem problem = problem_find(call_parameter(call, "slug"));
    if (problem == PROBLEM_NONE)
        return call_problem(call, PROBLEM_NOT_FOUND, "There is no problem of that name.");
    if (!accept_prefers_html(call_request_header(call, "Accept"))) {
        call_header(call, "Vary", "Accept");
        return call_reply_json(call, 200, problem_json(problem));
    }
    const struct problem_info *info = problem_info(problem);
    char *body = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&body, &size);
    if (!out)
        return PROBLEM_INTERNAL_ERROR;
    begin_page(out, info->title);
    fprintf(out, "<p class=\"soft mono\">%d /problems/%s</p>\n<p class=\"card\">", info->status,
            info->slug);
    put_text(out, info->explanation);
    fputs("</p>\n<p><a href=\"/problems\">All problems</a></p>\n", out);
    return end_page(call, out, &body, &size);
}

enum problem api_page_signing_keys(struct call *call)
{
    return call_reply_json(call, 200, certificate_keys(call->app));
}
