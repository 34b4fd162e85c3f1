/* Any bytes as a tree of events. What is read is written and read as the same tree, and flattens
 * within the accountants' bounds. */
#include <stdlib.h>
#include <string.h>

#include "algos/privacy/accounting/event.h"
#include "api/json/json_text.h"
#include "api/wire/event_json.h"
#include "api/wire/event_text.h"
#include "tests/fuzz/fuzz.h"

static char *write_event(const struct event *event, size_t *out_size)
{
    json_t *json = event_json(event);
    assert(json);
    char *text = json_text_write(json, false, out_size);
    json_decref(json);
    return text;
}

static void check_event(const struct event *event)
{
    size_t size, again_size;
    char fault[EVENT_TEXT_FAULT_SIZE];
    struct event back;
    char *text = write_event(event, &size);
    bool good = event_text_read(text, size, &back, fault);
    assert(good);
    char *again = write_event(&back, &again_size);
    assert(size == again_size && memcmp(text, again, size) == 0);
    event_clear(&back);
    free(again);
    free(text);
}

static void check_plan(const struct event *event)
{
    struct composition plan = {0};
    const char *problem = NULL;
    enum event_status status = event_flatten(event, &plan, &problem);
    assert((status == EVENT_OK) == !problem);
    if (status == EVENT_OK)
        assert(plan.count > 0);
    composition_clear(&plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct event event;
    char fault[EVENT_TEXT_FAULT_SIZE] = "", *text = fuzz_copy(data, size, false);
    bool good = event_text_read(text, size, &event, fault);
    free(text);
    assert(good == (fault[0] == '\0') && strlen(fault) < sizeof fault);
    if (good) {
        check_event(&event);
        check_plan(&event);
    }
    event_clear(&event);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    return fuzz_mutate_json(data, size, max_size, seed, 0);
}
