/* Any lines as a command line: the first byte chooses whose. Lines that begin with TACET_ are set
 * in the environment instead, and those that begin with @ are lines of the file of settings. What
 * is refused is refused in one line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/epsilon_flags.h"
#include "cli/expert_flags.h"
#include "cli/import/import_flags.h"
#include "server/config.h"
#include "tests/fuzz/fuzz.h"

#define WORDS_MOST 40

static union {
    struct config serve;
    struct import_options import;
    struct expert_options experts;
    struct epsilon_options epsilon;
} options;

static const struct flags *const tables[] = {&import_flags, &expert_flags, &epsilon_flags,
                                             &config_flags};

static void write_help(uint8_t program)
{
    FILE *nowhere = fopen("/dev/null", "w");
    assert(nowhere);
    flags_help(tables[program % 4], nowhere);
    fclose(nowhere);
}

static bool read_words(uint8_t program, int count, char **words, struct flags_found *found)
{
    memset(&options, 0, sizeof options);
    if (program % 4 == 3)
        return config_read(&options.serve, count, words, found);
    return flags_read(tables[program % 4], count, words, &options, found);
}

/* What was read is read again from the same words: it is the same. */
static void read_again(uint8_t program, int count, char **words)
{
    static char before[sizeof options];
    struct flags_found found = {.error = ""};
    const struct flags *flags = tables[program % 4];
    memcpy(before, &options, sizeof options);
    if (read_words(program, count, words, &found) && !found.help)
        for (size_t i = 0; i < flags->count; i++)
            assert(flag_same(&flags->table[i], before, &options));
    free(found.file);
}

/* Writes the lines of TEXT that begin with @, and gives the flag that names their file. */
static char *write_file(const char *text)
{
    static char flag[200];
    char path[160];
    snprintf(path, sizeof path, "%s/settings", fuzz_directory());
    snprintf(flag, sizeof flag, "--config=%s", path);
    FILE *file = fopen(path, "w");
    assert(file);
    for (const char *line = text; *line != '\0';) {
        const char *end = strchrnul(line, '\n');
        if (*line == '@')
            fprintf(file, "%.*s\n", (int)(end - line - 1), line + 1);
        line = *end == '\0' ? end : end + 1;
    }
    fclose(file);
    return flag;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *words[WORDS_MOST + 1], *names[WORDS_MOST], *rest = NULL;
    int count = 0, name_count = 0;
    struct flags_found found = {.error = ""};
    uint8_t program = fuzz_byte(&data, &size);
    char *text = fuzz_copy(data, size, true);
    if (program % 4 == 3 && memchr(data, '@', size))
        words[count++] = write_file(text);
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *value = strchr(line, '=');
        if (strncmp(line, "TACET_", 6) == 0 && value && name_count < WORDS_MOST) {
            *value = '\0';
            setenv(line, value + 1, 1);
            names[name_count++] = line;
        } else if (*line != '@' && count < WORDS_MOST) {
            words[count++] = line;
        }
    }
    words[count] = NULL;
    bool good = read_words(program, count, words, &found);
    assert(good || found.error[0] != '\0');
    if (good && found.help)
        write_help(program);
    char *file = found.file;
    if (good && !found.help && found.arguments == 0)
        read_again(program, count, words);
    assert(strlen(found.error) < sizeof found.error);
    for (const char *c = found.error; *c != '\0'; c++)
        assert((unsigned char)*c >= ' ' && *c != 0x7f);
    assert(found.arguments <= count);
    free(file);
    for (int i = 0; i < name_count; i++)
        unsetenv(names[i]);
    free(text);
    return 0;
}
