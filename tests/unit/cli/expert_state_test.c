/* The state file and the outputs that go on from it, however a run before ended. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/expert_output.h"
#include "cli/expert_state.h"

#define FLAGS "experts=9 seed=1 name=a b"

struct place {
    char folder[32], path[64];
};

static struct place make_place(void)
{
    struct place place = {.folder = "/tmp/tacet-state-XXXXXX"};
    cr_assert_not_null(mkdtemp(place.folder));
    snprintf(place.path, sizeof place.path, "%s/x.state", place.folder);
    return place;
}

static void remove_place(const struct place *place)
{
    unlink(place->path);
    cr_expect_eq(rmdir(place->folder), 0, "something was left behind");
}

static void put(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    cr_assert_not_null(out);
    fputs(text, out);
    fclose(out);
}

/* Begins a state with two settings in it and lets go of it as a killed run does. */
static void make_some(const struct place *place)
{
    struct expert_state state;
    cr_assert_eq(expert_state_open(&state, place->path, FLAGS), EXPERT_STATE_OK);
    cr_expect_not(state.resumed);
    cr_assert(expert_state_dataset(&state, "ds_1"));
    cr_assert(
        expert_state_add(&state, (const uint64_t[]){100, 0}, (const double[]){0.1, 2, -3}, 3));
    cr_assert(expert_state_add(&state, (const uint64_t[]){250, 7}, (const double[]){1e300}, 1));
    expert_state_close(&state);
}

static void check_some(const struct expert_state *state)
{
    static const double returns[] = {0.1, 2, -3, 1e300};
    cr_expect(state->resumed);
    cr_expect_eq(state->settings, 2);
    cr_expect_eq(state->offset[0], 250);
    cr_expect_eq(state->offset[1], 7);
    cr_expect_str_eq(state->dataset, "ds_1");
    cr_assert_eq(state->experts, 4);
    cr_expect_eq(memcmp(state->returns, returns, sizeof returns), 0);
}

Test(expert_state, remembers_what_was_finished)
{
    struct place place = make_place();
    struct expert_state state;
    make_some(&place);
    cr_assert_eq(expert_state_open(&state, place.path, FLAGS), EXPERT_STATE_OK);
    check_some(&state);
    expert_state_finish(&state);
    cr_expect_neq(access(place.path, F_OK), 0);
    remove_place(&place);
}

/* A kill in the middle of an append leaves any beginning of the line: it counts as not written. */
Test(expert_state, a_torn_line_is_no_line)
{
    static const char torn[] = "done 3 300 9 0x1p+0";
    struct place place = make_place();
    for (size_t length = 1; length < sizeof torn; length++) {
        struct expert_state state;
        unlink(place.path);
        make_some(&place);
        FILE *out = fopen(place.path, "a");
        fwrite(torn, 1, length, out);
        fclose(out);
        cr_assert_eq(expert_state_open(&state, place.path, FLAGS), EXPERT_STATE_OK);
        check_some(&state);
        /* and the next line stands by itself */
        cr_assert(expert_state_add(&state, (const uint64_t[]){300, 9}, (const double[]){4}, 1));
        expert_state_close(&state);
        cr_assert_eq(expert_state_open(&state, place.path, FLAGS), EXPERT_STATE_OK);
        cr_expect_eq(state.settings, 3);
        cr_expect_eq(state.experts, 5);
        expert_state_close(&state);
    }
    remove_place(&place);
}

Test(expert_state, a_run_killed_in_its_first_moment_was_none)
{
    static const char *const begun[] = {"", "tac", "tacet experts 1\n",
                                        "tacet experts 1\nflags ex"};
    struct place place = make_place();
    for (size_t i = 0; i < sizeof begun / sizeof begun[0]; i++) {
        struct expert_state state;
        put(place.path, begun[i]);
        cr_assert_eq(expert_state_open(&state, place.path, FLAGS), EXPERT_STATE_OK, "%zu", i);
        cr_expect_not(state.resumed);
        expert_state_close(&state);
        cr_assert_eq(expert_state_open(&state, place.path, FLAGS), EXPERT_STATE_OK);
        cr_expect(state.resumed);
        expert_state_close(&state);
    }
    remove_place(&place);
}

Test(expert_state, other_flags_are_refused_by_name)
{
    struct place place = make_place();
    struct expert_state state;
    make_some(&place);
    cr_expect_eq(expert_state_open(&state, place.path, "experts=9 seed=12 name=a b"),
                 EXPERT_STATE_OTHER_RUN);
    cr_expect_not_null(strstr(state.error, "(seed=1, now seed=12)"), "%s", state.error);
    expert_state_close(&state);
    cr_assert_eq(expert_state_open(&state, place.path, FLAGS), EXPERT_STATE_OK);
    check_some(&state); /* and nothing was lost */
    expert_state_close(&state);
    remove_place(&place);
}

Test(expert_state, two_runs_at_once_are_refused)
{
    struct place place = make_place();
    struct expert_state one, two;
    cr_assert_eq(expert_state_open(&one, place.path, FLAGS), EXPERT_STATE_OK);
    cr_expect_eq(expert_state_open(&two, place.path, FLAGS), EXPERT_STATE_OTHER_RUN);
    cr_expect_not_null(strstr(two.error, "another run"), "%s", two.error);
    expert_state_close(&two);
    expert_state_finish(&one);
    remove_place(&place);
}

Test(expert_state, a_damaged_file_is_refused_and_kept)
{
    static const char head[] = "tacet experts 1\nflags " FLAGS "\n";
    static const char *const tails[] = {"nonsense\n",
                                        "done 2 1 1 0x1p+0\n",
                                        "done 1 1 1\n",
                                        "done 1 -1 0 1\n",
                                        "done 1 1 1 nan\n",
                                        "done 1 1 1 1 2 3 4\n",
                                        "done 1 1 1 1x\n",
                                        "done 1 9 0 1\ndone 2 8 0 1\n",
                                        "done 1 99999999999999999999 0 1\n"};
    struct place place = make_place();
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        char text[256];
        struct expert_state state;
        struct stat facts;
        snprintf(text, sizeof text, "%s%s", head, tails[i]);
        put(place.path, text);
        cr_expect_eq(expert_state_open(&state, place.path, FLAGS), EXPERT_STATE_FAILED, "%s",
                     tails[i]);
        cr_expect_not_null(strstr(state.error, "damaged"), "%s", state.error);
        expert_state_close(&state);
        cr_assert_eq(stat(place.path, &facts), 0);
        cr_expect_eq((size_t)facts.st_size, strlen(text));
    }
    remove_place(&place);
}

Test(expert_state, without_a_file_it_is_memory)
{
    struct expert_state state;
    cr_assert_eq(expert_state_open(&state, NULL, FLAGS), EXPERT_STATE_OK);
    for (int i = 0; i < 500; i++)
        cr_assert(expert_state_add(&state, (const uint64_t[]){0, 0}, (const double[]){1, 2}, 2));
    cr_expect_eq(state.experts, 1000);
    cr_expect_eq(state.returns[999], 2);
    expert_state_finish(&state);
}

Test(expert_output, keeps_what_was_finished_and_cuts_the_rest)
{
    struct place place = make_place();
    struct expert_output output;
    char text[32] = "";
    put(place.path, "finished|half wri");
    cr_assert(expert_output_open(&output, place.path, 9), "%s", output.error);
    cr_assert(expert_output_write(&output, INFLATE_IDENTITY, "anew", 4));
    cr_expect_eq(output.size, 13);
    cr_assert(expert_output_close(&output));
    FILE *in = fopen(place.path, "r");
    cr_assert_not_null(fgets(text, sizeof text, in));
    fclose(in);
    cr_expect_str_eq(text, "finished|anew");
    cr_expect_not(expert_output_open(&output, place.path, 14));
    cr_expect_not_null(strstr(output.error, "fewer bytes"), "%s", output.error);
    cr_assert(expert_output_close(&output));
    remove_place(&place);
}
