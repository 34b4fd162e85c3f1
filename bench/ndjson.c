/* Writes trajectories in the upload format, fast, about as large as real ones: ndjson MEGABYTES.
 * CartPole's shape, 200 steps each, a new expert every 20 trajectories. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 88172645463325252u;

static double uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0 - 0.5;
}

int main(int argc, char **argv)
{
    long megabytes = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
    if (megabytes <= 0) {
        fprintf(stderr, "usage: ndjson MEGABYTES\n");
        return 2;
    }
    int64_t written = 0;
    for (uint64_t n = 0; written < megabytes * 1000000; n++) {
        written += printf("{\"expert\":\"e%" PRIu64 "\",\"states\":[", n / 20);
        for (int t = 0; t <= 200; t++)
            written += printf("%s[%.7g,%.7g,%.7g,%.7g]", t == 0 ? "" : ",", 4 * uniform(),
                              4 * uniform(), 0.4 * uniform(), 4 * uniform());
        written += printf("],\"actions\":[");
        for (int t = 0; t < 200; t++)
            written += printf("%s%d", t == 0 ? "" : ",", uniform() < 0 ? 0 : 1);
        written += printf("],\"rewards\":[");
        for (int t = 0; t < 200; t++)
            written += printf("%s1", t == 0 ? "" : ",");
        written += printf("],\"terminated\":false,\"truncated\":true}\n");
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
