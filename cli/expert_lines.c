/* Experts as NDJSON. The numbers are finite (worlds and trained policies are checked where they are
 * made), so printf's own form is JSON. */
#include "cli/expert_lines.h"

#include <inttypes.h>

static void print_row(FILE *out, const float *row, size_t count)
{
    putc_unlocked('[', out);
    for (size_t i = 0; i < count; i++)
        fprintf(out, i == 0 ? "%.9g" : ",%.9g", (double)row[i]);
    putc_unlocked(']', out);
}

static void print_matrix(FILE *out, const float *rows, size_t count, size_t width)
{
    putc_unlocked('[', out);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            putc_unlocked(',', out);
        print_row(out, rows + i * width, width);
    }
    putc_unlocked(']', out);
}

static const char *json_truth(bool x)
{
    return x ? "true" : "false";
}

void expert_lines_trajectory(FILE *out, const char *expert, const struct trajectory *trajectory,
                             uint32_t state_dim)
{
    fprintf(out, "{\"expert\":\"%s\",\"states\":", expert);
    print_matrix(out, trajectory->states, trajectory->length + (size_t)1, state_dim);
    fputs(",\"actions\":[", out);
    for (uint32_t t = 0; t < trajectory->length; t++)
        fprintf(out, t == 0 ? "%u" : ",%u", (unsigned)trajectory->actions[t]);
    fputs("],\"rewards\":", out);
    print_row(out, trajectory->rewards, trajectory->length);
    fprintf(out, ",\"terminated\":%s,\"truncated\":%s}\n", json_truth(trajectory->terminated),
            json_truth(trajectory->truncated));
}

static const char *output_name(enum policy_output output)
{
    switch (output) {
    case POLICY_SOFTMAX: return "softmax";
    case POLICY_ARGMAX: return "argmax";
    case POLICY_Q: return "q";
    case POLICY_BCQ: return "bcq";
    }
    return "argmax";
}

void expert_lines_policy(FILE *out, uint64_t expert, const struct policy *policy)
{
    const struct mlp_shape *shape = &policy->shape;
    fprintf(out, "{\"expert\":\"e%06" PRIu64 "\",\"policy\":{\"activation\":\"%s\",\"layers\":[",
            expert, shape->activation == MLP_RELU ? "relu" : "tanh");
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        fputs(l == 0 ? "{\"weight\":" : ",{\"weight\":", out);
        print_matrix(out, policy->parameters + mlp_weight_offset(shape, l), shape->width[l],
                     mlp_layer_input(shape, l));
        fputs(",\"bias\":", out);
        print_row(out, policy->parameters + mlp_bias_offset(shape, l), shape->width[l]);
        putc_unlocked('}', out);
    }
    fprintf(out, "],\"output\":\"%s\"}}\n", output_name(policy->output));
}
