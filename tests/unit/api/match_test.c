/* Paths, queries, methods and media types. */
#include <criterion/criterion.h>
#include <string.h>

#include "api/call/accept.h"
#include "api/call/arena.h"
#include "api/call/route.h"
#include "api/call/uri.h"
#include "api/match.h"
#include "api/wire/problem.h"

TestSuite(match);

/* A GET that answers with a list which has no pages. */
static bool is_whole_list(const struct route *r)
{
    static const char *const all[] = {"/v1/policy-names/{name}", "/v1/policies/{id}/grants",
                                      "/v1/projects/{id}"};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(r->method, "GET") == 0 && strcmp(r->pattern, all[i]) == 0)
            return true;
    return false;
}

Test(match, every_row_is_sound)
{
    unsigned count;
    const struct route *routes = route_all(&count);
    cr_assert(count > 15);
    for (unsigned i = 0; i < count; i++) {
        const struct route *r = &routes[i];
        cr_expect(r->handle != NULL && r->summary[0] != '\0' && r->pattern[0] == '/');
        cr_expect((r->roles & ~(unsigned)(ROLE_ANY | ROLE_MONITOR)) == 0);
        bool private_path = strncmp(r->pattern, "/v1/", 4) == 0 ||
                            strncmp(r->pattern, "/v2/models/", 11) == 0 ||
                            !strcmp(r->pattern, "/metrics");
        cr_expect(private_path == (r->roles != ROLE_NONE), "%s", r->pattern);
        cr_expect(r->lane != API_LANE_INLINE || r->roles == ROLE_NONE, "%s", r->pattern);
        cr_expect((r->body == BODY_STREAM) == (r->lane == API_LANE_STREAM), "%s", r->pattern);
        cr_expect(strcmp(r->method, "GET") != 0 || r->body == BODY_NONE, "%s", r->pattern);
        cr_expect(!(r->flags & ROUTE_KEY_REQUIRED) || route_writes(r), "%s", r->pattern);
        bool long_answer =
            strstr(r->query, "page_size") || strstr(r->pattern, "}/parameters") || is_whole_list(r);
        cr_expect(!long_answer || r->lane == API_LANE_POOL, "%s: a commit waits for it",
                  r->pattern);
        cr_expect(!(r->flags & ROUTE_PAGE) || !strcmp(r->method, "GET"), "%s", r->pattern);
        for (unsigned j = 0; j < i; j++) {
            cr_expect(strcmp(r->method, routes[j].method) || strcmp(r->pattern, routes[j].pattern),
                      "%s is there twice", r->pattern);
        }
    }
}

/* Fills the {names} of a pattern and expects to get the row back. */
Test(match, every_row_is_found_by_its_own_path)
{
    unsigned count;
    const struct route *routes = route_all(&count);
    for (unsigned i = 0; i < count; i++) {
        char path[200] = "";
        size_t size = 0;
        for (const char *c = routes[i].pattern; *c != '\0'; c++) {
            if (*c == '{') {
                memcpy(path + size, "x%2Fy", 5);
                size += 5;
                c = strchr(c, '}');
            } else {
                path[size++] = *c;
            }
        }
        struct arena arena;
        arena_init(&arena);
        struct route_match match;
        route_match(routes[i].method, path, &arena, &match);
        cr_expect(match.route == &routes[i], "%s", path);
        cr_expect(!match.malformed);
        for (unsigned v = 0; v < match.value_count; v++)
            cr_expect_str_eq(match.values[v], "x/y");
        struct route_match again;
        route_match_row(match.route, path, &arena, &again);
        cr_expect(again.route == match.route && again.value_count == match.value_count);
        cr_expect(!again.malformed);
        for (unsigned v = 0; v < match.value_count; v++)
            cr_expect_str_eq(again.values[v], "x/y");
        strcat(path, "/");
        route_match(routes[i].method, path, &arena, &match);
        cr_expect(match.route == NULL || i == 0 || strcmp(routes[i].pattern, "/") == 0, "%s", path);
        arena_clear(&arena);
    }
}

Test(match, head_is_get_and_other_methods_are_told)
{
    struct route_match match;
    route_match("HEAD", "/v1/clients", NULL, &match);
    cr_assert(match.route != NULL);
    cr_expect_str_eq(match.route->method, "GET");
    route_match("PATCH", "/v1/clients", NULL, &match);
    cr_expect(match.route == NULL);
    route_match("get", "/v1/clients", NULL, &match);
    cr_expect(match.route == NULL, "methods are case-sensitive");
    route_match("GET", "/v1/nothing", NULL, &match);
    cr_expect(match.route == NULL);
    char allowed[128];
    route_allowed("/v1/clients", allowed, sizeof allowed);
    cr_expect_str_eq(allowed, "POST, GET, HEAD, OPTIONS");
    route_allowed("/v1/nothing", allowed, sizeof allowed);
    cr_expect_str_eq(allowed, "");
}

Test(match, a_broken_escape_is_no_value)
{
    const char *bad[] = {"/v1/clients/%",   "/v1/clients/%4",  "/v1/clients/%zz",
                         "/v1/clients/%00", "/v1/clients/%ff", "/v1/clients/a%c0%80"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct arena arena;
        arena_init(&arena);
        struct route_match match;
        route_match("DELETE", bad[i], &arena, &match);
        cr_expect(match.malformed, "%s", bad[i]);
        route_match_row(match.route, bad[i], &arena, &match);
        cr_expect(match.malformed, "%s", bad[i]);
        arena_clear(&arena);
    }
}

Test(match, queries_are_decoded_and_checked)
{
    struct arena arena;
    arena_init(&arena);
    const char *name;
    const char *known = "page_size state";
    const struct {
        const char *query;
        enum uri_query_fault fault;
    } cases[] = {{"", URI_QUERY_GOOD},
                 {"page_size=3", URI_QUERY_GOOD},
                 {"state=a%20b&page_size=3", URI_QUERY_GOOD},
                 {"state", URI_QUERY_GOOD},
                 {"&&state=1&", URI_QUERY_GOOD},
                 {"page%5Fsize=3", URI_QUERY_GOOD},
                 {"page_siz=3", URI_QUERY_UNKNOWN},
                 {"page_size=3&page_size=4", URI_QUERY_TWICE},
                 {"state=%", URI_QUERY_MALFORMED},
                 {"state=%00", URI_QUERY_MALFORMED},
                 {"state=%ff", URI_QUERY_MALFORMED},
                 {"=3", URI_QUERY_UNKNOWN}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_expect(uri_query_check(cases[i].query, known, &arena, &name) == cases[i].fault, "%s",
                  cases[i].query);
    }
    cr_expect_str_eq(uri_query_value("x=1&state=a+b%21", "state", &arena), "a b!");
    cr_expect_str_eq(uri_query_value("state", "state", &arena), "");
    cr_expect(uri_query_value("states=1", "state", &arena) == NULL);
    arena_clear(&arena);
}

Test(match, accept_weighs_ranges)
{
    const char *browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    cr_expect(accept_prefers_html(browser));
    cr_expect(accept_prefers_html("text/html"));
    cr_expect(accept_prefers_html("application/json;q=0.5, text/*"));
    cr_expect(!accept_prefers_html(NULL));
    cr_expect(!accept_prefers_html("*/*"));
    cr_expect(!accept_prefers_html("application/json, text/html;q=0.9"));
    cr_expect(!accept_prefers_html("text/html;q=0"));
    cr_expect(accept_allows_json(NULL));
    cr_expect(accept_allows_json(""));
    cr_expect(accept_allows_json("*/*"));
    cr_expect(accept_allows_json("application/*;q=0.1"));
    cr_expect(accept_allows_json("image/png, application/json;q=0.001"));
    cr_expect(!accept_allows_json("image/png"));
    cr_expect(!accept_allows_json("application/json;q=0"));
    cr_expect(!accept_allows_json("application/xml, text/plain"));
    cr_expect_eq(accept_quality("a/b;q=0.5, */*;q=0.2, a/*;q=0.3", "a", "b"), 500);
    cr_expect_eq(accept_quality("a/b;q=0.5, */*;q=0.2, a/*;q=0.3", "a", "c"), 300);
    cr_expect_eq(accept_quality("a/b;q=0.5, */*;q=0.2, a/*;q=0.3", "x", "c"), 200);
    cr_expect(cors_allows("https://a.example, https://b.example", "https://b.example"));
    cr_expect(!cors_allows("https://a.example", "https://a.example.evil"));
    cr_expect(!cors_allows("", "https://a.example"));
    cr_expect(!cors_allows("https://a.example", ""));
}

Test(match, arena_hands_out_aligned_memory)
{
    struct arena arena;
    arena_init(&arena);
    for (size_t size = 1; size < 200000; size = size * 3 + 1) {
        unsigned char *bytes = arena_alloc(&arena, size);
        cr_expect((uintptr_t)bytes % 16 == 0);
        memset(bytes, 0xAB, size);
    }

    cr_expect_str_eq(arena_format(&arena, "%s/%d", "a", 7), "a/7");
    arena_clear(&arena);
}

Test(match, the_table_of_problems_is_complete)
{
    for (int i = PROBLEM_NONE + 1; i < PROBLEM_COUNT; i++) {
        const struct problem_info *info = problem_info((enum problem)i);
        cr_assert(info->slug != NULL, "row %d", i);
        cr_expect(problem_find(info->slug) == (enum problem)i, "%s", info->slug);
        cr_expect(info->status >= 400 && info->status <= 599, "%s", info->slug);
        cr_expect(strlen(info->title) > 5 && strlen(info->explanation) > 20, "%s", info->slug);
        cr_expect(strspn(info->slug, "abcdefghijklmnopqrstuvwxyz-") == strlen(info->slug));
    }
    cr_expect(problem_find("no-such-slug") == PROBLEM_NONE);
}
