#include "storage/marks/marks_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIGITS           (2 * MARKS_DIGEST_SIZE)
#define END_BYTES        (2 + DIGITS + 1) /* of an end line */
#define HEAD_FORMAT      "tacet-marks 1 %31s"
#define MARKS_FILE_GROWS ((off_t)1 << 16)

/* ---- digests */

/* The digest of SIZE bytes of LINES behind what has the digest BEFORE. */
static void lines_digest(const struct marks_file *file, const unsigned char *before,
                         const char *lines, size_t size, unsigned char out[MARKS_DIGEST_SIZE])
{
    crypto_generichash_state state;
    crypto_generichash_init(&state, file->key, MARKS_KEY_SIZE, MARKS_DIGEST_SIZE);
    crypto_generichash_update(&state, before, MARKS_DIGEST_SIZE);
    crypto_generichash_update(&state, (const unsigned char *)lines, size);
    crypto_generichash_final(&state, out, MARKS_DIGEST_SIZE);
}

/* Ends LINES, whose first ones have no digest yet, by a line with it. */
static void end_lines(const struct marks_file *file, const unsigned char *before,
                      struct buffer *lines, unsigned char digest[MARKS_DIGEST_SIZE])
{
    char digits[DIGITS + 1];
    lines_digest(file, before, lines->bytes, lines->size, digest);
    sodium_bin2hex(digits, sizeof digits, digest, MARKS_DIGEST_SIZE);
    (void)buffer_add_format(lines, "= %s\n", digits);
}

/* ---- opening */

/* Locks the directory, unless its lock is the one that FILE has. False: errno says why not. */
static bool take_marks_lock(struct marks_file *file)
{
    char path[sizeof file->path];
    struct stat held, named;
    snprintf(path, sizeof path, "%s/lock", file->directory);
    if (file->lock >= 0 && fstat(file->lock, &held) == 0 && stat(path, &named) == 0 &&
        held.st_ino == named.st_ino)
        return true;
    int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (lock < 0)
        return false;
    if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
        int why = errno;
        close(lock);
        errno = why;
        return false;
    }
    if (file->lock >= 0)
        close(file->lock);
    file->lock = lock;
    return true;
}

bool marks_file_open(struct marks_file *file, const char *directory,
                     const unsigned char key[MARKS_KEY_SIZE], char *error, size_t error_size)
{
    *file = (struct marks_file){.lock = -1, .file = -1};
    memcpy(file->key, key, MARKS_KEY_SIZE);
    if (strlen(directory) >= sizeof file->directory) {
        snprintf(error, error_size, "the name of the directory of marks is too long");
        return false;
    }
    snprintf(file->directory, sizeof file->directory, "%s", directory);
    snprintf(file->path, sizeof file->path, "%s/marks", directory);
    if (take_marks_lock(file))
        return true;
    int why = errno;
    const char *advice = "";
    if (why == ENOENT)
        advice = ": mount it, or make it (it is never made, so that a missing mount is noticed)";
    else if (why == EROFS)
        advice = ": the unit of systemd needs ReadWritePaths= for it";
    if (why == EWOULDBLOCK)
        snprintf(error, error_size, "%.200s: a service that runs writes its marks here", directory);
    else
        snprintf(error, error_size, "the directory of marks %.200s cannot be used: %s%s", directory,
                 strerror(why), advice);
    marks_file_close(file);
    return false;
}

void marks_file_close(struct marks_file *file)
{
    if (file->file >= 0)
        close(file->file);
    if (file->lock >= 0)
        close(file->lock);
    sodium_memzero(file, sizeof *file);
    file->file = file->lock = -1;
}

/* ---- reading */

static bool read_name(const char *line, struct mark *mark, int *out_end)
{
    char kind[16], resource[ID_SIZE], client[ID_SIZE];
    if (sscanf(line, "%*c %15s %31s %31s%n", kind, resource, client, out_end) != 3)
        return false;
    snprintf(mark->name, sizeof mark->name, "%s %s %s", kind, resource, client);
    return true;
}

static bool read_mark_line(const char *line, marks_file_fn *each, void *context)
{
    struct mark mark = {.orphan = line[0] == 'o'};
    int64_t key_ms;
    int end = 0;
    if (sscanf(line, "k %" SCNd64, &key_ms) == 1) {
        each(context, NULL, key_ms);
        return true;
    }
    if ((line[0] != 'a' && line[0] != 'o') || !read_name(line, &mark, &end) ||
        sscanf(line + end, " %" SCNd64 " %" SCNd64 " %lf %lf %" SCNd64, &mark.used.units,
               &mark.used.delta, &mark.epsilon, &mark.delta, &mark.entries) != 5)
        return false;
    each(context, &mark, 0);
    return true;
}

/* Shows the lines from TEXT to END, in which newlines become NULs. */
static bool read_mark_lines(char *text, const char *end, char life[MARKS_LIFE_SIZE], bool first,
                            marks_file_fn *each, void *context)
{
    for (char *line = text; line < end; line += strlen(line) + 1) {
        *strchr(line, '\n') = '\0';
        bool good = first && line == text ? sscanf(line, HEAD_FORMAT, life) == 1
                                          : read_mark_line(line, each, context);
        if (!good)
            return false;
    }
    return true;
}

/* The end line from TEXT on, at the beginning of a line; NULL: there is none. */
static char *find_end(char *text)
{
    if (strncmp(text, "= ", 2) == 0)
        return text;
    char *found = strstr(text, "\n= ");
    return found ? found + 1 : NULL;
}

/* Whether the end line at END is that of the lines from TEXT on; FILE goes on from it. */
static bool ends_lines(struct marks_file *file, const char *text, const char *end)
{
    unsigned char digest[MARKS_DIGEST_SIZE];
    char digits[DIGITS + 1];
    lines_digest(file, file->digest, text, (size_t)(end - text), digest);
    sodium_bin2hex(digits, sizeof digits, digest, sizeof digest);
    if (strncmp(end + 2, digits, DIGITS) != 0 || end[2 + DIGITS] != '\n')
        return false;
    memcpy(file->digest, digest, sizeof digest);
    return true;
}

static enum marks_found read_marks_text(struct marks_file *file, char *text,
                                        char life[MARKS_LIFE_SIZE], marks_file_fn *each,
                                        void *context)
{
    bool first = true;
    char *end;
    memset(file->digest, 0, sizeof file->digest);
    while ((end = find_end(text))) {
        bool cut = strlen(end) < END_BYTES; /* it was never confirmed */
        if (cut || !ends_lines(file, text, end))
            return first || !cut ? MARKS_DAMAGED : MARKS_FOUND;
        if (!read_mark_lines(text, end, life, first, each, context))
            return MARKS_DAMAGED;
        first = false;
        text = end + END_BYTES;
    }
    return first ? MARKS_DAMAGED : MARKS_FOUND;
}

enum marks_found marks_file_read(struct marks_file *file, char life[MARKS_LIFE_SIZE],
                                 marks_file_fn *each, void *context)
{
    struct stat status;
    int handle = open(file->path, O_RDONLY | O_CLOEXEC);
    if (handle < 0)
        return errno == ENOENT ? MARKS_NONE : MARKS_UNREAD;
    enum marks_found found = MARKS_UNREAD;
    char *text = fstat(handle, &status) == 0 ? malloc((size_t)status.st_size + 1) : NULL;
    size_t size = 0;
    ssize_t n = 1;
    while (text && size < (size_t)status.st_size &&
           (n = read(handle, text + size, (size_t)status.st_size - size)) > 0)
        size += (size_t)n;
    if (text && n >= 0) {
        text[size] = '\0';
        found = read_marks_text(file, text, life, each, context);
    }
    free(text);
    close(handle);
    if (found == MARKS_FOUND)
        snprintf(file->life, sizeof file->life, "%s", life);
    return found;
}

/* ---- writing */

void marks_file_line(struct buffer *lines, const struct mark *mark)
{
    (void)buffer_add_format(lines, "%c %s %" PRId64 " %" PRId64 " %.17g %.17g %" PRId64 "\n",
                            mark->orphan ? 'o' : 'a', mark->name, mark->used.units,
                            mark->used.delta, mark->epsilon, mark->delta, mark->entries);
}

static bool write_marks_bytes(int handle, const char *bytes, size_t size, off_t at)
{
    while (size > 0) {
        ssize_t n = pwrite(handle, bytes, size, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

bool marks_file_stands(const struct marks_file *file)
{
    struct stat status;
    return file->file >= 0 && stat(file->path, &status) == 0 && status.st_ino == file->inode;
}

bool marks_file_has_grown(const struct marks_file *file)
{
    return file->size > 2 * file->whole_size + MARKS_FILE_GROWS;
}

bool marks_file_append(struct marks_file *file, struct buffer *lines)
{
    unsigned char digest[MARKS_DIGEST_SIZE];
    end_lines(file, file->digest, lines, digest);
    if (lines->failed || !marks_file_stands(file) ||
        !write_marks_bytes(file->file, lines->bytes, lines->size, file->size) ||
        fdatasync(file->file) != 0)
        return false;
    file->size += (off_t)lines->size;
    memcpy(file->digest, digest, sizeof digest);
    return true;
}

static bool sync_marks_directory(const char *directory)
{
    int handle = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool synced = handle >= 0 && fsync(handle) == 0;
    if (handle >= 0)
        close(handle);
    return synced;
}

/* Whether the file may be written over. errno says why not. */
static bool may_replace_marks(struct marks_file *file)
{
    char head[64] = "", life[MARKS_LIFE_SIZE] = "";
    if (!take_marks_lock(file))
        return false;
    if (marks_file_stands(file))
        return true;
    int handle = open(file->path, O_RDONLY | O_CLOEXEC);
    if (handle < 0)
        return errno == ENOENT;
    ssize_t n = read(handle, head, sizeof head - 1);
    close(handle);
    bool same = n > 0 && sscanf(head, HEAD_FORMAT, life) == 1 && strcmp(life, file->life) == 0;
    if (!same)
        errno = ESTALE;
    return same;
}

bool marks_file_replace(struct marks_file *file, const char *life, const struct buffer *lines)
{
    static const unsigned char none[MARKS_DIGEST_SIZE];
    unsigned char digest[MARKS_DIGEST_SIZE];
    if (!may_replace_marks(file))
        return false;
    char draft[sizeof file->path + 8];
    struct stat status;
    struct buffer whole = {.lid = MARKS_FILE_MOST};
    (void)buffer_add_format(&whole, "tacet-marks 1 %s\n", life);
    (void)buffer_add(&whole, lines->bytes, lines->size);
    end_lines(file, none, &whole, digest);
    snprintf(draft, sizeof draft, "%s.new", file->path);
    int handle = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR);
    bool done = handle >= 0 && !lines->failed && !whole.failed &&
                write_marks_bytes(handle, whole.bytes, whole.size, 0) && fsync(handle) == 0 &&
                fstat(handle, &status) == 0 && rename(draft, file->path) == 0 &&
                sync_marks_directory(file->directory);
    if (done) {
        if (file->file >= 0)
            close(file->file);
        file->file = handle;
        file->size = file->whole_size = (off_t)whole.size;
        file->inode = status.st_ino;
        memcpy(file->digest, digest, sizeof digest);
        snprintf(file->life, sizeof file->life, "%s", life);
    } else if (handle >= 0) {
        close(handle);
    }
    buffer_clear(&whole);
    return done;
}
