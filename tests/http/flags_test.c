/* The command lines of all subcommands: a flag is no other flag's value. */
#include <criterion/criterion.h>

#include "tests/http/server_process.h"

TestSuite(flags, .timeout = 60);

Test(flags, a_flag_is_no_other_flags_value)
{
    static const struct {
        const char *argv[5];
        const char *told;
    } cases[] = {
        {{"serve", "--data", "--listen", "x"}, "tacet serve: --data: a value must follow\n"},
        {{"client", "create", "--data", "--role", "agent"},
         "tacet client create: --data: a value must follow\n"},
        {{"client", "create", "--role", "agent", "--name"},
         "tacet client create: --name: a value must follow\n"},
        {{"student", "--server", "--teacher", "tch_x"},
         "tacet student: --server: its value is missing\n"},
        {{"agent", "--server", "--aggregation", "agg_x"},
         "tacet agent: --server: its value is missing\n"},
        {{"experts", "--environment", "--seed", "1"},
         "tacet experts: --environment needs a value\n"},
        {{"epsilon", "--mechanism", "--sigma", "1"},
         "tacet epsilon: --mechanism: a value must follow\n"},
        {{"audit", "--algorithm", "--json"}, "tacet audit: --algorithm: a value must follow\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const *a = cases[i].argv;
        char out[2000];
        int code = tacet_run(out, sizeof out, a[0], a[1], a[2], a[3], a[4], NULL);
        cr_expect_eq(code, 2, "%s: %d", a[0], code);
        cr_expect_str_eq(out, cases[i].told);
    }
}
