/* Any bytes as a file of recorded episodes. What is read belongs to its world and replays. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/wire/replay_file.h"
#include "api/wire/replay_json.h"
#include "tests/fuzz/fuzz.h"

#define CASES_MOST 8
#define STEPS_MOST 40 /* the lunar lander takes a millisecond for a few */

static void check_case(const struct replay_world *world, const struct replay_case *recorded)
{
    assert(recorded->length > 0);
    for (size_t t = 0; t < recorded->length; t++) {
        assert(recorded->actions[t] < world->env->action_count && isfinite(recorded->rewards[t]));
        for (unsigned i = 0; i < world->numbers; i++)
            assert(isfinite(recorded->states[t * world->numbers + i]));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct replay_file file;
    char fault[REPLAY_FAULT_SIZE] = "";
    struct replay_result results[CASES_MOST] = {{0}};
    bool good = replay_file_read((const char *)data, size, &file, fault);
    assert(good == (fault[0] == '\0') && strlen(fault) < sizeof fault);
    for (size_t i = 0; good && i < file.count && i < CASES_MOST; i++) {
        struct replay_case *recorded = &file.cases[i].recorded;
        if (file.cases[i].reason[0] != '\0')
            continue;
        check_case(file.world, recorded);
        if (recorded->length > STEPS_MOST)
            recorded->length = STEPS_MOST;
        (void)replay_run(file.world, recorded, NULL, &results[i]);
    }
    if (good && file.count <= CASES_MOST) {
        char *json = replay_json_of_file("f", &file, results, NULL);
        assert(json);
        free(json);
    }
    replay_file_clear(&file);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    return fuzz_mutate_json(data, size, max_size, seed, 0);
}
