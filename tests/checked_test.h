/* Tests that end with a check of their file's check_after(). Criterion prints a failed assertion of
 * a .fini and lets the test pass, so no .fini asserts. */
#ifndef TACET_TESTS_CHECKED_TEST_H
#define TACET_TESTS_CHECKED_TEST_H

#include <criterion/criterion.h>

/* As Test(SUITE, NAME, ...) of Criterion. */
#define CHECKED_TEST(SUITE, NAME, ...)                                                             \
    static void steps_of_##NAME(void);                                                             \
    Test(SUITE, NAME __VA_OPT__(, ) __VA_ARGS__)                                                   \
    {                                                                                              \
        steps_of_##NAME();                                                                         \
        check_after();                                                                             \
    }                                                                                              \
    static void steps_of_##NAME(void)

#endif
