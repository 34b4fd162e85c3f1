#include "cli/proof/witness.h"

#include <dirent.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/proof/key_files.h"
#include "memory/memory.h"
#include "server/os/data_dir.h"

#define PATH_SIZE   1024

#define KEYS_SUFFIX ".keys"

#define ROLLED_BACK "the log has fewer leaves than this witness has cosigned: it was rolled back"

static bool witness_fail(char error[WITNESS_ERROR_SIZE], const char *where, const char *what)
{
    snprintf(error, WITNESS_ERROR_SIZE, "%.300s: %.200s", where, what);
    return false;
}

/* ---- what is remembered */

static bool log_path(const struct witness *witness, const char *suffix, char out[PATH_SIZE],
                     char error[WITNESS_ERROR_SIZE])
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    char hex[33];
    crypto_hash_sha256(hash, (const unsigned char *)witness->origin, strlen(witness->origin));
    sodium_bin2hex(hex, sizeof hex, hash, 16);
    int size = snprintf(out, PATH_SIZE, "%s/%s%s", witness->directory, hex, suffix);
    if (size > 0 && size < PATH_SIZE)
        return true;
    return witness_fail(error, witness->directory, "the name is too long");
}

/* Replaces the file of the log that ends in SUFFIX; it is on disk afterwards. */
static bool write_log_file(const struct witness *witness, const char *suffix, const char *bytes,
                           size_t size, char error[WITNESS_ERROR_SIZE])
{
    char path[PATH_SIZE], why[CLI_ERROR_SIZE];
    if (!log_path(witness, suffix, path, error))
        return false;
    bool good = data_dir_write_whole(path, bytes, size, why, sizeof why) &&
                data_dir_sync(witness->directory);
    return good || witness_fail(error, path, "cannot be written, so nothing was cosigned");
}

bool witness_keys_kept(struct witness *witness, char error[WITNESS_ERROR_SIZE])
{
    char path[PATH_SIZE], why_not[CLI_ERROR_SIZE];
    size_t size = 0;
    if (!log_path(witness, KEYS_SUFFIX, path, error))
        return false;
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return true;
    char *set = cli_read_file(path, KEY_FILES_MOST, &size, why_not);
    const char *why = set ? proof_keys_follow(set, size, &witness->keys) : why_not;
    free(set);
    return !why || witness_fail(error, path, why);
}

/* Keeps which keys have followed others, if any has. */
static bool keep_keys(const struct witness *witness, char error[WITNESS_ERROR_SIZE])
{
    const struct proof_keys *keys = &witness->keys;
    struct buffer set = {.lid = KEY_FILES_MOST};
    bool follow = false;
    for (unsigned i = 0; i < keys->count; i++)
        follow = follow || keys->link[i].follows[0] != '\0';
    if (!follow)
        return true;
    proof_keys_write(keys, &set);
    bool good = write_log_file(witness, KEYS_SUFFIX, set.bytes, set.size, error);
    buffer_clear(&set);
    return good;
}

/* Whether a key that no other one has followed has signed the checkpoint NOTE. */
static bool is_signed_last(const struct witness *witness, const char *note, size_t size)
{
    const struct proof_keys *keys = &witness->keys;
    struct tlog_checkpoint read;
    for (unsigned i = 0; i < keys->count; i++)
        if (proof_keys_next(keys, keys->key[i]) == keys->count &&
            !tlog_checkpoint_read(note, size, keys->key[i], &read))
            return true;
    return false;
}

/* Reads a checkpoint that one of the log's keys signed. */
static const char *read_signed(const struct witness *witness, const char *note, size_t size,
                               struct tlog_checkpoint *out)
{
    const char *why = proof_checkpoint_read(note, size, &witness->keys, out);
    if (!why && strcmp(out->origin, witness->origin) != 0)
        return "it is the checkpoint of a log of another origin; a service that was restored from "
               "a backup has a new log";
    return why;
}

/* Reads what WITNESS knows; a size of 0: nothing. */
static bool read_known(const struct witness *witness, struct tlog_checkpoint *out,
                       char error[WITNESS_ERROR_SIZE])
{
    char path[PATH_SIZE], why_not[CLI_ERROR_SIZE];
    size_t size = 0;
    out->size = 0;
    if (!log_path(witness, "", path, error))
        return false;
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return true;
    char *note = cli_read_file(path, TLOG_NOTE_MOST, &size, why_not);
    const char *why = note ? read_signed(witness, note, size, out) : why_not;
    free(note);
    return !why || witness_fail(error, path, why);
}

bool witness_known(const struct witness *witness, int64_t *out, char error[WITNESS_ERROR_SIZE])
{
    struct tlog_checkpoint known;
    bool good = read_known(witness, &known, error);
    *out = good ? known.size : 0;
    return good;
}

/* ---- cosigning */

/* Why the log of NOW does not go on from KNOWN by the proof of REQUEST; NULL: it does. */
static const char *compare_logs(const struct tlog_checkpoint *known,
                                const struct tlog_checkpoint *now, const struct tlog_text *request)
{
    if (now->size < known->size)
        return ROLLED_BACK;
    if (now->size == known->size && known->size > 0 &&
        memcmp(now->root, known->root, MERKLE_HASH_SIZE) != 0)
        return "the log has other leaves than this witness has cosigned: these are two histories";
    if (request->number != known->size)
        return "the proof does not begin at the size that this witness has cosigned";
    if (!merkle_consistency_holds((uint64_t)known->size, known->root, (uint64_t)now->size,
                                  now->root, &request->proof))
        return "it is not proven that the log goes on from what this witness has cosigned";
    return NULL;
}

/* What came, whose checkpoint of so many LEAVES is signed. */
struct refused {
    const char *text;
    size_t size;
    int64_t leaves;
};

/* Whether the directory has WITNESS_REFUSED_MOST refused checkpoints of the log. */
static bool has_refused_enough(const struct witness *witness)
{
    static const char suffix[] = ".refused";
    char path[PATH_SIZE], error[WITNESS_ERROR_SIZE];
    const struct dirent *file;
    unsigned count = 0;
    if (!log_path(witness, "", path, error))
        return false;
    const char *name = strrchr(path, '/') + 1;
    DIR *directory = opendir(witness->directory);
    while (directory && (file = readdir(directory))) {
        size_t size = strlen(file->d_name);
        count += strncmp(file->d_name, name, strlen(name)) == 0 && size >= sizeof suffix &&
                 strcmp(file->d_name + size + 1 - sizeof suffix, suffix) == 0;
    }
    if (directory)
        closedir(directory);
    return count >= WITNESS_REFUSED_MOST;
}

/* Reads the last cosigned checkpoint as it is on disk; "" for none. NULL: it cannot be read. */
static char *read_cosigned(const struct witness *witness, size_t *out_size)
{
    char path[PATH_SIZE], error[CLI_ERROR_SIZE];
    *out_size = 0;
    if (!log_path(witness, "", path, error))
        return NULL;
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return memory_copy_text("");
    return cli_read_file(path, TLOG_NOTE_MOST, out_size, error);
}

/* Writes TEXT, refused beside COSIGNED ("": nothing was), unless both are there already. NULL, or
 * why they are not kept. */
static const char *write_refused(const struct witness *witness, const struct refused *refused,
                                 const char *cosigned, size_t cosigned_size)
{
    char suffix[2][80], path[PATH_SIZE], digest[33], error[WITNESS_ERROR_SIZE];
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, (const unsigned char *)refused->text, refused->size);
    crypto_hash_sha256_update(&state, (const unsigned char *)cosigned, cosigned_size);
    crypto_hash_sha256_final(&state, hash);
    sodium_bin2hex(digest, sizeof digest, hash, 16);
    snprintf(suffix[0], sizeof suffix[0], ".%lld-%s.cosigned", (long long)refused->leaves, digest);
    snprintf(suffix[1], sizeof suffix[1], ".%lld-%s.refused", (long long)refused->leaves, digest);
    if (log_path(witness, suffix[1], path, error) && access(path, F_OK) == 0)
        return NULL;
    if (has_refused_enough(witness))
        return "this is not kept, because the directory has 1000 refused checkpoints of this log; "
               "move them to another place";
    if ((cosigned_size == 0 ||
         write_log_file(witness, suffix[0], cosigned, cosigned_size, error)) &&
        write_log_file(witness, suffix[1], refused->text, refused->size, error))
        return NULL;
    return "this is not kept, because the directory cannot be written";
}

/* Keeps REFUSED and says WHY it was refused. */
static void keep_refused(const struct witness *witness, const struct refused *refused,
                         const char *why, char error[WITNESS_ERROR_SIZE])
{
    size_t size = 0;
    char *cosigned = read_cosigned(witness, &size);
    const char *unkept = "this is not kept, because what was cosigned cannot be read";
    if (cosigned)
        unkept = write_refused(witness, refused, cosigned, size);
    free(cosigned);
    snprintf(error, WITNESS_ERROR_SIZE, "%.127s: %.200s%s%s", witness->origin, why,
             unkept ? "; " : "", unkept ? unkept : "");
}

void witness_refuse(const struct witness *witness, const char *note, size_t size,
                    char error[WITNESS_ERROR_SIZE])
{
    struct tlog_checkpoint known, now;
    const char *why = read_signed(witness, note, size, &now);
    if (why) {
        (void)witness_fail(error, witness->origin, why);
        return;
    }
    if (!read_known(witness, &known, error))
        return;
    why = ROLLED_BACK;
    if (now.size >= known.size)
        why = "the service gives no proof that the log goes on from what this witness has cosigned";
    keep_refused(witness, &(struct refused){note, size, now.size}, why, error);
}

bool witness_cosign(const struct witness *witness, const char *request, size_t size, int64_t time_s,
                    struct buffer *out, char error[WITNESS_ERROR_SIZE])
{
    struct tlog_checkpoint known = {.size = 0}, now;
    struct tlog_text text;
    if (!tlog_request_read(request, size, &text))
        return witness_fail(
            error, witness->origin,
            "this is no request to a witness, which GET /v1/ledger/proofs/consistency?old=SIZE "
            "gives (SIZE: of the checkpoint that it cosigned last, or 0)");
    const char *why = read_signed(witness, text.note, text.note_size, &now);
    if (why)
        return witness_fail(error, witness->origin, why);
    if (!read_known(witness, &known, error))
        return false;
    why = compare_logs(&known, &now, &text);
    if (!why && !is_signed_last(witness, text.note, text.note_size))
        why = "the checkpoint has no signature of the newest key: another one has followed its key";
    if (why) {
        keep_refused(witness, &(struct refused){request, size, now.size}, why, error);
        return false;
    }
    struct buffer note = {.lid = TLOG_NOTE_MOST};
    (void)buffer_add(&note, text.note, text.note_size);
    tlog_cosignature_add(&note, text.note, text.note_size, witness->name, witness->secret_key,
                         time_s);
    bool good = !note.failed || witness_fail(error, witness->origin, "the checkpoint is too long");
    good = good && keep_keys(witness, error) &&
           write_log_file(witness, "", note.bytes, note.size, error);
    if (good)
        (void)buffer_add(out, note.bytes, note.size);
    buffer_clear(&note);
    return good;
}
