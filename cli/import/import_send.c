/* Sends trajectories in parts of some MiB, each all or nothing under a key of its own number and
 * bytes, so that the same command continues where a broken one ended: what the server has already
 * is not added again. A file that was mended after a refusal has the same parts up to the mend. */
#include "cli/import/import_send.h"

#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/json/json_text.h"
#include "api/wire/deflate.h"
#include "cli/expert_lines.h"
#include "memory/memory.h"

#define PART_BYTES (8U << 20)

static bool send_failed(struct import_send *send, const char *why)
{
    snprintf(send->error, sizeof send->error, "%.590s", why);
    return false;
}

/* The key for doing WHAT with the data of DIGEST. */
static void send_key(const struct import_send *send, const char *what,
                     const unsigned char digest[IMPORT_DIGEST_SIZE],
                     char out[DATASET_UPLOAD_KEY_SIZE])
{
    char hex[2 * IMPORT_DIGEST_SIZE + 1];
    sodium_bin2hex(hex, sizeof hex, digest, IMPORT_DIGEST_SIZE);
    char *text = memory_format("%s\n%s\n%s\n%s", send->salt, what, send->upload.dataset, hex);
    dataset_upload_key("import", text, out);
    free(text);
}

/* ---- opening */

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The body that makes the dataset. NULL: its name is too long. The caller frees it. */
static char *dataset_text(const struct import_options *o, const char *description)
{
    char name[1300], epsilon[32], delta[32], discount[32], experts[64] = "";
    size_t size =
        json_text_string(o->to.name ? o->to.name : file_name(o->path), name, sizeof name - 1);
    if (size == 0)
        return NULL;
    name[size] = '\0';
    json_text_number(o->to.epsilon, epsilon);
    json_text_number(isnan(o->to.delta) ? UPLOAD_DEFAULT_DELTA : o->to.delta, delta);
    json_text_number(o->discount, discount);
    if (o->nominal_experts > 0)
        snprintf(experts, sizeof experts, ",\"nominal_experts\":%" PRIu64, o->nominal_experts);
    return memory_format("{\"name\":%s,\"unique_name\":true,\"max_episode_steps\":%" PRIu64
                         ",\"discount\":%s%s,"
                         "\"budget\":{\"epsilon\":%s,\"delta\":%s},\"description\":%s}",
                         name, o->max_steps, discount, experts, epsilon, delta, description);
}

static void say_waiting(void *context, const char *why, double seconds)
{
    (void)context;
    fprintf(stderr, "tacet import: %s; trying again in %.1f s\n", why, seconds);
}

static bool send_make_dataset(struct import_send *send, const char *description)
{
    char key[DATASET_UPLOAD_KEY_SIZE];
    char *body = dataset_text(send->options, description);
    if (!body)
        return dataset_upload_failed(&send->upload, "the dataset's name is too long");
    send_key(send, body, send->digest, key);
    bool made = dataset_upload_make(&send->upload, body, key);
    free(body);
    return made;
}

/* Said where another file, or other flags, would make a second dataset of one name. */
static const char name_taken[] =
    " It was made from another file, with other flags, by another client, or before the server was "
    "restored or upgraded: look at what it holds. To add to it, name it with --dataset. To replace "
    "what it holds, delete it before anything of its budget is spent. Another --name makes a "
    "second dataset: the same people in a second dataset get a second budget, and what is spent of "
    "both adds up for them (docs/choosing.md)";

static bool send_open_upload(struct import_send *send, const char *description)
{
    const struct upload_options *to = &send->options->to;
    const struct http_out_settings server = {.base = to->url,
                                             .token = to->token,
                                             .ca_file = to->ca_file,
                                             .patience_s = (unsigned)to->patience,
                                             .waiting = say_waiting};
    if (!dataset_upload_open(&send->upload, &server))
        return false;
    send->upload.keys_name_contents = true;
    send->upload.taken_hint = name_taken;
    if (http_out_in_clear(to->url))
        fprintf(stderr, "tacet import: warning: plain HTTP to another machine: everybody on the "
                        "way can read the data and the token\n");
    struct http_out_answer answer;
    char differs[DESCRIPTION_FAULT_SIZE], state[16] = "";
    if (!dataset_upload_salt(&send->upload, send->salt))
        return false;
    bool found = to->dataset ? dataset_upload_name(&send->upload, to->dataset)
                             : send_make_dataset(send, description);
    if (!found || !dataset_upload_check(&send->upload, NULL, send->options->to.seal, &answer))
        return false;
    /* An earlier run may have sealed it: then all is there, and the server says so of each part. */
    (void)answer_text(answer.body, answer.size, "state", state, sizeof state);
    send->upload.conflict_hint =
        strcmp(state, "open") == 0 ? " The flag --accept-erased does that." : NULL;
    send->held = answer_real(answer.body, answer.size, "trajectories");
    if (!description_fits_dataset(send->description, answer.body, differs))
        return dataset_upload_failed(&send->upload,
                                     "%s does not describe what dataset %s holds: %s",
                                     send->options->description, send->upload.dataset, differs);
    double most = answer_real(answer.body, answer.size, "max_episode_steps");
    if (send->longest > most)
        return dataset_upload_failed(&send->upload,
                                     "an episode has %" PRIu32
                                     " actions, and max_episode_steps of dataset %s is %.0f",
                                     send->longest, send->upload.dataset, most);
    fprintf(stderr, "tacet import: uploading to dataset %s%s\n", send->upload.dataset,
            send->upload.replayed ? ", which an earlier run of this command has made" : "");
    if (to->dataset && send->held > 0)
        fprintf(stderr, "tacet import: it holds %.0f trajectories already\n", send->held);
    return true;
}

/* Writes beside TARGET, with its permissions, what takes its place at the end: a run that fails
 * leaves an earlier output as it was. */
static bool send_open_beside(struct import_send *send)
{
    const char *const inputs[] = {send->options->path, send->options->description};
    struct stat facts;
    char *fresh = memory_format("%s.new", send->target);
    const char *wrong = NULL;
    for (unsigned i = 0; i < 2; i++)
        if (expert_output_is_same(inputs[i], send->target))
            wrong = "--output would be written over a file that is read";
    if (!wrong && lstat(fresh, &facts) == 0)
        wrong = "the import first writes OUTPUT.new, which already exists: move it away";
    if (!wrong && !expert_output_open(&send->file, fresh, 0))
        wrong = send->file.error;
    if (wrong) {
        free(fresh);
        return send_failed(send, wrong);
    }
    send->fresh = fresh;
    if (stat(send->target, &facts) != 0 || fchmod(send->file.handle, facts.st_mode & 0777) == 0)
        return true;
    return send_failed(send, "the permissions of --output cannot be kept");
}

static bool send_open_file(struct import_send *send)
{
    const char *output = send->options->output;
    if (!output || !expert_output_is_regular(output))
        return expert_output_open(&send->file, output, 0) || send_failed(send, send->file.error);
    send->target = realpath(output, NULL); /* of a link, what it leads to */
    if (!send->target)
        send->target = memory_copy_text(output);
    return send_open_beside(send);
}

/* Lets what was written take its place. */
static bool send_close_file(struct import_send *send)
{
    if (!expert_output_close(&send->file))
        return send_failed(send, send->file.error);
    if (send->fresh && rename(send->fresh, send->target) != 0)
        return send_failed(send, "the output cannot take its name");
    free(send->fresh);
    send->fresh = NULL;
    return true;
}

bool import_send_open(struct import_send *send, const struct import_options *options,
                      const struct description *description, const char *text,
                      const unsigned char digest[IMPORT_DIGEST_SIZE], uint32_t longest)
{
    *send = (struct import_send){.options = options,
                                 .description = description,
                                 .digest = digest,
                                 .longest = longest,
                                 .file = {.handle = -1}};
    send->lines = memory_must(open_memstream(&send->part, &send->part_size));
    if (options->to.url)
        return send_open_upload(send, text) || send_failed(send, send->upload.error);
    return send_open_file(send);
}

/* ---- sending */

/* Uploads the SIZE BYTES of a part, compressed. */
static bool send_upload(struct import_send *send, const char *bytes, size_t size)
{
    char what[64], key[DATASET_UPLOAD_KEY_SIZE], again[DATASET_UPLOAD_KEY_SIZE];
    char *smaller = NULL;
    size_t smaller_size = 0;
    unsigned char digest[IMPORT_DIGEST_SIZE];
    crypto_generichash(digest, sizeof digest, (const unsigned char *)bytes, size, NULL, 0);
    snprintf(what, sizeof what, "part %" PRIu64, send->parts);
    send_key(send, what, digest, key);
    snprintf(what, sizeof what, "part %" PRIu64 " with the erased", send->parts);
    send_key(send, what, digest, again);
    if (!deflate_bytes(INFLATE_ZSTD, bytes, size, &smaller, &smaller_size))
        return dataset_upload_failed(&send->upload, "there is not enough memory");
    bool sent = dataset_upload_send(&send->upload, INFLATE_ZSTD, smaller, smaller_size, key,
                                    send->options->accept_erased ? again : NULL);
    free(smaller);
    return sent;
}

/* Sends the part in hand and begins the next. */
static bool send_part(struct import_send *send)
{
    bool whole = !ferror(send->lines);
    whole = fclose(send->lines) == 0 && whole;
    send->lines = NULL;
    if (!whole)
        return send_failed(send, "there is not enough memory");
    if (send->part_size > 0 && send->options->to.url &&
        !send_upload(send, send->part, send->part_size))
        return send_failed(send, send->upload.error);
    if (send->part_size > 0 &&
        !expert_output_write(&send->file, send->options->encoding, send->part, send->part_size))
        return send_failed(send, send->file.error);
    send->parts += send->part_size > 0;
    free(send->part);
    send->part = NULL;
    send->lines = memory_must(open_memstream(&send->part, &send->part_size));
    return true;
}

bool import_send_add(struct import_send *send, const struct trajectory *trajectory,
                     const char *expert)
{
    expert_lines_trajectory(send->lines, expert, trajectory, send->description->dim);
    return ftell(send->lines) < (long)PART_BYTES || send_part(send);
}

/* Says what the server did with the parts, where it did not just add them. */
static void say_parts(const struct import_send *send)
{
    const struct dataset_upload *upload = &send->upload;
    if (upload->had > 0)
        fprintf(stderr,
                "tacet import: of %" PRIu64 " parts the server had %" PRIu64
                " from an earlier run, and added nothing of these again. Experts that were erased "
                "since then stay erased; to bring them back import a file of them alone, with "
                "--accept-erased\n",
                send->parts, upload->had);
    else if (send->held > 0)
        fprintf(stderr,
                "tacet import: warning: dataset %s held %.0f trajectories before, and nothing of "
                "this file: if the file replaces an earlier one, what both have is in the dataset "
                "twice\n",
                upload->dataset, send->held);
    if (upload->brought > 0)
        fprintf(stderr,
                "tacet import: %" PRIu64 " of %" PRIu64
                " parts have experts that were erased from this dataset. They were added as new "
                "experts (--accept-erased); what was erased stays erased\n",
                upload->brought, send->parts);
}

bool import_send_finish(struct import_send *send)
{
    char key[DATASET_UPLOAD_KEY_SIZE];
    if (!send_part(send) || !send_close_file(send))
        return false;
    say_parts(send);
    if (!send->options->to.seal)
        return true;
    send_key(send, "seal", send->digest, key);
    if (!dataset_upload_seal(&send->upload, key))
        return send_failed(send, send->upload.error);
    fprintf(stderr, "tacet import: dataset %s is sealed\n", send->upload.dataset);
    return true;
}

void import_send_close(struct import_send *send)
{
    if (send->lines)
        fclose(send->lines);
    free(send->part);
    (void)expert_output_close(&send->file);
    if (send->fresh)
        (void)unlink(send->fresh);
    free(send->fresh);
    free(send->target);
    dataset_upload_close(&send->upload);
}
