/* Uploads experts: the calls, their order and their keys. */
#include "cli/expert_upload.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json_text.h"

#define PATH_SIZE 256

bool expert_upload_open(struct expert_upload *upload, const struct expert_upload_settings *settings)
{
    upload->settings = *settings;
    bool open = dataset_upload_open(&upload->to, &settings->server);
    upload->to.reused_hint = "; an earlier run sent other data here: was it another version of "
                             "tacet, or another --experts or --compress? Use a fresh dataset";
    return open;
}

void expert_upload_close(struct expert_upload *upload)
{
    dataset_upload_close(&upload->to);
}

/* ---- keys */

/* Makes the key for doing WHAT with this population. It does not depend on threads, on the number
 * of experts (a larger population begins with the smaller one) or on the body's encoding. */
static void make_key(const struct expert_upload *upload, const char *what,
                     char out[DATASET_UPLOAD_KEY_SIZE])
{
    const struct expert_request *r = upload->settings.request;
    char text[2048];
    int length =
        snprintf(text, sizeof text,
                 "%s\n%s\n%s trajectories=%" PRIu32 " max-steps=%" PRIu32
                 " min-action-probability=%a seed=%" PRIu64 " select=%s",
                 what, upload->to.dataset, r->env->name, r->trajectories, r->max_steps,
                 r->min_action_probability, r->seed, r->select == EXPERTS_TOP ? "top" : "moments");
    assert(length > 0 && (size_t)length < sizeof text);
    dataset_upload_key("experts", text, out);
}

/* ---- the dataset */

/* {"name":...}; false: the name is too long. */
static bool dataset_body(const struct expert_upload_settings *settings, char *out, size_t size)
{
    const struct expert_request *r = settings->request;
    char name[1300], p[32], epsilon[32], delta[32];
    size_t written = json_text_string(settings->name, name, sizeof name - 1);
    if (written == 0)
        return false;
    name[written] = '\0';
    json_text_number(r->min_action_probability, p);
    json_text_number(settings->epsilon, epsilon);
    json_text_number(settings->delta, delta);
    int length = snprintf(out, size,
                          "{\"name\":%s,\"environment\":\"%s\",\"max_episode_steps\":%" PRIu32
                          ",\"min_action_probability\":%s,\"nominal_experts\":%" PRIu64
                          ",\"budget\":{\"epsilon\":%s,\"delta\":%s}}",
                          name, r->env->name, r->max_steps, p, r->experts, epsilon, delta);
    return length > 0 && (size_t)length < size;
}

static bool make_dataset(struct expert_upload *upload)
{
    char body[1700], key[DATASET_UPLOAD_KEY_SIZE];
    if (!dataset_body(&upload->settings, body, sizeof body))
        return dataset_upload_failed(&upload->to, "the dataset's name is too long");
    make_key(upload, body, key);
    return dataset_upload_make(&upload->to, body, key);
}

bool expert_upload_begin(struct expert_upload *upload, const char *known, bool complete)
{
    const char *named = upload->settings.dataset;
    const char *id = named ? named : known;
    struct http_out_answer answer;
    bool found = id[0] != '\0' ? dataset_upload_name(&upload->to, id) : make_dataset(upload);
    return found && dataset_upload_check(&upload->to, upload->settings.request->env->name, complete,
                                         &answer);
}

/* ---- the experts */

static bool send_trajectories(struct expert_upload *upload, uint64_t setting,
                              const struct expert_text *text)
{
    char what[64], key[DATASET_UPLOAD_KEY_SIZE];
    snprintf(what, sizeof what, "trajectories %" PRIu64, setting);
    make_key(upload, what, key);
    return dataset_upload_send(&upload->to, upload->settings.request->encoding, text->trajectories,
                               text->trajectories_size, key, NULL);
}

/* Sends the policy in LINE, one line of expert_lines_policy: SIZE bytes without its line feed. */
static bool send_policy(struct expert_upload *upload, uint64_t expert, const char *line,
                        size_t size)
{
    static const char member[] = "\"policy\":";
    char path[PATH_SIZE], what[PATH_SIZE], key[DATASET_UPLOAD_KEY_SIZE];
    struct http_out_answer answer;
    const char *network = strstr(line, member);
    assert(network && line[size - 1] == '}');
    network += sizeof member - 1;
    snprintf(path, sizeof path, "/v1/datasets/%s/experts/e%06" PRIu64 "/policy", upload->to.dataset,
             expert);
    snprintf(what, sizeof what, "policy e%06" PRIu64, expert);
    make_key(upload, what, key);
    const struct http_out_call put = {.method = "PUT",
                                      .path = path,
                                      .key = key,
                                      .body = network,
                                      .body_size = (size_t)(line + size - 1 - network)};
    return dataset_upload_call(&upload->to, &put, &answer);
}

bool expert_upload_setting(struct expert_upload *upload, uint64_t setting,
                           const struct expert_text *text)
{
    if (!send_trajectories(upload, setting, text))
        return false;
    const char *line = text->policies;
    for (uint64_t k = 0; line && k < text->experts; k++) {
        size_t size = strcspn(line, "\n");
        if (!send_policy(upload, setting * EXPERTS_PER_SETTING + k, line, size))
            return false;
        line += size + 1;
    }
    return true;
}

bool expert_upload_seal(struct expert_upload *upload)
{
    char key[DATASET_UPLOAD_KEY_SIZE];
    make_key(upload, "seal", key);
    return dataset_upload_seal(&upload->to, key);
}
