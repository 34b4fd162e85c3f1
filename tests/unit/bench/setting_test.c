/* Settings as text: one number, a list, and what is neither. */
#include "bench/offline/setting.h"

#include <criterion/criterion.h>

Test(setting, a_number_and_a_list_are_read)
{
    struct cell_setting s;
    const char *text = "alpha=0.5 input_scale=1:-2:3e1";
    const char *end = cell_setting_read(text, &s);
    cr_assert_eq(end, text + 9);
    cr_assert_str_eq(s.name, "alpha");
    cr_assert_eq(s.value.count, 1U);
    cr_assert_eq(s.value.number[0], 0.5);
    end = cell_setting_read(end + 1, &s);
    cr_assert_str_empty(end);
    cr_assert_str_eq(s.name, "input_scale");
    cr_assert_eq(s.value.count, 3U);
    cr_assert_eq(s.value.number[1], -2.0);
    cr_assert_eq(s.value.number[2], 30.0);
}

Test(setting, what_is_no_setting_is_refused)
{
    static const char *const broken[] = {"",
                                         "alpha",
                                         "=1",
                                         "alpha=",
                                         "alpha=x",
                                         "alpha=1x",
                                         "alpha=1:",
                                         "alpha=1:x",
                                         "alpha=1,2",
                                         "a_name_that_is_far_too_long_to_be_one=1",
                                         "s=1:2:3:4:5:6:7:8:9:10:11:12:13:14:15:16:17"};
    struct cell_setting s;
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
        cr_assert_null(cell_setting_read(broken[i], &s), "%s", broken[i]);
}
