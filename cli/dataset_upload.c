/* Calls to one dataset. */
#include "cli/dataset_upload.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/wire/deflate.h"

#define KEY_BYTES     20
#define PATH_SIZE     256

#define CONFLICT_SLUG "conflict" /* of an upload: its experts were erased */
#define REUSED_SLUG   "idempotency-key-reused"

/* A key that names no time expires only by a restore. */
#define EXPIRED_SLUG "idempotency-key-expired"

bool dataset_upload_failed(struct dataset_upload *upload, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(upload->error, sizeof upload->error, format, arguments);
    va_end(arguments);
    return false;
}

bool dataset_upload_open(struct dataset_upload *upload, const struct http_out_settings *server)
{
    *upload = (struct dataset_upload){0};
    const char *wrong = http_out_open(server, &upload->out);
    return !wrong || dataset_upload_failed(upload, "%s", wrong);
}

void dataset_upload_close(struct dataset_upload *upload)
{
    http_out_close(upload->out);
    upload->out = NULL;
}

void dataset_upload_key(const char *prefix, const char *text, char out[DATASET_UPLOAD_KEY_SIZE])
{
    unsigned char hash[KEY_BYTES];
    char hex[2 * KEY_BYTES + 1];
    crypto_generichash(hash, sizeof hash, (const unsigned char *)text, strlen(text), NULL, 0);
    sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
    snprintf(out, DATASET_UPLOAD_KEY_SIZE, "%.20s-%s", prefix, hex);
}

/* The time in the member NAME of ANSWER, in milliseconds since 1970; 0: there is none. */
static int64_t answer_time(const struct http_out_answer *answer, const char *name)
{
    char text[40];
    int ms = 0;
    struct tm utc = {0};
    if (!answer_text(answer->body, answer->size, name, text, sizeof text))
        return 0;
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S.", &utc);
    return end && sscanf(end, "%3d", &ms) == 1 ? (int64_t)timegm(&utc) * 1000 + ms : 0;
}

/* Makes the key for what KEY was refused for by a server that was restored. It names a time after
 * the life that was lost, and after the dataset was made. It is the same each time. */
static void make_dated_key(const struct dataset_upload *upload,
                           const struct http_out_answer *refusal, const char *key,
                           char out[HTTP_OUT_KEY_SIZE])
{
    unsigned char hash[HTTP_OUT_KEY_BYTES];
    int64_t ms = answer_time(refusal, "keys_after") + 1;
    crypto_generichash(hash, sizeof hash, (const unsigned char *)key, strlen(key), NULL, 0);
    http_out_key(ms > upload->created_ms ? ms : upload->created_ms, hash, out);
}

bool dataset_upload_call(struct dataset_upload *upload, const struct http_out_call *what,
                         struct http_out_answer *answer)
{
    enum http_out_status status = http_out_do(upload->out, what, answer);
    if (status == HTTP_OUT_REFUSED && what->key &&
        strcmp(answer->problem.slug, EXPIRED_SLUG) == 0) {
        char dated[HTTP_OUT_KEY_SIZE];
        struct http_out_call again = *what;
        make_dated_key(upload, answer, what->key, dated);
        again.key = dated;
        status = http_out_do(upload->out, &again, answer);
    }
    if (status == HTTP_OUT_OK)
        return true;
    upload->refused = status == HTTP_OUT_REFUSED && answer->http < 500;
    const char *hint = "";
    if (upload->reused_hint && strcmp(answer->problem.slug, REUSED_SLUG) == 0)
        hint = upload->reused_hint;
    if (strcmp(answer->problem.slug, EXPIRED_SLUG) == 0)
        hint = " Make a dataset over the API, and name it with --dataset.";
    char other[sizeof upload->dataset];
    if (upload->taken_hint &&
        answer_text(answer->body, answer->size, "dataset", other, sizeof other))
        hint = upload->taken_hint;
    if (upload->conflict_hint && strcmp(answer->problem.slug, CONFLICT_SLUG) == 0)
        hint = upload->conflict_hint;
    return dataset_upload_failed(upload, "%s %s: %s%s", what->method, what->path,
                                 answer->problem.text, hint);
}

/* True when ID is well-formed, which needs no escapes in a path. */
static bool is_id(const char *id)
{
    return id[0] != '\0' && strlen(id) < 80 &&
           id[strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")] ==
               '\0';
}

bool dataset_upload_name(struct dataset_upload *upload, const char *id)
{
    if (!is_id(id))
        return dataset_upload_failed(upload, "\"%.80s\" is no dataset's id", id);
    snprintf(upload->dataset, sizeof upload->dataset, "%s", id);
    return true;
}

bool dataset_upload_salt(struct dataset_upload *upload, char out[DATASET_UPLOAD_SALT_SIZE])
{
    struct http_out_answer answer;
    const struct http_out_call get = {.method = "GET", .path = "/v1/clients/me"};
    if (!dataset_upload_call(upload, &get, &answer))
        return false;
    if (answer_text(answer.body, answer.size, "key_salt", out, DATASET_UPLOAD_SALT_SIZE) &&
        strlen(out) == DATASET_UPLOAD_SALT_SIZE - 1)
        return true;
    return dataset_upload_failed(upload, "GET /v1/clients/me: the answer has no key_salt: is this "
                                         "a Tacet server of this version?");
}

bool dataset_upload_make(struct dataset_upload *upload, const char *body, const char *key)
{
    struct http_out_answer answer;
    char id[sizeof upload->dataset];
    const struct http_out_call post = {.method = "POST",
                                       .path = "/v1/datasets",
                                       .key = key,
                                       .body = body,
                                       .body_size = strlen(body)};
    if (!dataset_upload_call(upload, &post, &answer))
        return false;
    upload->replayed = answer.replayed;
    if (!answer_text(answer.body, answer.size, "id", id, sizeof id))
        return dataset_upload_failed(
            upload, "POST /v1/datasets: the answer has no id: is this a Tacet server?");
    return dataset_upload_name(upload, id);
}

/* Said where a run of the same command has nothing to add to. */
static const char second_budget[] =
    ". Another --name would make a second dataset: the same people in a second dataset get a "
    "second "
    "budget, and what is spent of both adds up for them (docs/choosing.md)";

bool dataset_upload_check(struct dataset_upload *upload, const char *world, bool complete,
                          struct http_out_answer *answer)
{
    char path[PATH_SIZE], state[16], other_world[64];
    const char *of_earlier = upload->replayed ? ", made by an earlier run of this command," : "";
    const char *other = upload->replayed ? second_budget : "";
    snprintf(path, sizeof path, "/v1/datasets/%s", upload->dataset);
    if (!dataset_upload_call(upload, &(struct http_out_call){.method = "GET", .path = path},
                             answer))
        return upload->replayed && answer->http == 404
                   ? dataset_upload_failed(upload, "dataset %s%s was deleted%s", upload->dataset,
                                           of_earlier, other)
                   : false;
    if (world &&
        answer_text(answer->body, answer->size, "environment", other_world, sizeof other_world) &&
        strcmp(world, other_world) != 0)
        return dataset_upload_failed(upload, "dataset %s is of %s, not of %s", upload->dataset,
                                     other_world, world);
    upload->created_ms = answer_time(answer, "created_at");
    if (!answer_text(answer->body, answer->size, "state", state, sizeof state))
        return dataset_upload_failed(
            upload, "GET %s: the answer has no state: is this a Tacet server?", path);
    if (complete || strcmp(state, "open") == 0)
        return true;
    return dataset_upload_failed(upload, "dataset %s%s is %s and takes no more data%s",
                                 upload->dataset, of_earlier, state, other);
}

/* Makes the call POST, whose body is compressed. Where its key names the contents, the server has
 * them also when it knows the key by other bytes: another build of the library compresses so. */
static bool send_once(struct dataset_upload *upload, const struct http_out_call *post,
                      struct http_out_answer *answer, bool *out_had)
{
    bool sent = dataset_upload_call(upload, post, answer);
    *out_had = sent ? answer->replayed
                    : upload->keys_name_contents && strcmp(answer->problem.slug, REUSED_SLUG) == 0;
    return sent || *out_had;
}

bool dataset_upload_send(struct dataset_upload *upload, enum inflate_encoding encoding,
                         const void *bytes, size_t size, const char *key, const char *again)
{
    char path[PATH_SIZE];
    struct http_out_answer answer;
    bool had = false;
    snprintf(path, sizeof path, "/v1/datasets/%s/trajectories", upload->dataset);
    struct http_out_call post = {.method = "POST",
                                 .path = path,
                                 .key = key,
                                 .content_type = "application/x-ndjson",
                                 .content_encoding = deflate_name(encoding),
                                 .body = bytes,
                                 .body_size = size};
    if (send_once(upload, &post, &answer, &had)) {
        upload->had += had;
        return true;
    }
    if (!again || strcmp(answer.problem.slug, CONFLICT_SLUG) != 0)
        return false;
    strcat(path, "?erased=accept");
    post.key = again;
    if (!send_once(upload, &post, &answer, &had))
        return false;
    upload->had += had;
    upload->brought += !had;
    return true;
}

bool dataset_upload_seal(struct dataset_upload *upload, const char *key)
{
    char path[PATH_SIZE];
    struct http_out_answer answer;
    snprintf(path, sizeof path, "/v1/datasets/%s:seal", upload->dataset);
    return dataset_upload_call(
        upload, &(struct http_out_call){.method = "POST", .path = path, .key = key}, &answer);
}
