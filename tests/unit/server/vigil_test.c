/* Wishes to the kernel, written to a file in its place. The clock of the answers is an argument. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "server/vigil.h"

#define NO_WISH ((int32_t)-1)

struct scene {
    char path[64];
    struct metrics *metrics;
    struct vigil *vigil;
};

static void open_scene(struct scene *scene)
{
    char error[256] = "";
    strcpy(scene->path, "/tmp/vigil.XXXXXX");
    int file = mkstemp(scene->path);
    cr_assert_geq(file, 0);
    close(file);
    scene->metrics = metrics_new();
    scene->vigil = vigil_start(scene->path, scene->metrics, error, sizeof error);
    cr_assert_not_null(scene->vigil, "%s", error);
}

/* How many wishes there were; *out_last is the last one. */
static size_t wishes(const struct scene *scene, int32_t *out_last)
{
    int32_t all[64] = {0};
    FILE *file = fopen(scene->path, "r");
    cr_assert_not_null(file);
    size_t count = fread(all, sizeof all[0], sizeof all / sizeof all[0], file);
    fclose(file);
    cr_assert_gt(count, 0);
    *out_last = all[count - 1];
    return count;
}

static void wait_for(const struct scene *scene, size_t count)
{
    int32_t last;
    for (int i = 0; i < 3000 && wishes(scene, &last) < count; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
}

static void close_scene(struct scene *scene)
{
    metrics_free(scene->metrics);
    unlink(scene->path);
}

static void answer(struct scene *scene, unsigned answers, int64_t from_us, int64_t each_us)
{
    for (unsigned i = 0; i < answers; i++)
        vigil_note(scene->vigil, from_us + (int64_t)i * each_us);
}

Test(vigil, many_answers_keep_the_processors_awake_until_they_end)
{
    struct scene scene;
    int32_t last = 0;
    open_scene(&scene);
    cr_expect_eq(wishes(&scene, &last), 1, "it is tried whether the kernel listens");
    cr_expect_eq(last, NO_WISH);
    for (size_t turn = 0; turn < 2; turn++) {
        answer(&scene, VIGIL_ANSWERS, 5000000 * (int64_t)(turn + 1), 1000);
        cr_assert_geq(wishes(&scene, &last), 2 + 2 * turn, "it is held at once");
        wait_for(&scene, 3 + 2 * turn);
        cr_expect_eq(wishes(&scene, &last), 3 + 2 * turn);
        cr_expect_eq(last, NO_WISH);
        cr_expect_eq(metrics_get(scene.metrics, METRICS_STAYING_AWAKE), 0);
    }
    vigil_stop(scene.vigil);
    cr_expect_eq(wishes(&scene, &last), 5, "nothing was held any more");
    close_scene(&scene);
}

Test(vigil, few_answers_let_them_sleep)
{
    struct scene scene;
    int32_t last = 0;
    open_scene(&scene);
    answer(&scene, 1000, 1000000, VIGIL_WINDOW_US / (VIGIL_ANSWERS - 1) + 1);
    answer(&scene, VIGIL_ANSWERS - 1, 900000000, 0);
    vigil_note(NULL, 0);
    vigil_stop(scene.vigil);
    cr_expect_eq(wishes(&scene, &last), 1);
    close_scene(&scene);
}

Test(vigil, an_end_in_its_middle_lets_them_sleep)
{
    struct scene scene;
    int32_t last = 0;
    open_scene(&scene);
    answer(&scene, VIGIL_ANSWERS, 1000000, 0);
    vigil_stop(scene.vigil);
    cr_expect_eq(wishes(&scene, &last), 3);
    cr_expect_eq(last, NO_WISH);
    cr_expect_eq(metrics_get(scene.metrics, METRICS_STAYING_AWAKE), 0);
    close_scene(&scene);
}

Test(vigil, what_is_missing_is_said)
{
    char error[256] = "";
    struct metrics *metrics = metrics_new();
    cr_expect_null(vigil_start("/nowhere/cpu_dma_latency", metrics, error, sizeof error));
    cr_expect(strstr(error, "--stay-awake") != NULL && strstr(error, "/nowhere") != NULL, "%s",
              error);
    cr_expect_null(vigil_start("/dev/full", metrics, error, sizeof error));
    cr_expect_not_null(strstr(error, "/dev/full"), "%s", error);
    vigil_stop(NULL);
    metrics_free(metrics);
}
