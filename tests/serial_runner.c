/* Stands in for libcriterion where its sandbox does not work: under ThreadSanitizer its shared
 * arena finds no place in the address space. The test files are the same; each test runs in a fork
 * of its own, one after another, and the closing line has Criterion's form. What is here is what
 * our tests use of Criterion 2.4: Test, TestSuite, fixtures, expected signals and exit codes,
 * asserts. */
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern struct criterion_test *__start_cr_tst[], *__stop_cr_tst[];
extern struct criterion_suite *__start_cr_sts[] __attribute__((weak));
extern struct criterion_suite *__stop_cr_sts[] __attribute__((weak));

int main(void);

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

static bool passes(const struct criterion_test *test)
{
    const struct criterion_test_extra_data *wanted = test->data;
    if (wanted->kind_ != CR_TEST_NORMAL) {
        fprintf(stderr, "[----] a kind of test that this runner does not know\n");
        return false;
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        test_now = test;
        test->test();
        exit(test_failed ? 1 : 0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return false;
    if (wanted->signal != 0)
        return WIFSIGNALED(status) && WTERMSIG(status) == wanted->signal;
    return WIFEXITED(status) && WEXITSTATUS(status) == wanted->exit_code;
}

int main(void)
{
    unsigned tested = 0, failing = 0;
    for (struct criterion_test **t = __start_cr_tst; t < __stop_cr_tst; t++) {
        if (*t == NULL || (*t)->data->disabled)
            continue;
        tested++;
        if (!passes(*t)) {
            failing++;
            fprintf(stderr, "[FAIL] %s::%s\n", (*t)->category, (*t)->name);
        }
    }
    fprintf(stderr, "[====] Synthesis: Tested: %u | Passing: %u | Failing: %u | Crashing: 0 \n",
            tested, tested - failing, failing);
    return failing == 0 && tested > 0 ? 0 : 1;
}
