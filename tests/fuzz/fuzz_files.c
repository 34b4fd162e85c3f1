/* Any bytes as a file of trajectories whose returns are wanted, or as the progress of an earlier
 * run. The first byte chooses. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/expert_state.h"
#include "cli/returns_file.h"
#include "tests/fuzz/fuzz.h"

static void read_returns(const char *path)
{
    double *returns = NULL;
    size_t count = 0;
    char error[512] = "";
    bool good = returns_file_read(path, env_find("cartpole"), &returns, &count, error);
    assert(good == (error[0] == '\0') && strlen(error) < sizeof error);
    for (size_t i = 0; i < count; i++)
        assert(isfinite(returns[i]));
    free(returns);
}

/* What one run leaves the next can read. */
static void read_progress(const char *path)
{
    static const char flags[] = "environment=cartpole experts=3";
    struct expert_state state, again;
    const uint64_t most[EXPERT_STATE_FILES] = {UINT64_MAX, UINT64_MAX};
    const double more[] = {1.5, -0.25};
    enum expert_state_status status = expert_state_open(&state, path, flags);
    assert((status == EXPERT_STATE_OK) == (state.error[0] == '\0'));
    assert(strlen(state.error) < sizeof state.error);
    if (status == EXPERT_STATE_OK && expert_state_add(&state, most, more, 2)) {
        uint64_t settings = state.settings;
        size_t experts = state.experts;
        assert(experts >= 2 && memcmp(state.returns + experts - 2, more, sizeof more) == 0);
        expert_state_close(&state);
        assert(expert_state_open(&again, path, flags) == EXPERT_STATE_OK);
        assert(again.settings == settings && again.experts == experts && again.resumed);
        state = again;
    }
    expert_state_close(&state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t reader = fuzz_byte(&data, &size);
    if (reader % 2 == 0)
        read_returns(fuzz_file(data, size));
    else
        read_progress(fuzz_file(data, size));
    return 0;
}
