/* Uploads experts: the calls, their order and their keys. */
#include "cli/expert_upload.h"

#include <assert.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json_text.h"
#include "api/wire/deflate.h"

#define KEY_SIZE  64
#define KEY_BYTES 20
#define PATH_SIZE 256

__attribute__((format(printf, 2, 3))) static bool upload_failed(struct expert_upload *upload,
                                                                const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(upload->error, sizeof upload->error, format, arguments);
    va_end(arguments);
    return false;
}

bool expert_upload_open(struct expert_upload *upload, const struct expert_upload_settings *settings)
{
    *upload = (struct expert_upload){.settings = *settings};
    const char *wrong = http_out_open(&settings->server, &upload->out);
    return !wrong || upload_failed(upload, "%s", wrong);
}

void expert_upload_close(struct expert_upload *upload)
{
    http_out_close(upload->out);
    upload->out = NULL;
}

/* ---- keys */

/* Makes the key for doing WHAT with this population. It does not depend on threads, on the number
 * of experts (a larger population begins with the smaller one) or on the body's encoding. */
static void make_key(const struct expert_upload *upload, const char *what, char out[KEY_SIZE])
{
    const struct expert_request *r = upload->settings.request;
    unsigned char hash[KEY_BYTES];
    char hex[2 * KEY_BYTES + 1], text[2048];
    int length =
        snprintf(text, sizeof text,
                 "%s\n%s\n%s trajectories=%" PRIu32 " max-steps=%" PRIu32
                 " min-action-probability=%a seed=%" PRIu64 " select=%s",
                 what, upload->dataset, r->env->name, r->trajectories, r->max_steps,
                 r->min_action_probability, r->seed, r->select == EXPERTS_TOP ? "top" : "moments");
    assert(length > 0 && (size_t)length < sizeof text);
    crypto_generichash(hash, sizeof hash, (const unsigned char *)text, (size_t)length, NULL, 0);
    sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
    snprintf(out, KEY_SIZE, "experts-%s", hex);
}

static bool upload_call(struct expert_upload *upload, const struct http_out_call *what,
                        struct http_out_answer *answer)
{
    enum http_out_status status = http_out_do(upload->out, what, answer);
    if (status == HTTP_OUT_OK)
        return true;
    upload->refused = status == HTTP_OUT_REFUSED && answer->http < 500;
    const char *hint = "";
    if (strcmp(answer->problem.slug, "idempotency-key-reused") == 0)
        hint = "; an earlier run sent other data here: was it another version of tacet, or another "
               "--experts or --compress? Use a fresh dataset";
    return upload_failed(upload, "%s %s: %s%s", what->method, what->path, answer->problem.text,
                         hint);
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
    char body[1700], key[KEY_SIZE];
    struct http_out_answer answer;
    if (!dataset_body(&upload->settings, body, sizeof body))
        return upload_failed(upload, "the dataset's name is too long");
    make_key(upload, body, key);
    const struct http_out_call post = {.method = "POST",
                                       .path = "/v1/datasets",
                                       .key = key,
                                       .body = body,
                                       .body_size = strlen(body)};
    if (!upload_call(upload, &post, &answer))
        return false;
    upload->replayed = answer.replayed;
    return answer_text(answer.body, answer.size, "id", upload->dataset, sizeof upload->dataset) ||
           upload_failed(upload,
                         "POST /v1/datasets: the answer has no id: is this a Tacet server?");
}

/* True when ID is well-formed, which needs no escapes in a path. */
static bool is_id(const char *id)
{
    return id[0] != '\0' && strlen(id) < 80 &&
           id[strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")] ==
               '\0';
}

/* Checks that the dataset is of our world and, unless COMPLETE, open. */
static bool check_dataset(struct expert_upload *upload, bool complete)
{
    char path[PATH_SIZE], state[16], world[64];
    struct http_out_answer answer;
    const char *of_earlier = upload->replayed ? ", made by an earlier run of this command," : "";
    const char *other = upload->replayed ? ": give another --name for a new one" : "";
    snprintf(path, sizeof path, "/v1/datasets/%s", upload->dataset);
    if (!upload_call(upload, &(struct http_out_call){.method = "GET", .path = path}, &answer))
        return upload->replayed && answer.http == 404
                   ? upload_failed(upload, "dataset %s%s was deleted%s", upload->dataset,
                                   of_earlier, other)
                   : false;
    const char *ours = upload->settings.request->env->name;
    if (answer_text(answer.body, answer.size, "environment", world, sizeof world) &&
        strcmp(world, ours) != 0)
        return upload_failed(upload, "dataset %s is of %s, not of %s", upload->dataset, world,
                             ours);
    if (!answer_text(answer.body, answer.size, "state", state, sizeof state))
        return upload_failed(upload, "GET %s: the answer has no state: is this a Tacet server?",
                             path);
    if (complete || strcmp(state, "open") == 0)
        return true;
    return upload_failed(upload, "dataset %s%s is %s and takes no more data%s", upload->dataset,
                         of_earlier, state, other);
}

bool expert_upload_begin(struct expert_upload *upload, const char *known, bool complete)
{
    const char *named = upload->settings.dataset;
    const char *id = named ? named : known;
    if (id[0] == '\0' && !make_dataset(upload))
        return false;
    if (id[0] != '\0' && is_id(id))
        snprintf(upload->dataset, sizeof upload->dataset, "%s", id);
    if (!is_id(upload->dataset))
        return upload_failed(upload, "\"%.80s\" is no dataset's id", id);
    return check_dataset(upload, complete);
}

/* ---- the experts */

static bool send_trajectories(struct expert_upload *upload, uint64_t setting,
                              const struct expert_text *text)
{
    char path[PATH_SIZE], what[64], key[KEY_SIZE];
    struct http_out_answer answer;
    snprintf(path, sizeof path, "/v1/datasets/%s/trajectories", upload->dataset);
    snprintf(what, sizeof what, "trajectories %" PRIu64, setting);
    make_key(upload, what, key);
    const struct http_out_call post = {.method = "POST",
                                       .path = path,
                                       .key = key,
                                       .content_type = "application/x-ndjson",
                                       .content_encoding =
                                           deflate_name(upload->settings.request->encoding),
                                       .body = text->trajectories,
                                       .body_size = text->trajectories_size};
    return upload_call(upload, &post, &answer);
}

/* Sends the policy in LINE, one line of expert_lines_policy: SIZE bytes without its line feed. */
static bool send_policy(struct expert_upload *upload, uint64_t expert, const char *line,
                        size_t size)
{
    static const char member[] = "\"policy\":";
    char path[PATH_SIZE], what[PATH_SIZE], key[KEY_SIZE];
    struct http_out_answer answer;
    const char *network = strstr(line, member);
    assert(network && line[size - 1] == '}');
    network += sizeof member - 1;
    snprintf(path, sizeof path, "/v1/datasets/%s/experts/e%06" PRIu64 "/policy", upload->dataset,
             expert);
    snprintf(what, sizeof what, "policy e%06" PRIu64, expert);
    make_key(upload, what, key);
    const struct http_out_call put = {.method = "PUT",
                                      .path = path,
                                      .key = key,
                                      .body = network,
                                      .body_size = (size_t)(line + size - 1 - network)};
    return upload_call(upload, &put, &answer);
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
    char path[PATH_SIZE], key[KEY_SIZE];
    struct http_out_answer answer;
    snprintf(path, sizeof path, "/v1/datasets/%s:seal", upload->dataset);
    make_key(upload, "seal", key);
    return upload_call(upload, &(struct http_out_call){.method = "POST", .path = path, .key = key},
                       &answer);
}
