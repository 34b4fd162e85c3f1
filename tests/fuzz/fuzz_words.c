/* Any bytes as the small languages of a request: the first byte chooses between an escaped text, a
 * query, Accept, a list of origins, Content-Encoding, and a path. */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/call/accept.h"
#include "api/call/arena.h"
#include "api/call/uri.h"
#include "api/data/expert_names.h"
#include "api/json/utf8.h"
#include "api/match.h"
#include "api/wire/inflate.h"
#include "tests/fuzz/fuzz.h"

static void read_query(const char *query, struct arena *arena)
{
    const char *name = NULL;
    enum uri_query_fault fault = uri_query_check(query, "page_size page_token", arena, &name);
    if (fault != URI_QUERY_GOOD)
        return;
    const char *size = uri_query_value(query, "page_size", arena);
    assert(!size || utf8_is_valid(size, strlen(size)));
    assert(!uri_query_value(query, "format", arena));
}

static void read_path(const char *path, struct arena *arena)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "DELETE", "HEAD"};
    char allowed[128];
    route_allowed(path, allowed, sizeof allowed);
    assert(strlen(allowed) < sizeof allowed);
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        struct route_match match;
        route_match(methods[i], path, arena, &match);
        assert(!match.route || strstr(allowed, methods[i]));
    }
}

static void read_accept(const char *accept)
{
    int json = accept_quality(accept, "application", "json");
    assert(json >= 0 && json <= 1000);
    assert(json == 0 || accept_allows_json(accept));
    (void)accept_prefers_html(accept);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    arena_init(&arena);
    uint8_t language = fuzz_byte(&data, &size);
    char *text = fuzz_copy(data, size, true), *decoded;
    switch (language % 7) {
    case 0:
        decoded = uri_decode(text, strlen(text), language >= 128, &arena);
        assert(!decoded || utf8_is_valid(decoded, strlen(decoded)));
        break;
    case 1: read_query(text, &arena); break;
    case 2: read_accept(text); break;
    case 3: (void)cors_allows(text, "https://a.example"); break;
    case 4: (void)inflate_encoding_find(text); break;
    case 5: read_path(text, &arena); break;
    default:
        if (!expert_name_problem(text, strlen(text)))
            assert(utf8_is_valid(text, strlen(text)) && text[0] != '\0');
    }
    free(text);
    arena_clear(&arena);
    return 0;
}
