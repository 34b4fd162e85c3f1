/* A world for Tacet in C: a corridor of seven places; the goal is at one end.
 *
 *     cc -O2 -o corridor examples/world.c && tacet serve --world "corridor=./corridor"
 *
 * The server writes its questions in one fixed form (docs/worlds.md), so that sscanf reads them. An
 * answer must leave at once: fflush. */
#include <stdio.h>
#include <string.h>

#define INSTANCES 4096
#define GOAL      6

static const char description[] = "{\"protocol\":1,\"state_dim\":1,\"action_count\":2,"
                                  "\"max_episode_steps\":50,\"random_return\":-30}";

int main(void)
{
    static int place[INSTANCES];
    char line[4096];
    while (fgets(line, sizeof line, stdin) != NULL) {
        unsigned i = 0, action = 0;
        unsigned long long seed = 0;
        if (strncmp(line, "{\"describe\":", 12) == 0) {
            puts(description);
            /* Numbers of the server are within their types. */
            // NOLINTNEXTLINE(cert-err34-c)
        } else if (sscanf(line, "{\"reset\":{\"instance\":%u,\"seed\":%llu", &i, &seed) == 2 &&
                   i < INSTANCES) {
            place[i] = (int)(seed % 3); /* 0, 1 or 2 */
            printf("{\"observation\":[%d]}\n", place[i]);
            // NOLINTNEXTLINE(cert-err34-c)
        } else if (sscanf(line, "{\"step\":{\"instance\":%u,\"action\":%u", &i, &action) == 2 &&
                   i < INSTANCES) {
            place[i] += action == 1 ? 1 : place[i] > 0 ? -1 : 0;
            printf("{\"observation\":[%d],\"reward\":-1,\"terminated\":%s}\n", place[i],
                   place[i] == GOAL ? "true" : "false");
        } else {
            puts("{\"error\":\"a question that I do not know\"}");
        }
        fflush(stdout);
    }
    return 0;
}
