/* Processes are read in any order, so parents are followed until no more descendants are found. */
#include "programs/descent.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory/memory.h"

void descent_open(struct descent *descent)
{
    *descent = (struct descent){.pid = memory_new(DESCENT_MAX, sizeof *descent->pid),
                                .all = memory_new(DESCENT_MAX, sizeof *descent->all)};
}

/* Reads PATH/NAME/stat of a process or thread; a name in brackets, which may hold anything, goes
 * before the numbers. */
static bool descent_read(const char *path, const char *name, struct descent_process *out)
{
    char file_name[96], text[512];
    if (snprintf(file_name, sizeof file_name, "%s/%s/stat", path, name) >= (int)sizeof file_name)
        return false;
    int file = open(file_name, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    text[size > 0 ? size : 0] = '\0';
    const char *end = strrchr(text, ')');
    char state = '\0';
    int parent = 0;
    unsigned threads = 0;
    unsigned long pages = 0;
    if (!end || sscanf(end + 1,
                       " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %u "
                       "%*d %*u %*u %lu",
                       &state, &parent, &threads, &pages) != 4)
        return false;
    *out =
        (struct descent_process){.pid = (pid_t)atoi(name),
                                 .parent = (pid_t)parent,
                                 .threads = threads,
                                 .dead = state == 'Z',
                                 .memory_bytes = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE)};
    return true;
}

/* The memory of a process whose first thread has ended, as one of its other threads shows it. */
static uint64_t descent_memory_of_threads(pid_t pid)
{
    char path[64];
    struct descent_process thread;
    uint64_t most = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *directory = opendir(path);
    const struct dirent *entry = NULL;
    while (directory && (entry = readdir(directory)))
        if (isdigit((unsigned char)entry->d_name[0]) &&
            descent_read(path, entry->d_name, &thread) && thread.memory_bytes > most)
            most = thread.memory_bytes;
    if (directory)
        closedir(directory);
    return most;
}

static size_t descent_list(struct descent_process *all)
{
    size_t count = 0;
    DIR *directory = opendir("/proc");
    const struct dirent *entry = NULL;
    while (directory && count < DESCENT_MAX && (entry = readdir(directory)))
        if (isdigit((unsigned char)entry->d_name[0]) &&
            descent_read("/proc", entry->d_name, &all[count]))
            count++;
    if (directory)
        closedir(directory);
    return count;
}

static bool descent_is_ours(const struct descent *descent, pid_t parent)
{
    bool ours = parent == getpid();
    for (size_t i = 0; i < descent->count && !ours; i++)
        ours = descent->pid[i] == parent;
    return ours;
}

void descent_find(struct descent *descent)
{
    size_t count = descent_list(descent->all), before = 0;
    descent->count = 0;
    descent->threads = 0;
    descent->memory_bytes = 0;
    do {
        before = descent->count;
        for (size_t i = 0; i < count; i++) {
            struct descent_process *process = &descent->all[i];
            if (process->ours || !descent_is_ours(descent, process->parent))
                continue;
            process->ours = true;
            if (process->dead && process->threads > 1)
                process->memory_bytes = descent_memory_of_threads(process->pid);
            descent->pid[descent->count++] = process->pid;
            descent->threads += process->threads;
            descent->memory_bytes += process->memory_bytes;
        }
    } while (descent->count > before);
}
