/* Stands in for libcriterion where its sandbox does not work: under ThreadSanitizer its shared
 * arena finds no place in the address space. The test files are the same; each test runs in a fork
 * of its own, as many at once as there are cores, and the closing line has Criterion's form. What
 * is here is what our tests use of Criterion 2.4: Test, TestSuite, fixtures, expected signals and
 * exit codes, asserts, --filter SUITE/TEST with shell patterns. */
#include <criterion/criterion.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern struct criterion_test *__start_cr_tst[], *__stop_cr_tst[];
extern struct criterion_suite *__start_cr_sts[] __attribute__((weak));
extern struct criterion_suite *__stop_cr_sts[] __attribute__((weak));

int main(int argc, char **argv);

struct criterion_options criterion_options;
static bool test_failed; /* of the one test that this process runs */
static const struct criterion_test *test_now;

int cr_asprintf(char **out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vasprintf(out, format, arguments);
    va_end(arguments);
    return n;
}

void cr_asprintf_free(char *text)
{
    free(text);
}

char *cr_translate_assert_msg(int index, ...)
{
    va_list arguments;
    (void)index;
    va_start(arguments, index);
    char *text = strdup(va_arg(arguments, const char *));
    va_end(arguments);
    return text;
}

void cri_asserts_passed_incr(void)
{
}

void criterion_send_assert(struct criterion_assert_stats *stats)
{
    if (stats->passed)
        return;
    test_failed = true;
    fprintf(stderr, "[----] %s:%u: %s\n", stats->file, stats->line, stats->message);
}

void criterion_continue_test(void)
{
}

void criterion_abort_test(void)
{
    exit(1);
}

void criterion_test_die(const char *message, ...)
{
    fprintf(stderr, "[----] %s\n", message);
    exit(1);
}

void criterion_skip_test(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "[SKIP] %s::%s: ", test_now->category, test_now->name);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(0);
}

static const struct criterion_test_extra_data *suite_of(const struct criterion_test *test)
{
    for (struct criterion_suite **s = __start_cr_sts; s < __stop_cr_sts; s++)
        if (*s != NULL && strcmp((*s)->name, test->category) == 0)
            return (*s)->data;
    return NULL;
}

void criterion_internal_test_setup(void)
{
    const struct criterion_test_extra_data *suite = suite_of(test_now);
    if (suite != NULL && suite->init != NULL)
        suite->init();
    if (test_now->data->init != NULL)
        test_now->data->init();
}

void criterion_internal_test_main(void (*test)(void))
{
    test();
}

void criterion_internal_test_teardown(void)
{
    const struct criterion_test_extra_data *suite = suite_of(test_now);
    if (test_now->data->fini != NULL)
        test_now->data->fini();
    if (suite != NULL && suite->fini != NULL)
        suite->fini();
}

/* A test that runs; TEST is NULL in a free place. */
struct running {
    const struct criterion_test *test;
    pid_t child;
};

enum { MOST_AT_ONCE = 64 };

struct tally {
    unsigned tested, failing;
};

static void judge(const struct criterion_test *test, int status, struct tally *tally)
{
    const struct criterion_test_extra_data *wanted = test->data;
    bool good = wanted->signal != 0 ? WIFSIGNALED(status) && WTERMSIG(status) == wanted->signal
                                    : WIFEXITED(status) && WEXITSTATUS(status) == wanted->exit_code;
    if (!good) {
        tally->failing++;
        fprintf(stderr, "[FAIL] %s::%s\n", test->category, test->name);
    }
}

/* Waits for one of the tests to end and judges it. */
static void collect(struct running *places, unsigned count, struct tally *tally)
{
    int status = 0;
    pid_t child = wait(&status);
    for (unsigned i = 0; i < count; i++) {
        if (places[i].test == NULL || (child >= 0 && places[i].child != child))
            continue;
        judge(places[i].test, child >= 0 ? status : ~0, tally);
        places[i].test = NULL;
    }
}

static struct running *free_place(struct running *places, unsigned count, struct tally *tally)
{
    for (;;) {
        for (unsigned i = 0; i < count; i++)
            if (places[i].test == NULL)
                return &places[i];
        collect(places, count, tally);
    }
}

static void start(const struct criterion_test *test, struct running *place, struct tally *tally)
{
    tally->tested++;
    if (test->data->kind_ != CR_TEST_NORMAL) {
        fprintf(stderr, "[----] a kind of test that this runner does not know\n");
        judge(test, ~0, tally);
        return;
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        test_now = test;
        test->test();
        exit(test_failed ? 1 : 0);
    }
    if (child < 0)
        judge(test, ~0, tally);
    else
        *place = (struct running){test, child};
}

static bool chosen(const struct criterion_test *test, const char *filter)
{
    char name[512];
    if (test == NULL || test->data->disabled)
        return false;
    snprintf(name, sizeof name, "%s/%s", test->category, test->name);
    return filter == NULL || fnmatch(filter, name, 0) == 0;
}

int main(int argc, char **argv)
{
    const char *filter = argc == 3 && strcmp(argv[1], "--filter") == 0 ? argv[2] : NULL;
    if (argc > 1 && filter == NULL) {
        fprintf(stderr, "usage: %s [--filter SUITE/TEST]\n", argv[0]);
        return 2;
    }
    struct running places[MOST_AT_ONCE] = {0};
    struct tally tally = {0, 0};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned count = cores < 1 ? 1 : cores > MOST_AT_ONCE ? MOST_AT_ONCE : (unsigned)cores;
    for (struct criterion_test **t = __start_cr_tst; t < __stop_cr_tst; t++)
        if (chosen(*t, filter))
            start(*t, free_place(places, count, &tally), &tally);
    for (unsigned i = 0; i < count; i++)
        while (places[i].test != NULL)
            collect(places, count, &tally);
    fprintf(stderr, "[====] Synthesis: Tested: %u | Passing: %u | Failing: %u | Crashing: 0 \n",
            tally.tested, tally.tested - tally.failing, tally.failing);
    return tally.failing == 0 && tally.tested > 0 ? 0 : 1;
}
