#include "api/call/tlog.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define VARIANT       sodium_base64_VARIANT_ORIGINAL
#define BASE64_OF(n)  (((n) + 2) / 3 * 4 + 1) /* with NUL */
#define DASH          "\xe2\x80\x94 "         /* an em dash and a space */
#define KEY_ID        4
#define TIMESTAMP     8
#define PROOF_HEAD    "c2sp.org/tlog-proof@v1\n"
#define SIGNATURE_MAX (KEY_ID + TIMESTAMP + crypto_sign_BYTES)

enum key_type { KEY_LOG = 1, KEY_WITNESS = 4 };

bool tlog_name_good(const char *name)
{
    const char *c = name;
    for (; *c != '\0'; c++)
        if (*c <= ' ' || *c >= 0x7f || *c == '+')
            return false;
    return c > name && c - name < TLOG_NAME_SIZE;
}

static void add_base64(struct buffer *out, const unsigned char *bytes, size_t size)
{
    char text[BASE64_OF(SIGNATURE_MAX)];
    (void)buffer_add_text(out, sodium_bin2base64(text, sizeof text, bytes, size, VARIANT));
}

/* Reads the SIZE bytes that the LENGTH characters at TEXT stand for, written in the one way. */
static bool read_base64(const char *text, size_t length, unsigned char *out, size_t size)
{
    char again[BASE64_OF(SIGNATURE_MAX)];
    size_t got = 0;
    if (length != BASE64_OF(size) - 1 ||
        sodium_base642bin(out, size, text, length, NULL, &got, NULL, VARIANT) != 0 || got != size)
        return false;
    sodium_bin2base64(again, sizeof again, out, size, VARIANT);
    return memcmp(again, text, length) == 0;
}

/* ---- keys and signature lines */

static void note_key_id(const char *name, enum key_type type, const unsigned char key[32],
                        unsigned char out[KEY_ID])
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    const unsigned char middle[] = {'\n', (unsigned char)type};
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, (const unsigned char *)name, strlen(name));
    crypto_hash_sha256_update(&state, middle, sizeof middle);
    crypto_hash_sha256_update(&state, key, 32);
    crypto_hash_sha256_final(&state, hash);
    memcpy(out, hash, KEY_ID);
}

void tlog_key_add(struct buffer *out, const char *name, const unsigned char key[32], bool witness)
{
    unsigned char id[KEY_ID], typed[33] = {witness ? KEY_WITNESS : KEY_LOG};
    note_key_id(name, witness ? KEY_WITNESS : KEY_LOG, key, id);
    memcpy(typed + 1, key, 32);
    (void)buffer_add_format(out, "%s+%02x%02x%02x%02x+", name, id[0], id[1], id[2], id[3]);
    add_base64(out, typed, sizeof typed);
}

bool tlog_key_read(const char *text, char name[TLOG_NAME_SIZE], unsigned char key[32])
{
    struct buffer again = {.lid = TLOG_NAME_SIZE + 80};
    unsigned char typed[33];
    size_t length = strcspn(text, "+"), id = length + 2 + 2 * (size_t)KEY_ID;
    if (length >= TLOG_NAME_SIZE || strlen(text) < id ||
        !read_base64(text + id, strlen(text + id), typed, sizeof typed))
        return false;
    snprintf(name, TLOG_NAME_SIZE, "%.*s", (int)length, text);
    memcpy(key, typed + 1, 32);
    tlog_key_add(&again, name, key, true);
    bool good = tlog_name_good(name) && !again.failed && strcmp(again.bytes, text) == 0;
    buffer_clear(&again);
    return good;
}

static void add_signature(struct buffer *out, const char *name, const unsigned char *bytes,
                          size_t size)
{
    (void)buffer_add_format(out, DASH "%s ", name);
    add_base64(out, bytes, size);
    (void)buffer_add_text(out, "\n");
}

/* Finds the empty line of NOTE that ends its text: *OUT_TEXT are the bytes before it. */
static bool split_note(const char *note, size_t size, size_t *out_text)
{
    if (size > TLOG_NOTE_MOST || size == 0 || note[size - 1] != '\n' || memchr(note, '\0', size))
        return false;
    for (size_t at = size - 1; at > 0; at--) {
        if (note[at] == '\n' && note[at - 1] == '\n') {
            *out_text = at;
            return true;
        }
    }
    return false;
}

/* Finds the next signature line, from *AT on, of the key NAME of TYPE, and reads its bytes behind
 * the key's id. False: there is none. */
static bool next_signature(const char **at, const char *end, const char *name, enum key_type type,
                           const unsigned char key[32], unsigned char *out, size_t size)
{
    unsigned char id[KEY_ID], bytes[SIGNATURE_MAX];
    size_t length = strlen(name), dash = sizeof DASH - 1;
    note_key_id(name, type, key, id);
    while (*at < end) {
        const char *line = *at, *stop = memchr(line, '\n', (size_t)(end - line));
        const char *value = line + dash + length + 1;
        *at = stop + 1;
        if (value >= stop || memcmp(line, DASH, dash) != 0 ||
            memcmp(line + dash, name, length) != 0 || value[-1] != ' ' ||
            !read_base64(value, (size_t)(stop - value), bytes, KEY_ID + size) ||
            memcmp(bytes, id, KEY_ID) != 0)
            continue;
        memcpy(out, bytes + KEY_ID, size);
        return true;
    }
    return false;
}

/* ---- checkpoints */

#define HEAD_SIZE (TLOG_NAME_SIZE + 80)

/* Writes the text that is signed and gives its size. */
static size_t write_tree_head(const struct tlog_checkpoint *checkpoint, char out[HEAD_SIZE])
{
    char root[BASE64_OF(MERKLE_HASH_SIZE)];
    sodium_bin2base64(root, sizeof root, checkpoint->root, MERKLE_HASH_SIZE, VARIANT);
    return (size_t)snprintf(out, HEAD_SIZE, "%s\n%lld\n%s\n", checkpoint->origin,
                            (long long)checkpoint->size, root);
}

void tlog_signature_add(struct buffer *out, const struct tlog_checkpoint *checkpoint,
                        const unsigned char *secret_key)
{
    unsigned char signature[KEY_ID + crypto_sign_BYTES];
    char text[HEAD_SIZE];
    size_t size = write_tree_head(checkpoint, text);
    note_key_id(checkpoint->origin, KEY_LOG, secret_key + 32, signature);
    crypto_sign_detached(signature + KEY_ID, NULL, (const unsigned char *)text, size, secret_key);
    add_signature(out, checkpoint->origin, signature, sizeof signature);
}

void tlog_checkpoint_add(struct buffer *out, const struct tlog_checkpoint *checkpoint,
                         const unsigned char *secret_key)
{
    char text[HEAD_SIZE];
    (void)write_tree_head(checkpoint, text);
    (void)buffer_add_format(out, "%s\n", text);
    tlog_signature_add(out, checkpoint, secret_key);
}

/* Reads a number, written in the one way, that ends with the newline at STOP. */
static bool read_tree_size(const char *at, const char *stop, int64_t *out)
{
    int64_t value = 0;
    if (at == stop || (*at == '0' && stop - at > 1) || stop - at > 18)
        return false;
    for (; at < stop; at++) {
        if (*at < '0' || *at > '9')
            return false;
        value = value * 10 + (*at - '0');
    }
    *out = value;
    return true;
}

/* Reads the text of a checkpoint without extension lines. */
static bool read_tree_head(const char *text, size_t size, struct tlog_checkpoint *out)
{
    const char *line[3], *stop[3], *at = text, *end = text + size;
    for (unsigned i = 0; i < 3; i++) {
        line[i] = at;
        stop[i] = memchr(at, '\n', (size_t)(end - at));
        if (!stop[i])
            return false;
        at = stop[i] + 1;
    }
    size_t length = (size_t)(stop[0] - line[0]);
    if (at != end || length >= TLOG_NAME_SIZE)
        return false;
    memcpy(out->origin, line[0], length);
    out->origin[length] = '\0';
    return tlog_name_good(out->origin) && read_tree_size(line[1], stop[1], &out->size) &&
           read_base64(line[2], (size_t)(stop[2] - line[2]), out->root, MERKLE_HASH_SIZE);
}

const char *tlog_checkpoint_read(const char *note, size_t size, const unsigned char key[32],
                                 struct tlog_checkpoint *out)
{
    unsigned char signature[crypto_sign_BYTES];
    size_t text = 0;
    if (!split_note(note, size, &text) || !read_tree_head(note, text, out))
        return "it is no checkpoint of a log";
    const char *at = note + text + 1;
    if (!next_signature(&at, note + size, out->origin, KEY_LOG, key, signature, sizeof signature))
        return "the checkpoint is signed with the key of another log";
    if (crypto_sign_verify_detached(signature, (const unsigned char *)note, text, key) != 0)
        return "the signature of the checkpoint does not hold: it was changed";
    return NULL;
}

/* ---- cosignatures */

/* Writes what a witness signs of the first SIZE bytes of NOTE. */
static void add_cosigned(struct buffer *out, const char *note, size_t size, int64_t time_s)
{
    (void)buffer_add_format(out, "cosignature/v1\ntime %lld\n", (long long)time_s);
    (void)buffer_add(out, note, size);
}

void tlog_cosignature_add(struct buffer *out, const char *note, size_t size, const char *name,
                          const unsigned char *secret_key, int64_t time_s)
{
    struct buffer message = {.lid = 2 * TLOG_NOTE_MOST};
    unsigned char bytes[SIGNATURE_MAX];
    size_t text = 0;
    if (!split_note(note, size, &text)) {
        out->failed = true;
        return;
    }
    add_cosigned(&message, note, text, time_s);
    note_key_id(name, KEY_WITNESS, secret_key + 32, bytes);
    for (unsigned i = 0; i < TIMESTAMP; i++)
        bytes[KEY_ID + i] = (unsigned char)((uint64_t)time_s >> (8 * (TIMESTAMP - 1 - i)));
    out->failed = out->failed || message.failed;
    crypto_sign_detached(bytes + KEY_ID + TIMESTAMP, NULL, (const unsigned char *)message.bytes,
                         message.size, secret_key);
    buffer_clear(&message);
    add_signature(out, name, bytes, sizeof bytes);
}

const char *tlog_cosigned(const char *note, size_t size, const char *name,
                          const unsigned char key[32], int64_t *out_time_s)
{
    unsigned char bytes[TIMESTAMP + crypto_sign_BYTES];
    const char *why = "the checkpoint has no cosignature of this witness and key";
    uint64_t time_s = 0;
    size_t text = 0;
    if (!split_note(note, size, &text))
        return "it is no checkpoint of a log";
    const char *at = note + text + 1;
    while (next_signature(&at, note + size, name, KEY_WITNESS, key, bytes, sizeof bytes)) {
        struct buffer message = {.lid = 2 * TLOG_NOTE_MOST};
        time_s = 0;
        for (unsigned i = 0; i < TIMESTAMP; i++)
            time_s = time_s << 8 | bytes[i];
        add_cosigned(&message, note, text, (int64_t)time_s);
        bool holds = !message.failed && time_s <= INT64_MAX &&
                     crypto_sign_verify_detached(bytes + TIMESTAMP, (unsigned char *)message.bytes,
                                                 message.size, key) == 0;
        buffer_clear(&message);
        *out_time_s = (int64_t)time_s;
        if (holds)
            return NULL;
        why = "the cosignature of the witness is not of this checkpoint, or was changed";
    }
    return why;
}

/* ---- proofs and requests */

static void add_hashes(struct buffer *out, const struct merkle_proof *proof)
{
    for (unsigned i = 0; i < proof->count; i++) {
        add_base64(out, proof->hash[i], MERKLE_HASH_SIZE);
        (void)buffer_add_text(out, "\n");
    }
    (void)buffer_add_text(out, "\n");
}

void tlog_proof_add(struct buffer *out, int64_t number, const struct merkle_proof *proof)
{
    (void)buffer_add_format(out, PROOF_HEAD "index %lld\n", (long long)number);
    add_hashes(out, proof);
}

void tlog_request_add(struct buffer *out, int64_t number, const struct merkle_proof *proof)
{
    (void)buffer_add_format(out, "old %lld\n", (long long)number);
    add_hashes(out, proof);
}

/* Reads TEXT from behind HEAD: a number, hashes, an empty line, and the rest is a note. */
static bool read_hashes_of(const char *text, size_t size, const char *head, struct tlog_text *out)
{
    const char *end = text + size, *at = text + strlen(head), *stop;
    if (size > TLOG_TEXT_MOST || size < strlen(head) || memcmp(text, head, strlen(head)) != 0 ||
        !(stop = memchr(at, '\n', (size_t)(end - at))) || !read_tree_size(at, stop, &out->number))
        return false;
    for (out->proof.count = 0;; out->proof.count++) {
        at = stop + 1;
        stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop)
            return false;
        if (stop == at)
            break;
        if (out->proof.count == MERKLE_PROOF_MAX - 1 ||
            !read_base64(at, (size_t)(stop - at), out->proof.hash[out->proof.count],
                         MERKLE_HASH_SIZE))
            return false;
    }
    out->note = stop + 1;
    out->note_size = (size_t)(end - out->note);
    return true;
}

bool tlog_proof_read(const char *text, size_t size, struct tlog_text *out)
{
    return read_hashes_of(text, size, PROOF_HEAD "index ", out);
}

bool tlog_request_read(const char *text, size_t size, struct tlog_text *out)
{
    return read_hashes_of(text, size, "old ", out);
}
