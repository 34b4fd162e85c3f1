/* Networks from their own text form (api/policies/network_json.h): a scanner for what this program
 * writes, member by member in its order, and nothing else. Weights and biases stand there in the
 * order of the parameter vector. */
#include "bench/offline/import.h"

#include <stdlib.h>
#include <string.h>

struct scan {
    const char *at;
    float *numbers; /* owned; of all layers, in their order */
    size_t count, room;
};

/* True when WORD comes next; then it is behind us. */
static bool comes(struct scan *s, const char *word)
{
    size_t size = strlen(word);
    if (strncmp(s->at, word, size) != 0)
        return false;
    s->at += size;
    return true;
}

/* "1,2,3]": gives how many, 0 when it is none. */
static uint32_t row(struct scan *s)
{
    uint32_t count = 0;
    do {
        char *end;
        if (s->count == s->room) {
            size_t room = s->room > 0 ? 2 * s->room : 4096;
            float *more = realloc(s->numbers, room * sizeof *more);
            if (!more)
                return 0;
            s->numbers = more;
            s->room = room;
        }
        s->numbers[s->count++] = strtof(s->at, &end);
        if (end == s->at)
            return 0;
        s->at = end;
        count++;
    } while (comes(s, ","));
    return comes(s, "]") ? count : 0;
}

/* {"weight":[[..],..],"bias":[..]} of INPUTS numbers; gives its width, 0 when it is none. */
static uint32_t layer(struct scan *s, uint32_t inputs)
{
    uint32_t width = 0;
    if (!comes(s, "{\"weight\":["))
        return 0;
    do {
        if (!comes(s, "[") || row(s) != inputs)
            return 0;
        width++;
    } while (comes(s, ","));
    return comes(s, "],\"bias\":[") && row(s) == width && comes(s, "}") ? width : 0;
}

static bool shape_of(struct scan *s, uint32_t input, struct mlp_shape *out)
{
    *out = (struct mlp_shape){.input = input};
    if (comes(s, "{\"activation\":\"tanh\""))
        out->activation = MLP_TANH;
    else if (comes(s, "{\"activation\":\"relu\""))
        out->activation = MLP_RELU;
    else
        return false;
    if (!comes(s, ",\"layers\":["))
        return false;
    do {
        uint32_t width = out->layer_count < MLP_MAX_LAYERS ? layer(s, input) : 0;
        if (width == 0)
            return false;
        out->width[out->layer_count++] = input = width;
    } while (comes(s, ","));
    return comes(s, "],\"output\":\"argmax\"}}") && mlp_shape_valid(out);
}

/* NULL: no memory, or LINE is no expert of that world. */
static struct policy *network(struct scan *s, const char *line, const struct env *env)
{
    struct mlp_shape shape;
    s->count = 0;
    s->at = strstr(line, ",\"policy\":");
    if (!s->at || !comes(s, ",\"policy\":") || !shape_of(s, env->state_dim, &shape) ||
        shape.width[shape.layer_count - 1] != env->action_count ||
        mlp_parameter_count(&shape) != s->count)
        return NULL;
    struct policy *policy = policy_new(&shape, POLICY_ARGMAX);
    if (policy)
        memcpy(policy->parameters, s->numbers, s->count * sizeof *s->numbers);
    return policy;
}

bool import_networks(FILE *in, const struct env *env,
                     bool (*take)(void *context, const struct policy *policy), void *context)
{
    struct scan s = {0};
    char *line = NULL;
    size_t room = 0;
    unsigned number = 0;
    bool good = true;
    while (good && getline(&line, &room, in) > 0) {
        struct policy *policy = network(&s, line, env);
        number++;
        good = policy && take(context, policy);
        policy_free(policy);
    }
    good = good && !ferror(in) && number > 0;
    if (!good)
        fprintf(stderr, "line %u of the networks: no expert of %s, or cannot be kept\n", number,
                env->name);
    free(line);
    free(s.numbers);
    return good;
}
