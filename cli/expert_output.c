/* Output uses descriptors, not streams, because the exact number of written bytes must be known. */
#include "cli/expert_output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/wire/deflate.h"

static bool output_failed(struct expert_output *output)
{
    snprintf(output->error, sizeof output->error, "cannot write %s: %s", output->name,
             strerror(errno));
    return false;
}

bool expert_output_is_regular(const char *path)
{
    struct stat facts;
    return stat(path, &facts) != 0 || S_ISREG(facts.st_mode);
}

bool expert_output_is_same(const char *a, const char *b)
{
    struct stat one, two;
    return strcmp(a, b) == 0 || (stat(a, &one) == 0 && stat(b, &two) == 0 && S_ISREG(one.st_mode) &&
                                 one.st_dev == two.st_dev && one.st_ino == two.st_ino);
}

/* Cuts a regular file to KEEP bytes and goes to its end. */
static bool cut_output(struct expert_output *output, uint64_t keep)
{
    struct stat facts;
    if (fstat(output->handle, &facts) != 0)
        return output_failed(output);
    output->regular = S_ISREG(facts.st_mode);
    if (!output->regular)
        return true;
    if ((uint64_t)facts.st_size < keep) {
        snprintf(output->error, sizeof output->error,
                 "%s has fewer bytes than were written (%" PRIu64
                 "): remove the state file to begin anew",
                 output->name, keep);
        return false;
    }
    output->size = keep;
    return (ftruncate(output->handle, (off_t)keep) == 0 &&
            lseek(output->handle, 0, SEEK_END) >= 0) ||
           output_failed(output);
}

bool expert_output_open(struct expert_output *output, const char *path, uint64_t keep)
{
    *output =
        (struct expert_output){.name = path ? path : "standard output", .handle = STDOUT_FILENO};
    if (!path)
        return true; /* never cut: it may be a file that others append to */
    output->handle = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (output->handle < 0)
        return output_failed(output);
    return cut_output(output, keep);
}

static bool write_bytes(struct expert_output *output, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t n = write(output->handle, bytes, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return output_failed(output);
        bytes += n;
        size -= (size_t)n;
        output->size += (uint64_t)n;
    }
    return !output->regular || fdatasync(output->handle) == 0 || output_failed(output);
}

bool expert_output_write(struct expert_output *output, enum inflate_encoding encoding,
                         const char *bytes, size_t size)
{
    char *smaller = NULL;
    size_t smaller_size = 0;
    if (output->handle < 0)
        return true;
    if (encoding == INFLATE_IDENTITY)
        return write_bytes(output, bytes, size);
    if (!deflate_bytes(encoding, bytes, size, &smaller, &smaller_size)) {
        errno = ENOMEM;
        return output_failed(output);
    }
    bool written = write_bytes(output, smaller, smaller_size);
    free(smaller);
    return written;
}

bool expert_output_close(struct expert_output *output)
{
    int handle = output->handle;
    output->handle = -1;
    if (handle < 0 || handle == STDOUT_FILENO)
        return true;
    return close(handle) == 0 || output_failed(output);
}
