/* The published contract against the router's own table, in both directions: every row is described
 * and nothing else is; roles, required keys and query parameters are those of the row. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "api/api.h"
#include "api/call/route.h"
#include "api/embedded.h"
#include "api/match.h"
#include "api/wire/problem.h"

static yaml_document_t document;

static void load(void)
{
    struct embedded_file file = embedded_file("/openapi.yaml");
    yaml_parser_t parser;
    cr_assert(yaml_parser_initialize(&parser));
    yaml_parser_set_input_string(&parser, (const unsigned char *)file.bytes, file.size);
    cr_assert(yaml_parser_load(&parser, &document), "line %zu: %s", parser.problem_mark.line + 1,
              parser.problem);
    yaml_parser_delete(&parser);
}

static void unload(void)
{
    yaml_document_delete(&document);
}

TestSuite(openapi, .init = load, .fini = unload);

static const char *text(const yaml_node_t *node)
{
    return node != NULL && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value
                                                          : "";
}

/* Pair INDEX of a mapping: its name, and its value in *out; NULL past the end. */
static const char *pair(const yaml_node_t *mapping, size_t index, yaml_node_t **out)
{
    if (mapping == NULL || mapping->type != YAML_MAPPING_NODE)
        return NULL;
    yaml_node_pair_t *at = mapping->data.mapping.pairs.start + index;
    if (at >= mapping->data.mapping.pairs.top)
        return NULL;
    *out = yaml_document_get_node(&document, at->value);
    return text(yaml_document_get_node(&document, at->key));
}

static yaml_node_t *member(const yaml_node_t *mapping, const char *name)
{
    yaml_node_t *value;
    const char *at;
    for (size_t i = 0; (at = pair(mapping, i, &value)) != NULL; i++)
        if (strcmp(at, name) == 0)
            return value;
    return NULL;
}

/* Element INDEX of a sequence, NULL past the end. */
static yaml_node_t *element(const yaml_node_t *sequence, size_t index)
{
    if (sequence == NULL || sequence->type != YAML_SEQUENCE_NODE)
        return NULL;
    yaml_node_item_t *at = sequence->data.sequence.items.start + index;
    return at < sequence->data.sequence.items.top ? yaml_document_get_node(&document, *at) : NULL;
}

static yaml_node_t *paths(void)
{
    return member(yaml_document_get_root_node(&document), "paths");
}

/* The operation of a row; NULL when it is not described. */
static yaml_node_t *operation(const struct route *route)
{
    static const char *const names[][2] = {
        {"GET", "get"}, {"POST", "post"}, {"PUT", "put"}, {"PATCH", "patch"}, {"DELETE", "delete"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i][0], route->method) == 0)
            return member(member(paths(), route->pattern), names[i][1]);
    return NULL;
}

/* The definition behind {$ref: "#/components/<kind>/<name>"}. */
static yaml_node_t *follow(yaml_node_t *node)
{
    const char *reference = text(member(node, "$ref"));
    char kind[40] = "", name[60] = "";
    if (sscanf(reference, "#/components/%39[^/]/%59s", kind, name) != 2)
        return node;
    yaml_node_t *components = member(yaml_document_get_root_node(&document), "components");
    return member(member(components, kind), name);
}

/* The parameter NAME of an operation that stands IN header, path or query. */
static yaml_node_t *parameter(yaml_node_t *of, const char *in, const char *name)
{
    yaml_node_t *one;
    for (size_t i = 0; (one = element(member(of, "parameters"), i)) != NULL; i++) {
        yaml_node_t *found = follow(one);
        cr_assert(found != NULL, "a parameter refers to nothing");
        if (strcmp(text(member(found, "in")), in) == 0 &&
            strcmp(text(member(found, "name")), name) == 0)
            return found;
    }
    return NULL;
}

Test(openapi, describes_every_route)
{
    unsigned count;
    const struct route *routes = route_all(&count);
    for (unsigned i = 0; i < count; i++)
        cr_expect(operation(&routes[i]) != NULL, "%s %s is not described", routes[i].method,
                  routes[i].pattern);
}

Test(openapi, describes_nothing_else)
{
    unsigned count;
    const struct route *routes = route_all(&count);
    yaml_node_t *path, *of;
    const char *pattern, *method;
    for (size_t p = 0; (pattern = pair(paths(), p, &path)) != NULL; p++) {
        for (size_t m = 0; (method = pair(path, m, &of)) != NULL; m++) {
            bool found = false;
            for (unsigned i = 0; i < count && !found; i++)
                found = operation(&routes[i]) == of;
            cr_expect(found, "%s %s is described but not served", method, pattern);
        }
    }
}

Test(openapi, names_the_roles)
{
    unsigned count;
    const struct route *routes = route_all(&count);
    for (unsigned i = 0; i < count; i++) {
        yaml_node_t *of = operation(&routes[i]), *one;
        unsigned roles = 0;
        for (size_t r = 0; (one = element(member(of, "x-roles"), r)) != NULL; r++) {
            cr_expect(role_find(text(one)) != ROLE_NONE);
            roles |= role_find(text(one));
        }
        cr_expect_eq(roles, routes[i].roles, "%s %s", routes[i].method, routes[i].pattern);
        bool open = member(of, "security") != NULL;
        cr_expect_eq(open, routes[i].roles == ROLE_NONE, "%s", routes[i].pattern);
    }
}

Test(openapi, says_where_a_key_is_needed)
{
    unsigned count;
    const struct route *routes = route_all(&count);
    for (unsigned i = 0; i < count; i++) {
        const struct route *r = &routes[i];
        yaml_node_t *key = parameter(operation(r), "header", "Idempotency-Key");
        bool needed = strcmp(text(member(key, "required")), "true") == 0;
        bool works = route_writes(r) && strcmp(r->method, "DELETE") != 0;
        cr_expect_eq(needed, (r->flags & ROUTE_KEY_REQUIRED) != 0, "%s", r->pattern);
        cr_expect_eq(key != NULL, works, "%s %s", r->method, r->pattern);
        yaml_node_t *responses = member(operation(r), "responses");
        cr_expect(!works || member(responses, "410") != NULL, "%s %s", r->method, r->pattern);
        cr_expect(!works || member(responses, "400") != NULL, "%s %s", r->method, r->pattern);
    }
}

Test(openapi, lists_path_and_query_parameters)
{
    unsigned count;
    const struct route *routes = route_all(&count);
    for (unsigned i = 0; i < count; i++) {
        yaml_node_t *of = operation(&routes[i]), *one;
        char name[64];
        for (const char *c = routes[i].pattern; (c = strchr(c, '{')) != NULL; c++) {
            snprintf(name, sizeof name, "%.*s", (int)strcspn(c + 1, "}"), c + 1);
            cr_expect(parameter(of, "path", name) != NULL, "%s: %s", routes[i].pattern, name);
        }
        unsigned known = 0, described = 0;
        for (const char *c = routes[i].query; *c != '\0'; c += strspn(c, " ")) {
            snprintf(name, sizeof name, "%.*s", (int)strcspn(c, " "), c);
            cr_expect(parameter(of, "query", name) != NULL, "%s: %s", routes[i].pattern, name);
            c += strcspn(c, " ");
            known++;
        }
        for (size_t p = 0; (one = element(member(of, "parameters"), p)) != NULL; p++)
            described += strcmp(text(member(follow(one), "in")), "query") == 0;
        cr_expect_eq(known, described, "%s", routes[i].pattern);
    }
}

Test(openapi, names_only_problems_that_exist)
{
    unsigned count, named = 0;
    const struct route *routes = route_all(&count);
    for (unsigned i = 0; i < count; i++) {
        yaml_node_t *one;
        for (size_t p = 0; (one = element(member(operation(&routes[i]), "x-problems"), p)) != NULL;
             p++) {
            cr_expect(problem_find(text(one)) != PROBLEM_NONE, "%s", text(one));
            named++;
        }
    }
    cr_expect(named > 0);
}

Test(openapi, every_body_is_described)
{
    unsigned count;
    const struct route *routes = route_all(&count);
    for (unsigned i = 0; i < count; i++) {
        yaml_node_t *body = member(operation(&routes[i]), "requestBody");
        cr_expect_eq(body != NULL, routes[i].body != BODY_NONE, "%s %s", routes[i].method,
                     routes[i].pattern);
    }
}

/* Every call may be asked with an unknown parameter, every JSON one with another Accept, and every
 * one that asks for a token may find its client's share of a lane full. */
Test(openapi, every_call_may_be_refused)
{
    unsigned count;
    const struct route *routes = route_all(&count);
    for (unsigned i = 0; i < count; i++) {
        const struct route *r = &routes[i];
        yaml_node_t *responses = member(operation(r), "responses");
        cr_expect(member(responses, "422") != NULL, "%s %s: no 422", r->method, r->pattern);
        cr_expect((r->flags & ROUTE_ANY_ACCEPT) || member(responses, "406") != NULL,
                  "%s %s: no 406", r->method, r->pattern);
        cr_expect(r->roles == ROLE_NONE || member(responses, "429") != NULL, "%s %s: no 429",
                  r->method, r->pattern);
    }
}

/* Whatever takes a body can find it malformed, too large, of another type, or without a meaning. */
Test(openapi, every_body_may_be_refused)
{
    static const char *const refusals[] = {"400", "413", "415", "422"};
    unsigned count;
    const struct route *routes = route_all(&count);
    for (unsigned i = 0; i < count; i++) {
        yaml_node_t *responses = member(operation(&routes[i]), "responses");
        for (size_t r = 0; r < sizeof refusals / sizeof refusals[0]; r++) {
            cr_expect(routes[i].body == BODY_NONE || member(responses, refusals[r]) != NULL,
                      "%s %s: no %s", routes[i].method, routes[i].pattern, refusals[r]);
        }
    }
}
