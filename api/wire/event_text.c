/* Parses event trees from JSON bytes, for rooms that may not use jansson. */
#include "api/wire/event_text.h"

#include <stdio.h>

#include "api/json/json_text.h"
#include "api/wire/event_json.h"

/* Keeps the first fault. */
static void first_fault(void *context, const char *pointer, const char *detail)
{
    char *text = context;
    if (text[0] == '\0')
        snprintf(text, EVENT_TEXT_FAULT_SIZE, "%s %s", pointer[0] == '\0' ? "it" : pointer, detail);
}

bool event_text_read(const char *bytes, size_t size, struct event *out,
                     char fault[EVENT_TEXT_FAULT_SIZE])
{
    json_t *json = NULL;
    struct json_fault wrong;
    fault[0] = '\0';
    *out = (struct event){0};
    if (json_text_parse(bytes, size, &json, &wrong) != JSON_TEXT_GOOD) {
        snprintf(fault, EVENT_TEXT_FAULT_SIZE, "%s%s%s", wrong.pointer,
                 wrong.pointer[0] == '\0' ? "" : ": ", wrong.detail);
        return false;
    }
    const struct event_json_faults faults = {first_fault, fault};
    bool good = event_json_read(json, "", &faults, out);
    json_decref(json);
    return good;
}
