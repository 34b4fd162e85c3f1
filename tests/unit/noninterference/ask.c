/* A question as one of the callers, what is written down of the answer, and the same question again
 * under its key. */
#include <criterion/criterion.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "api/match.h"
#include "tests/unit/noninterference/play.h"

static const char *const caller_names[CALLERS] = {[CALLER_NOBODY] = "nobody",
                                                  [CALLER_STRANGER] = "stranger",
                                                  [CALLER_CONTRIBUTOR] = "contributor",
                                                  [CALLER_BEARER] = "bearer",
                                                  [CALLER_STUDENT] = "student",
                                                  [CALLER_AGENT] = "agent",
                                                  [CALLER_AUDITOR] = "auditor",
                                                  [CALLER_ADMIN] = "admin",
                                                  [CALLER_OWNER] = "owner"};

const char *play_token(struct play *p, int caller)
{
    switch (caller) {
    case CALLER_NOBODY: return NULL;
    case CALLER_STRANGER: return p->stranger;
    case CALLER_BEARER: return p->bearer;
    case CALLER_OWNER: return fixture_token(p->f, "steward");
    default: return fixture_token(p->f, caller_names[caller]);
    }
}

/* Counts a good answer; whether the service keeps it. */
static bool count_answer(struct play *p, const char *method, const char *pattern, int status)
{
    unsigned count, at = 0;
    const struct route *routes = route_all(&count);
    while (at < count &&
           (strcmp(routes[at].method, method) != 0 || strcmp(routes[at].pattern, pattern) != 0))
        at++;
    cr_assert_lt(at, count, "%s %s is no route", method, pattern);
    bool good = status >= 200 && status < 300;
    p->answered[at] += good;
    return good && strcmp(method, "POST") == 0 && route_writes(&routes[at]);
}

/* The events that are due. */
static void drain_events(struct play *p, struct response *r)
{
    struct api_events *events = &r->reply.events;
    char *text;
    while (events->next &&
           events->next(events->context, fixture_app(p->f), fixture_db(p->f), &text) && text) {
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
            json_t *json = json_loads(strncmp(line, "data: ", 6) == 0 ? line + 6 : "", 0, NULL);
            if (json)
                transcript_json(p->t, "event", json);
            else
                transcript_text(p->t, "event", line);
            json_decref(json);
        }
        free(text);
    }
}

static void digest_body(const struct response *r, unsigned char out[16])
{
    crypto_generichash(out, 16, (const unsigned char *)r->body, r->size, NULL, 0);
}

static char *copy_text(const char *text)
{
    char *copy = text ? strdup(text) : NULL;
    cr_assert(copy || !text);
    return copy;
}

static void keep_call(struct play *p, const struct ask *ask, int caller, const char *pattern,
                      const struct response *r)
{
    if (p->kept_count == p->kept_room) {
        p->kept_room = p->kept_room * 2 + 256;
        p->kept = realloc(p->kept, p->kept_room * sizeof *p->kept);
        cr_assert(p->kept != NULL);
    }
    struct kept_call *call = &p->kept[p->kept_count++];
    *call = (struct kept_call){.pattern = pattern,
                               .caller = caller,
                               .status = r->status,
                               .path = copy_text(ask->path),
                               .body = copy_text(ask->body),
                               .type = copy_text(ask->content_type)};
    snprintf(call->key, sizeof call->key, "%s", ask->key);
    digest_body(r, call->digest);
}

static void write_reply(struct play *p, const struct response *r)
{
    transcript_number(p->t, "status", r->status);
    transcript_text(p->t, "type", r->content_type);
    for (unsigned i = 0; i < r->reply.header_count; i++)
        transcript_text(p->t, domain_path("header %s", r->reply.headers[i].name),
                        r->reply.headers[i].value);
    if (r->json) {
        size_t size = transcript_size(r->body, r->size) - transcript_json(p->t, "", r->json);
        transcript_number(p->t, "size", (double)size);
    } else {
        unsigned char digest[16];
        char hex[2 * sizeof digest + 1];
        digest_body(r, digest);
        transcript_number(p->t, "size", (double)r->size);
        transcript_text(p->t, "digest", sodium_bin2hex(hex, sizeof hex, digest, sizeof digest));
    }
}

struct response *play_ask(struct play *p, int caller, const char *method, const char *pattern,
                          const char *path, const char *body, const char *type)
{
    char key[32], request[160];
    fixture_advance(1);
    snprintf(key, sizeof key, "play-%u", ++p->keys);
    snprintf(request, sizeof request, "%s %s", method, pattern);
    const struct ask ask = {.method = method,
                            .path = path,
                            .token = play_token(p, caller),
                            .key = strcmp(method, "POST") == 0 ? key : NULL,
                            .body = body,
                            .content_type = type,
                            .headers = {{strcmp(method, "PATCH") == 0 ? "If-Match" : NULL, "*"}}};
    struct response *r = fixture_ask(p->f, &ask);
    transcript_block(p->t, request, caller_names[caller], path);
    write_reply(p, r);
    drain_events(p, r);
    if (count_answer(p, method, pattern, r->status))
        keep_call(p, &ask, caller, pattern, r);
    return r;
}

void play_forget(struct play *p, size_t from)
{
    while (p->kept_count > from) {
        struct kept_call *call = &p->kept[--p->kept_count];
        free(call->path);
        free(call->body);
        free(call->type);
    }
}

void play_repeat(struct play *p)
{
    play_scene(p);
    for (size_t i = 0; i < p->kept_count; i++) {
        struct kept_call *call = &p->kept[i];
        unsigned char digest[16];
        struct response *r = fixture_ask(p->f, &(struct ask){.method = "POST",
                                                             .path = call->path,
                                                             .token = play_token(p, call->caller),
                                                             .key = call->key,
                                                             .body = call->body,
                                                             .content_type = call->type});
        digest_body(r, digest);
        bool same = r->status == call->status && memcmp(digest, call->digest, sizeof digest) == 0;
        bool token = strncmp(call->pattern, "/v1/clients", 11) == 0; /* is not kept */
        cr_expect(same || token || r->status >= 400, "%s: another answer under the same key: %s",
                  call->path, r->body);
        transcript_block(p->t, domain_path("POST %s", call->pattern), caller_names[call->caller],
                         domain_path("%s again", call->path));
        write_reply(p, r);
        p->repeated += same;
        fixture_forget(p->f);
    }
    play_forget(p, 0);
}
