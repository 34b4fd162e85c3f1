/* The state file:
 *
 *   tacet experts 1
 *   flags environment=cartpole experts=300 ...
 *   dataset ds_7q2m...
 *   done 1 731022 0 0x1.8p+5 0x1.1p+6 0x1.9p+7
 *
 * "done" has the number of settings so far, the sizes of the two outputs and the returns of the
 * setting's experts, exact in hexadecimal. */
#include "cli/expert_state.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "algos/online/experts.h"
#include "memory/memory.h"

#define FIRST_LINE "tacet experts 1"
#define FILE_MAX   ((off_t)64 << 20)
#define LINE_BYTES 16384 /* flags hold five paths */

__attribute__((format(printf, 2, 3))) static enum expert_state_status
state_failed(struct expert_state *state, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(state->error, sizeof state->error, format, arguments);
    va_end(arguments);
    return EXPERT_STATE_FAILED;
}

static enum expert_state_status state_damaged(struct expert_state *state)
{
    return state_failed(state, "%s is damaged: remove it to begin anew", state->path);
}

/* ---- reading */

static void keep_returns(struct expert_state *state, const double *returns, size_t count)
{
    if (state->room - state->experts < count) {
        state->room = 2 * state->room + 64;
        state->returns = memory_resize(state->returns, state->room, sizeof *returns);
    }
    memcpy(state->returns + state->experts, returns, count * sizeof *returns);
    state->experts += count;
}

/* Reads the next word of *TEXT as a count. */
static bool read_state_count(char **text, uint64_t *out)
{
    char *end = NULL;
    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    *out = strtoull(*text, &end, 10);
    bool good = errno == 0 && (*end == ' ' || *end == '\0');
    *text = end + (*end == ' ');
    return good;
}

/* Reads the text after "done ". */
static enum expert_state_status read_done(struct expert_state *state, char *text)
{
    double returns[EXPERTS_PER_SETTING];
    uint64_t settings = 0;
    size_t count = 0;
    bool good = read_state_count(&text, &settings) && settings == state->settings + 1;
    for (int f = 0; f < EXPERT_STATE_FILES && good; f++) {
        uint64_t before = state->offset[f];
        good = read_state_count(&text, &state->offset[f]) && state->offset[f] >= before;
    }
    while (good && *text != '\0') {
        char *end = NULL;
        if (count == EXPERTS_PER_SETTING)
            return state_damaged(state);
        returns[count] = strtod(text, &end);
        good = end != text && isfinite(returns[count]) && (*end == ' ' || *end == '\0');
        text = end + (*end == ' ');
        count++;
    }
    if (!good || count == 0)
        return state_damaged(state);
    state->settings = settings;
    keep_returns(state, returns, count);
    return EXPERT_STATE_OK;
}

/* Makes the error for a state file of other flags, with the first word that differs. */
static enum expert_state_status other_flags(struct expert_state *state, const char *theirs,
                                            const char *ours)
{
    size_t same = 0, word = 0;
    for (; theirs[same] == ours[same] && theirs[same] != '\0'; same++)
        if (theirs[same] == ' ')
            word = same + 1;
    state_failed(
        state,
        "%s is of a run with other flags (%.*s, now %.*s): repeat that run's flags, or remove "
        "the file to begin anew",
        state->path, (int)strcspn(theirs + word, " "), theirs + word,
        (int)strcspn(ours + word, " "), ours + word);
    return EXPERT_STATE_OTHER_RUN;
}

static enum expert_state_status read_line(struct expert_state *state, size_t number, char *line,
                                          const char *flags)
{
    if (number == 0)
        return strcmp(line, FIRST_LINE) == 0 ? EXPERT_STATE_OK : state_damaged(state);
    if (number == 1) {
        if (strncmp(line, "flags ", 6) != 0)
            return state_damaged(state);
        return strcmp(line + 6, flags) == 0 ? EXPERT_STATE_OK : other_flags(state, line + 6, flags);
    }
    if (strncmp(line, "done ", 5) == 0)
        return read_done(state, line + 5);
    if (strncmp(line, "dataset ", 8) != 0 || strlen(line + 8) >= sizeof state->dataset)
        return state_damaged(state);
    snprintf(state->dataset, sizeof state->dataset, "%s", line + 8);
    return EXPERT_STATE_OK;
}

/* Reads the whole lines of TEXT, which it modifies. *out_used is the number of their bytes,
 * *out_lines the number of lines. */
static enum expert_state_status read_lines(struct expert_state *state, char *text,
                                           const char *flags, size_t *out_used, size_t *out_lines)
{
    char *end;
    *out_used = *out_lines = 0;
    for (char *line = text; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        enum expert_state_status status = read_line(state, (*out_lines)++, line, flags);
        if (status != EXPERT_STATE_OK)
            return status;
        *out_used = (size_t)(end + 1 - text);
    }
    return EXPERT_STATE_OK;
}

/* ---- writing */

/* Appends one line and waits until it is on disk. */
__attribute__((format(printf, 2, 3))) static bool append_line(struct expert_state *state,
                                                              const char *format, ...)
{
    if (state->handle < 0)
        return true;
    char line[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    errno = 0;
    bool good = length > 0 && (size_t)length < sizeof line &&
                write(state->handle, line, (size_t)length) == length &&
                fdatasync(state->handle) == 0;
    if (!good)
        state_failed(state, "cannot write %s: %s", state->path,
                     errno != 0 ? strerror(errno) : "the disk is full");
    return good;
}

static enum expert_state_status read_state_file(struct expert_state *state, const char *flags)
{
    struct stat facts;
    if (fstat(state->handle, &facts) != 0)
        return state_failed(state, "cannot read %s: %s", state->path, strerror(errno));
    if (!S_ISREG(facts.st_mode) || facts.st_size > FILE_MAX)
        return state_damaged(state);
    char *text = memory_new(1, (size_t)facts.st_size + 1);
    size_t used = 0, lines = 0;
    enum expert_state_status status = EXPERT_STATE_OK;
    if (pread(state->handle, text, (size_t)facts.st_size, 0) != facts.st_size)
        status = state_failed(state, "cannot read %s: %s", state->path, strerror(errno));
    else
        status = read_lines(state, text, flags, &used, &lines);
    free(text);
    if (status != EXPERT_STATE_OK)
        return status;
    state->resumed = lines >= 2;
    if (!state->resumed)
        used = 0; /* killed before it had begun */
    if (ftruncate(state->handle, (off_t)used) != 0)
        return state_failed(state, "cannot write %s: %s", state->path, strerror(errno));
    if (!state->resumed && !append_line(state, FIRST_LINE "\nflags %s\n", flags))
        return EXPERT_STATE_FAILED;
    return EXPERT_STATE_OK;
}

enum expert_state_status expert_state_open(struct expert_state *state, const char *path,
                                           const char *flags)
{
    assert(!strchr(flags, '\n'));
    *state = (struct expert_state){.path = path, .handle = -1};
    if (!path)
        return EXPERT_STATE_OK;
    state->handle = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (state->handle < 0)
        return state_failed(state, "cannot open %s: %s", path, strerror(errno));
    if (flock(state->handle, LOCK_EX | LOCK_NB) != 0) {
        state_failed(state, "another run is writing %s", path);
        return EXPERT_STATE_OTHER_RUN;
    }
    return read_state_file(state, flags);
}

bool expert_state_dataset(struct expert_state *state, const char *id)
{
    assert(!strchr(id, '\n') && strlen(id) < sizeof state->dataset);
    if (strcmp(state->dataset, id) == 0)
        return true;
    snprintf(state->dataset, sizeof state->dataset, "%s", id);
    return append_line(state, "dataset %s\n", id);
}

bool expert_state_add(struct expert_state *state, const uint64_t offset[EXPERT_STATE_FILES],
                      const double *returns, size_t experts)
{
    char list[EXPERTS_PER_SETTING * 32] = "";
    size_t used = 0;
    assert(experts >= 1 && experts <= EXPERTS_PER_SETTING);
    for (size_t e = 0; e < experts; e++)
        used += (size_t)snprintf(list + used, sizeof list - used, " %a", returns[e]);
    keep_returns(state, returns, experts);
    state->settings++;
    memcpy(state->offset, offset, sizeof state->offset);
    return append_line(state, "done %" PRIu64 " %" PRIu64 " %" PRIu64 "%s\n", state->settings,
                       offset[0], offset[1], list);
}

void expert_state_finish(struct expert_state *state)
{
    if (state->handle >= 0)
        (void)unlink(state->path);
    expert_state_close(state);
}

void expert_state_close(struct expert_state *state)
{
    if (state->handle >= 0)
        close(state->handle);
    free(state->returns);
    *state = (struct expert_state){.handle = -1};
}
