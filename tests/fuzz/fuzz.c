#include "tests/fuzz/fuzz.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static long fuzz_read(void *context, unsigned char *buffer, size_t size)
{
    struct fuzz_source *source = context;
    size_t left = source->size - source->at;
    size = size < left ? size : left;
    size = source->step != 0 && source->step < size ? source->step : size;
    if (size > 0)
        memcpy(buffer, source->data + source->at, size);
    source->at += size;
    return (long)size;
}

struct byte_reader fuzz_reader(struct fuzz_source *source)
{
    return (struct byte_reader){source, fuzz_read};
}

void fuzz_add(uint64_t *sum, const void *bytes, size_t size)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < size; i++)
        *sum = (*sum ^ p[i]) * UINT64_C(0x100000001b3);
}

void *fuzz_copy(const uint8_t *data, size_t size, bool text)
{
    char *copy = malloc(size + text);
    assert(copy || size + text == 0);
    if (size > 0)
        memcpy(copy, data, size);
    if (text)
        copy[size] = '\0';
    return copy;
}

uint8_t fuzz_byte(const uint8_t **data, size_t *size)
{
    if (*size == 0)
        return 0;
    (*size)--;
    return *(*data)++;
}

const char *fuzz_file(const uint8_t *data, size_t size)
{
    static int file = -1; /* as long as the process */
    static char path[64];
    if (file < 0) {
        file = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    if (file < 0 || ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != (ssize_t)size)
        abort();
    return path;
}

static char directory[64]; /* "" until it is made */

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *walk)
{
    (void)facts;
    (void)kind;
    (void)walk;
    return remove(path);
}

static void remove_directory(void)
{
    nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *fuzz_directory(void)
{
    if (directory[0] == '\0') {
        const char *where = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        snprintf(directory, sizeof directory, "%s/tacet-fuzz-XXXXXX", where);
        if (!mkdtemp(directory))
            abort();
        atexit(remove_directory);
    }
    return directory;
}
