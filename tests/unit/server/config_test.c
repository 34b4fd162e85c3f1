/* The table of settings: defaults, environment, flags, bounds. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/config.h"

/* The tests' own variable is no setting. */
static void forget_ledgers(void)
{
    unsetenv("KEPT_LEDGERS");
}

TestSuite(config, .init = forget_ledgers);

/* "--max-body" misspelt is told with the right name; what is like no flag is not. */
Test(config, a_flag_that_is_nearly_right_is_named)
{
    static struct {
        char *flag;
        const char *nearest;
    } cases[] = {{"--max-bodi", "--max-body?"},
                 {"--worker", "--workers?"},
                 {"--dta=x", "--data?"},
                 {"--access", "--access-log?"},
                 {"--log_level=x", "--log-level?"}};
    struct config config;
    struct flags_found found;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_expect_not(config_read(&config, 1, &cases[i].flag, &found));
        cr_expect_not_null(strstr(found.error, cases[i].nearest), "%s", found.error);
        cr_expect_null(strstr(found.error, "=x"), "%s", found.error);
    }
    char *other = "--colour";
    cr_expect_not(config_read(&config, 1, &other, &found));
    cr_expect_null(strstr(found.error, "did you mean"), "%s", found.error);
}

static bool read_flags(struct config *config, char *first, char *second, char error[400])
{
    char *flags[] = {first, second, NULL};
    struct flags_found found;
    int count = first == NULL ? 0 : second == NULL ? 1 : 2;
    bool good = config_read(config, count, flags, &found);
    snprintf(error, 400, "%s", found.error);
    return good;
}

Test(config, defaults_are_those_of_the_table)
{
    struct config config;
    char error[400];
    cr_assert(read_flags(&config, NULL, NULL, error));
    cr_expect_str_eq(config.listen, "127.0.0.1:8080");
    cr_expect_eq(config.max_body_bytes, 1024 * 1024);
    cr_expect_eq(config.max_upload_bytes, (uint64_t)4 << 30);
    cr_expect_eq(config.max_policy_bytes, 16 * 1024 * 1024);
    cr_expect_eq(config.connections_per_ip, 512);
    cr_expect_not(config.access_log);
}

Test(config, a_flag_wins_over_the_environment)
{
    struct config config;
    char error[400];
    setenv("TACET_MAX_BODY", "2M", 1);
    cr_assert(read_flags(&config, NULL, NULL, error));
    cr_expect_eq(config.max_body_bytes, 2 * 1024 * 1024);
    cr_assert(read_flags(&config, "--max-body=3K", NULL, error));
    cr_expect_eq(config.max_body_bytes, 3 * 1024);
    cr_assert(read_flags(&config, "--max-body", "4096", error));
    cr_expect_eq(config.max_body_bytes, 4096);
}

Test(config, a_switch_may_stand_alone)
{
    struct config config;
    char error[400];
    cr_assert(read_flags(&config, "--access-log", NULL, error));
    cr_expect(config.access_log);
    cr_assert(read_flags(&config, "--access-log", "off", error));
    cr_expect_not(config.access_log);
    cr_assert(read_flags(&config, "--access-log", "--workers=2", error));
    cr_expect(config.access_log && config.workers == 2);
}

Test(config, what_is_wrong_is_named)
{
    static const struct {
        char *first, *second;
        const char *named;
    } cases[] = {
        {"--nonsense", "1", "--nonsense"},
        {"workers", "1", "workers"},
        {"--work", "1", "--work"},
        {"--workers", NULL, "--workers"},
        {"--workers", "65", "--workers"},
        {"--workers", "", "--workers"},
        {"--workers", " 1", "--workers"},
        {"--workers", "1x", "--workers"},
        {"--workers", "-1", "--workers"},
        {"--workers", "1K", "--workers"},
        {"--max-body", "1T", "--max-body"},
        {"--max-body", "1KB", "--max-body"},
        {"--max-body", "99999999999999999999", "--max-body"},
        {"--max-body", "18014398509481984K", "--max-body"},
        {"--access-log", "maybe", "--access-log"},
        {"--tls-cert", "file", "--tls-key"},
        {"--tls-key", "file", "--tls-cert"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config config;
        char error[400] = "";
        cr_expect(!read_flags(&config, cases[i].first, cases[i].second, error), "%s",
                  cases[i].first);
        cr_expect_not_null(strstr(error, cases[i].named), "%s: %s", cases[i].first, error);
        cr_expect_null(strchr(error, '\n'));
    }
}

Test(config, help_shows_every_setting_with_its_variable)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    cr_assert_not_null(out);
    flags_help(&config_flags, out);
    fclose(out);
    cr_expect_not_null(strstr(text, "--max-upload"));
    cr_expect_not_null(strstr(text, "TACET_MAX_UPLOAD"));
    cr_expect_not_null(strstr(text, "TACET_LISTEN"));
    free(text);
}

Test(config, worlds_add_up_and_replace_those_of_the_environment)
{
    struct config config;
    char error[400];
    setenv("TACET_WORLD", "a=one\nb=two", 1);
    cr_assert(read_flags(&config, NULL, NULL, error));
    cr_assert_eq(config.worlds.count, 1);
    cr_expect_str_eq(config.worlds.text[0], "a=one\nb=two");
    cr_assert(read_flags(&config, "--world=c=x --y=z", "--world=d=four", error));
    cr_assert_eq(config.worlds.count, 2);
    cr_expect_str_eq(config.worlds.text[0], "c=x --y=z");
    cr_expect_str_eq(config.worlds.text[1], "d=four");
    cr_expect_eq(config.world_timeout_s, 10);
    char flag[] = "--world=a=b", *many[FLAG_LIST_MAX + 1];
    for (size_t i = 0; i <= FLAG_LIST_MAX; i++)
        many[i] = flag;
    struct flags_found found;
    cr_expect(config_read(&config, FLAG_LIST_MAX, many, &found));
    cr_expect_not(config_read(&config, FLAG_LIST_MAX + 1, many, &found));
    cr_expect_not_null(strstr(found.error, "--world: more than 64"));
}

/* ---- the file */

static char settings_path[] = "/tmp/tacet-config-XXXXXX";

static void write_settings(void)
{
    forget_ledgers();
    int file = mkstemp(settings_path);
    cr_assert_geq(file, 0);
    close(file);
}

static void remove_settings(void)
{
    remove(settings_path);
}

TestSuite(settings, .init = write_settings, .fini = remove_settings);

/* Reads the settings with TEXT in the file and FLAG after it. False: ERROR says why. The file's
 * text, which the caller frees, is *out_file. */
static bool read_settings(struct config *config, const char *text, size_t size, char *flag,
                          struct flags_found *found)
{
    FILE *out = fopen(settings_path, "w");
    cr_assert_not_null(out);
    cr_assert_eq(fwrite(text, 1, size, out), size);
    fclose(out);
    char *flags[] = {"--config", settings_path, flag};
    return config_read(config, flag ? 3 : 2, flags, found);
}

Test(settings, a_flag_wins_over_the_environment_and_that_over_the_file)
{
    static const char text[] = "# a comment\n\n  workers = 5\r\nmax-body=2K\nqueue = 7\n"
                               "world = a=one x\nworld = b=two\naccess-log = on";
    struct config config;
    struct flags_found found;
    setenv("TACET_MAX_BODY", "3K", 1);
    setenv("TACET_QUEUE", "8", 1);
    cr_assert(read_settings(&config, text, sizeof text - 1, "--queue=9", &found), "%s",
              found.error);
    cr_expect_eq(config.workers, 5);
    cr_expect_eq(config.max_body_bytes, 3 * 1024);
    cr_expect_eq(config.queue, 9);
    cr_expect_eq(config.planners, 2); /* the default */
    cr_expect(config.access_log);
    cr_assert_eq(config.worlds.count, 2);
    cr_expect_str_eq(config.worlds.text[0], "a=one x");
    cr_expect_str_eq(config.worlds.text[1], "b=two");
    free(found.file);
    cr_assert(read_settings(&config, text, sizeof text - 1, "--world=c=three", &found));
    cr_assert_eq(config.worlds.count, 1);
    cr_expect_str_eq(config.worlds.text[0], "c=three");
    free(found.file);
}

Test(settings, the_variable_names_the_file_too)
{
    struct config config;
    struct flags_found found;
    cr_assert(read_settings(&config, "workers = 3\n", 12, NULL, &found));
    free(found.file);
    setenv("TACET_CONFIG", settings_path, 1);
    cr_assert(config_read(&config, 0, NULL, &found));
    cr_expect_eq(config.workers, 3);
    free(found.file);
    setenv("TACET_CONFIG", "", 1);
    cr_assert(config_read(&config, 0, NULL, &found));
    cr_expect_eq(config.workers, CONFIG_AUTO);
    cr_expect_null(found.file);
}

Test(settings, what_is_wrong_in_the_file_is_named_with_its_line)
{
    static const struct {
        const char *text, *named;
        size_t size; /* 0: strlen */
    } cases[] = {
        {"\n#\nwrkers = 3\n", ":3: wrkers: no such setting, did you mean workers?", 0},
        {"WORKERS = 3\n", ":1: WORKERS: no such setting", 0},
        {"colour = red", ":1: colour: no such setting; --help lists them", 0},
        {"config = /etc/other", ":1: config: no such setting", 0},
        {"workers\n", ":1: workers: a line is name = value", 0},
        {"workers = 65", ":1: workers: \"65\" is not an integer from 0 to 64", 0},
        {"workers = 1\nqueue = 1\nworkers = 1", ":3: workers: is set twice", 0},
        {"tls-priorities =\n", ":1: tls-priorities: the value is empty", 0},
        {"tls-cert = file\n", "--tls-cert and --tls-key go together", 0},
        {"workers = 1\0\n", "it holds a NUL", 13},
        {" = 1", ":1: : no such setting", 0},
        {"key: c0ffee11", ":1: key: a line is name = value", 0},
        {"key c0ffee11", ":1: key: a line is name = value", 0},
        {"c0ffee11", ":1: : a line is name = value", 0},
        {"database: postgresql://t:c0ffee11@h/t?sslmode=x", ":1: database: no such setting", 0},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config config;
        struct flags_found found;
        size_t size = cases[i].size > 0 ? cases[i].size : strlen(cases[i].text);
        cr_expect_not(read_settings(&config, cases[i].text, size, NULL, &found), "%s",
                      cases[i].text);
        cr_expect_not_null(strstr(found.error, cases[i].named), "%s: %s", cases[i].text,
                           found.error);
        cr_expect_null(strstr(found.error, "ffee11"), "a secret: %s", found.error);
        cr_expect_null(found.file);
    }
}

Test(settings, a_file_that_cannot_be_read_is_named)
{
    struct config config;
    struct flags_found found;
    char *missing[] = {"--config=/tmp/no/such/file"}, *folder[] = {"--config=/tmp"};
    cr_expect_not(config_read(&config, 1, missing, &found));
    cr_expect_str_eq(found.error, "/tmp/no/such/file: cannot be read: No such file or directory");
    cr_expect_not(config_read(&config, 1, folder, &found));
    cr_expect_str_eq(found.error, "/tmp: cannot be read: Is a directory");
    char *large = malloc(300000);
    memset(large, '#', 300000);
    cr_expect_not(read_settings(&config, large, 300000, NULL, &found));
    cr_expect_not_null(strstr(found.error, "it is larger than 256 KiB"));
    free(large);
}

Test(settings, a_file_that_everybody_can_read_holds_no_master_key)
{
    static const char text[] = "workers = 5\nkey = 0123\n", none[] = "key =\nkeys-dir = x\n";
    const mode_t modes[] = {0604, 0644, 0602, 0640, 0600};
    struct config config;
    struct flags_found found;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        FILE *out = fopen(settings_path, "w");
        cr_assert_not_null(out);
        cr_assert_eq(fchmod(fileno(out), modes[i]), 0);
        fclose(out);
        cr_expect_eq(read_settings(&config, text, sizeof text - 1, NULL, &found), i > 2, "%o",
                     modes[i]);
        cr_expect_eq(!strstr(found.error, ":2: key: everybody can read or change this file"), i > 2,
                     "%s", found.error);
        free(found.file);
    }
    chmod(settings_path, 0644);
    cr_expect(read_settings(&config, none, sizeof none - 1, NULL, &found), "%s", found.error);
    free(found.file);
}

/* The secret of a URL is in no error, and its text is overwritten. */
Test(settings, a_password_in_the_file_is_overwritten_in_memory)
{
    static const char text[] = "database = postgresql://u:hunter2@h/d\n";
    struct config config;
    struct flags_found found;
    cr_assert(read_settings(&config, text, sizeof text - 1, NULL, &found));
    cr_expect_str_eq(config.database, "postgresql://u:hunter2@h/d");
    cr_expect_null(memmem(found.file, sizeof text - 1, "hunter2", 7));
    free(found.file);
}

Test(config, an_unknown_variable_is_refused_with_the_nearest_name)
{
    static const struct {
        const char *name, *told;
    } cases[] = {
        {"TACET_WORKRS", "TACET_WORKRS: no such setting, did you mean TACET_WORKERS? --help "},
        {"TACET_COLOUR", "TACET_COLOUR: no such setting; --help lists them"},
        {"TACET_max_body", "TACET_max_body: no such setting, did you mean TACET_MAX_BODY?"},
        {"TACET_", "TACET_: no such setting"},
    };
    struct config config;
    char error[400];
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        setenv(cases[i].name, "secret", 1);
        cr_expect_not(read_flags(&config, NULL, NULL, error), "%s", cases[i].name);
        cr_expect_eq(strncmp(error, cases[i].told, strlen(cases[i].told)), 0, "%s", error);
        cr_expect_null(strstr(error, "secret"), "%s", error);
        unsetenv(cases[i].name);
    }
}

/* What clients read, and what Kubernetes sets beside a service that is called tacet. */
Test(config, variables_of_others_are_no_error)
{
    static const char *const names[] = {"TACET_TOKEN",
                                        "TACET_URL",
                                        "TACET_PORT",
                                        "TACET_PORT_8080_TCP_ADDR",
                                        "TACET_SERVICE_HOST",
                                        "TACET_SERVICE_PORT_HTTP",
                                        "TACETA"};
    struct config config;
    char error[400];
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        setenv(names[i], "x", 1);
    cr_expect(read_flags(&config, NULL, NULL, error), "%s", error);
}
