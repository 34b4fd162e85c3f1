/* The table of settings: defaults, environment, flags, bounds. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/config.h"

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
