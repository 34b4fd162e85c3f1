/* Static bytes and the few pages that are made of our own tables. All have a strong ETag, the hash
 * of their bytes, so that a browser asks once and gets 304 from then on. */
#include "api/pages.h"

#include <assert.h>
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
#include "memory/buffer.h"

#define PAGE_BYTES_MAX ((size_t)1024 * 1024)

#define PAGE_POLICY                                                                                \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/* The ETag of BYTES: their hash. */
static void page_tag(const char *bytes, size_t size, char out[PAGE_TAG_SIZE])
{
    unsigned char hash[16];
    char hex[2 * sizeof hash + 1];
    crypto_generichash(hash, sizeof hash, (const unsigned char *)bytes, size, NULL, 0);
    sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
    snprintf(out, PAGE_TAG_SIZE, "\"%s\"", hex);
}

void pages_tag_files(char out[PAGE_FILES][PAGE_TAG_SIZE])
{
    static_assert(PAGE_FILES == EMBEDDED_FILES, "every file has its tag");
    for (unsigned i = 0; i < EMBEDDED_FILES; i++) {
        struct embedded_file file = embedded_at(i);
        page_tag(file.bytes, file.size, out[i]);
    }
}

/* True when the If-None-Match list holds ETAG or is "*". */
static bool is_known(const char *list, const char *etag)
{
    return list && (strcmp(list, "*") == 0 || strstr(list, etag));
}

/* Adds the headers of bytes with that ETAG, and those of a page when HTML; true when the caller
 * already has the bytes. */
static bool add_headers(struct call *call, bool html, const char *etag)
{
    if (html) {
        call_header(call, "Content-Security-Policy", PAGE_POLICY);
        call_header(call, "Vary", "Accept");
    }
    call_header(call, "ETag", "%s", etag);
    call_header(call, "Cache-Control", "no-cache"); /* keep it, but ask whether it is still so */
    return is_known(call_request_header(call, "If-None-Match"), etag);
}

enum problem api_page_file(struct call *call)
{
    struct embedded_file file = embedded_file(call->route->pattern);
    if (add_headers(call, file.is_home, call->app->page_tags[file.index]))
        return call_reply_empty(call, 304);
    return call_reply_static(call, file.content_type, file.bytes, file.size);
}

/* Opens a page of OUT; our tables hold no markup, so their texts need no escapes but & and <. */
static void begin_page(struct buffer *out, const char *title)
{
    out->lid = PAGE_BYTES_MAX;
    buffer_add_format(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
        "<meta name=\"color-scheme\" content=\"light dark\"><title>%s - Tacet</title>"
        "<link rel=\"icon\" href=\"data:,\"><link rel=\"stylesheet\" href=\"/status.css\">"
        "</head>\n<body><header class=\"top\"><a class=\"mark\" href=\"/\"><span class=\"rest\">"
        "</span>Tacet</a><nav><a href=\"/v1/jobs\">Jobs</a>"
        "<a href=\"/v1/ledger/accounts\">Budgets</a><a href=\"/v1/teachers\">Teachers</a>"
        "<a href=\"/v1/budget-requests\">Requests</a><a href=\"/docs\">Endpoints</a>"
        "<a href=\"/problems\">Problems</a></nav></header>\n<main><h1>%s</h1>\n",
        title, title);
}

static void put_text(struct buffer *out, const char *text)
{
    for (; *text != '\0'; text++)
        if (*text == '<')
            buffer_add_text(out, "&lt;");
        else if (*text == '&')
            buffer_add_text(out, "&amp;");
        else
            buffer_add(out, text, 1);
}

/* Ends the page and gives it to the call. */
static enum problem end_page(struct call *call, struct buffer *out)
{
    size_t size;
    buffer_add_text(out, "</main></body></html>\n");
    char *body = buffer_take(out, &size);
    char etag[PAGE_TAG_SIZE];
    page_tag(body ? body : "", body ? size : 0, etag);
    if (body && add_headers(call, true, etag)) {
        free(body);
        return call_reply_empty(call, 304);
    }
    return call_reply_bytes(call, 200, "text/html; charset=utf-8", body, size);
}

enum problem api_page_missing(struct call *call)
{
    struct buffer out = {0};
    size_t size;
    begin_page(&out, "There is nothing here");
    buffer_add_text(&out, "<p>No page and no endpoint has this address. <a href=\"/\">The status "
                          "page</a> shows what the service is doing, <a href=\"/docs\">the list of "
                          "endpoints</a> what it can be asked.</p></main></body></html>\n");
    char *body = buffer_take(&out, &size);
    call_header(call, "Content-Security-Policy", PAGE_POLICY);
    call_header(call, "Vary", "Accept");
    return call_reply_bytes(call, 200, "text/html; charset=utf-8", body, body ? size : 0);
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
    struct buffer out = {0};
    begin_page(&out, "Problems");
    buffer_add_text(&out, "<div class=\"card scroll\"><table><thead><tr><th>Status</th>"
                          "<th>Type</th><th>What it means</th></tr></thead><tbody>\n");
    for (int i = PROBLEM_NONE + 1; i < PROBLEM_COUNT; i++) {
        const struct problem_info *info = problem_info((enum problem)i);
        buffer_add_format(&out,
                          "<tr><td>%d</td><td class=\"mono\"><a href=\"/problems/%s\">%s</a></td>"
                          "<td>%s</td></tr>\n",
                          info->status, info->slug, info->slug, info->title);
    }
    buffer_add_text(&out, "</tbody></table></div>\n");
    return end_page(call, &out);
}

enum problem api_page_problems(struct call *call)
{
    if (accept_prefers_html(call_request_header(call, "Accept")))
        return problems_html(call);
    json_t *items = json_array();
    for (int i = PROBLEM_NONE + 1; i < PROBLEM_COUNT; i++)
        json_array_append_new(items, problem_json((enum problem)i));
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
    struct buffer out = {0};
    begin_page(&out, info->title);
    buffer_add_format(&out, "<p class=\"soft mono\">%d /problems/%s</p>\n<p class=\"card\">",
                      info->status, info->slug);
    put_text(&out, info->explanation);
    buffer_add_text(&out, "</p>\n<p><a href=\"/problems\">All problems</a></p>\n");
    return end_page(call, &out);
}

enum problem api_page_signing_keys(struct call *call)
{
    json_t *keys = NULL;
    enum db_status status = certificate_keys(call->app, call->db, &keys);
    return status == DB_OK ? call_reply_json(call, 200, keys) : call_db(call, status);
}
