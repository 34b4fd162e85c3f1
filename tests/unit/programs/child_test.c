/* Well-behaved and ill-behaved programs, each a line of shell. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "programs/child.h"
#include "programs/descent.h"

/* Long enough for a loaded machine; and for those that are to run into it. */
#define PATIENT   60000
#define IMPATIENT 300

struct heard {
    unsigned lines, asked, refuse_at; /* refuse_at 0: never */
    char first[CHILD_COMPLAINT_SIZE];
    char all[8192];
};

static void said(void *context, const char *line)
{
    struct heard *heard = context;
    if (heard->lines++ == 0)
        snprintf(heard->first, sizeof heard->first, "%s", line);
    strncat(heard->all, line, sizeof heard->all - strlen(heard->all) - 1);
}

static bool go_on(void *context)
{
    struct heard *heard = context;
    return ++heard->asked != heard->refuse_at;
}

static struct keeper *keeper;

static void setup(void)
{
    keeper = keeper_start(true, NULL, 0);
    cr_assert_not_null(keeper);
}

static void teardown(void)
{
    keeper_end(keeper);
}

static struct child *start(const char *command, unsigned answer_ms, struct heard *heard)
{
    const struct child_settings settings = {
        .keeper = keeper,
        .command = command,
        .answer_ms = answer_ms,
        .go_on = heard == NULL ? NULL : go_on,
        .said = heard == NULL ? NULL : said,
        .context = heard,
    };
    struct child *child = NULL;
    cr_assert_eq(child_start(&settings, &child), CHILD_OK);
    return child;
}

/* Asks once; OUT (of 256 bytes, or NULL) receives the answer. */
static enum child_status ask(struct child *child, const char *question, char *out)
{
    const char *answer = NULL;
    size_t size = 0;
    enum child_status status = child_ask(child, question, strlen(question), &answer, &size);
    if (status == CHILD_OK) {
        cr_assert_eq(strlen(answer), size);
        if (out != NULL)
            snprintf(out, 256, "%s", answer);
    }
    return status;
}

/* What a program of this line gives for its first question. */
static enum child_status first_answer(const char *command, unsigned answer_ms, char *out)
{
    struct child *child = start(command, answer_ms, NULL);
    enum child_status status = ask(child, "ping\n", out);
    child_end(child);
    return status;
}

/* No child of this process is left, dead or alive, once the keeper is gone. */
static void expect_no_children(void)
{
    teardown();
    keeper = NULL;
    cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1);
}

TestSuite(child, .timeout = 600, .init = setup, .fini = teardown);

Test(child, answers_line_by_line)
{
    struct child *child = start("while read -r line; do echo \"<$line>\"; done", PATIENT, NULL);
    char answer[256], question[64], wanted[64];
    for (int i = 0; i < 1000; i++) {
        snprintf(question, sizeof question, "question %d\n", i);
        snprintf(wanted, sizeof wanted, "<question %d>", i);
        cr_assert_eq(ask(child, question, answer), CHILD_OK);
        cr_assert_str_eq(answer, wanted);
    }
    child_end(child);
    expect_no_children();
}

Test(child, takes_an_answer_in_pieces_and_up_to_the_limit)
{
    char answer[256];
    cr_expect_eq(first_answer("read l; printf a; sleep 0.1; printf 'b\\n'; cat", PATIENT, answer),
                 CHILD_OK);
    cr_expect_str_eq(answer, "ab");
    const char *longest = "read l; head -c 65536 /dev/zero | tr '\\0' x; echo; cat";
    const char *longer = "read l; head -c 65537 /dev/zero | tr '\\0' x; echo; cat";
    cr_expect_eq(first_answer(longest, PATIENT, NULL), CHILD_OK);
    cr_expect_eq(first_answer(longer, PATIENT, NULL), CHILD_TOO_LONG);
    expect_no_children();
}

Test(child, says_what_went_wrong)
{
    cr_expect_eq(first_answer("sleep 1000", IMPATIENT, NULL), CHILD_LATE);
    cr_expect_eq(first_answer("while :; do :; done", IMPATIENT, NULL), CHILD_LATE);
    cr_expect_eq(first_answer("read l; printf half; sleep 1000", IMPATIENT, NULL), CHILD_LATE);
    cr_expect_eq(first_answer("read l", PATIENT, NULL), CHILD_ENDED);
    cr_expect_eq(first_answer("exit 3", PATIENT, NULL), CHILD_ENDED);
    cr_expect_eq(first_answer("no-such-program-here", PATIENT, NULL), CHILD_ENDED);
    cr_expect_eq(first_answer("read l; kill -SEGV $$", PATIENT, NULL), CHILD_ENDED);
    cr_expect_eq(first_answer("exec >&-; sleep 1000", PATIENT, NULL), CHILD_ENDED);
    cr_expect_eq(first_answer("exec <&-; sleep 1000", IMPATIENT, NULL), CHILD_LATE);
    cr_expect_eq(first_answer("yes", PATIENT, NULL), CHILD_OUT_OF_TURN);
    cr_expect_eq(first_answer("read l; cat /dev/zero", PATIENT, NULL), CHILD_TOO_LONG);
    cr_expect_eq(first_answer("read l; printf 'a\\nb\\n'; cat", PATIENT, NULL), CHILD_OUT_OF_TURN);
    expect_no_children();
}

Test(child, notices_a_death_between_questions)
{
    struct child *child = start("read l; echo one", PATIENT, NULL);
    cr_assert_eq(ask(child, "a\n", NULL), CHILD_OK);
    cr_expect_eq(ask(child, "b\n", NULL), CHILD_ENDED);
    child_end(child);
    expect_no_children();
}

Test(child, outlives_a_question_that_nobody_reads)
{
    signal(SIGPIPE, SIG_DFL); /* writing to the dead must not end us even so */
    size_t size = 4 << 20;
    char *question = malloc(size);
    cr_assert_not_null(question);
    memset(question, 'q', size);
    question[size - 1] = '\n';
    const char *answer;
    const char *commands[] = {"exit 0", "exec <&-; sleep 1000", "sleep 1000"};
    const enum child_status wanted[] = {CHILD_ENDED, CHILD_LATE, CHILD_LATE};
    for (int i = 0; i < 3; i++) {
        struct child *child = start(commands[i], i == 0 ? PATIENT : IMPATIENT, NULL);
        size_t answer_size;
        cr_expect_eq(child_ask(child, question, size, &answer, &answer_size), wanted[i]);
        child_end(child);
    }
    free(question);
    expect_no_children();
}

Test(child, asks_whether_to_go_on_while_it_waits)
{
    struct heard heard = {.refuse_at = 2};
    struct child *child = start("sleep 1000", PATIENT, &heard);
    cr_expect_eq(ask(child, "a\n", NULL), CHILD_STOPPED);
    cr_expect_eq(heard.asked, 2);
    child_end(child);
    expect_no_children();
}

Test(child, passes_complaints_on_within_bounds)
{
    struct heard heard = {0};
    struct child *child = start("printf 'bad\\033[1m \\377thing\\n' >&2; read l; echo ok; "
                                "head -c 1000 /dev/zero | tr '\\0' x >&2; echo >&2; "
                                "yes complaint | head -n 100000 >&2; read l; echo ok; cat",
                                PATIENT, &heard);
    cr_expect_eq(ask(child, "a\n", NULL), CHILD_OK);
    cr_expect_eq(ask(child, "b\n", NULL), CHILD_OK);
    child_end(child);
    cr_expect_str_eq(heard.first, "bad?[1m ?thing");
    cr_expect_eq(heard.lines, CHILD_COMPLAINTS_MAX);
    cr_expect_not_null(strstr(heard.all, "complaintcomplaint"));
    expect_no_children();
}

Test(child, hears_the_last_words_of_a_program_that_ended)
{
    struct heard heard = {0};
    struct child *child = start("read l; printf 'cannot go on' >&2; exit 1", PATIENT, &heard);
    cr_expect_eq(ask(child, "a\n", NULL), CHILD_ENDED);
    child_end(child);
    cr_expect_str_eq(heard.all, "cannot go on");
}

Test(child, gets_nothing_of_ours)
{
    char answer[256];
    setenv("TACET_SECRET", "hush", 1);
    int leak = open("/etc/passwd", O_RDONLY); /* no O_CLOEXEC */
    cr_assert_geq(leak, 0);
    teardown();
    setup(); /* a keeper that had both */
    cr_expect_eq(first_answer("read l; echo $(env | grep -c ^PATH=) $(env | grep -c ^TACET_); cat",
                              PATIENT, answer),
                 CHILD_OK);
    cr_expect_str_eq(answer, "1 0");
    /* The shell's own glob opens one more while it lists. */
    cr_expect_eq(first_answer("read l; for n in 3 4 5 6 7 8 9 10 11 12; do "
                              "[ -e /proc/self/fd/$n ] && printf '%s ' $n; done; echo; cat",
                              PATIENT, answer),
                 CHILD_OK);
    cr_expect_str_eq(answer, "");
    cr_expect_eq(first_answer("read l; ulimit -c; cat", PATIENT, answer), CHILD_OK);
    cr_expect_str_eq(answer, "0");
    close(leak);
}

/* The caller's copy stays. */
static void write_secret(char out[33])
{
    for (int i = 0; i < 32; i++)
        out[i] = (char)('a' + ((unsigned)getpid() * 7 + (unsigned)(i * i)) % 26);
    out[32] = '\0';
}

/* How often TEXT is in the bytes FROM to TO of FILE, as far as they can be read. */
static unsigned count_between(int file, unsigned long from, unsigned long to, const char *text)
{
    char *bytes = malloc(to - from);
    ssize_t size = pread(file, bytes, to - from, (off_t)from);
    unsigned count = 0;
    for (char *at = bytes; size > 0; at++) {
        at = memmem(at, (size_t)(bytes + size - at), text, strlen(text));
        if (!at)
            break;
        count++;
    }
    free(bytes);
    return count;
}

#define PART_MAX (64UL << 20) /* larger parts of a memory are a sanitizer's */

/* How often TEXT is in the file NAME of the process PID; of its memory, in what it can write. */
static unsigned count_in(pid_t pid, const char *name, const char *text)
{
    char path[64], line[256];
    unsigned count = 0;
    unsigned long from, to;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "r");
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    int file = open(path, O_RDONLY);
    cr_assert(maps && file >= 0, "%s", path);
    if (strcmp(name, "mem") != 0)
        count = count_between(file, 0, 1 << 20, text);
    else
        while (fgets(line, sizeof line, maps))
            if (sscanf(line, "%lx-%lx", &from, &to) == 2 && strstr(line, " rw") &&
                to - from <= PART_MAX)
                count += count_between(file, from, to, text);
    close(file);
    fclose(maps);
    return count;
}

/* A program without namespaces may be of the same user, and read what its keeper may. */
Test(child, keeper_and_warden_hold_no_secret)
{
    char *secret = malloc(33), again[33];
    const char *path = getenv("PATH");
    struct descent descent;
    unsigned looked = 0;
    cr_assert(path && strlen(path) > 8);
    descent_open(&descent);
    cr_assert_gt(count_in(getpid(), "environ", path), 0);
    teardown();
    write_secret(secret);
    keeper = keeper_start(false, secret, 33);
    struct child *child = start("read l; echo fine; cat", PATIENT, NULL);
    cr_assert_eq(ask(child, "go\n", NULL), CHILD_OK);
    write_secret(again);
    cr_expect_str_eq(secret, again);
    cr_expect_gt(count_in(getpid(), "mem", again), 0);
    descent_find(&descent);
    for (size_t i = 0; i < descent.count; i++) {
        if (count_in(descent.pid[i], "comm", "tacet-") == 0)
            continue;
        cr_expect_eq(count_in(descent.pid[i], "environ", path), 0);
        cr_expect_eq(count_in(descent.pid[i], "mem", again), 0);
        looked++;
    }
    cr_expect_geq(looked, 2);
    child_end(child);
    free(descent.pid);
    free(descent.all);
    free(secret);
}

Test(child, leaves_no_descriptor_behind)
{
    int before = dup(0);
    close(before);
    for (int i = 0; i < 20; i++) {
        first_answer("exit 0", PATIENT, NULL);
        first_answer("read l; echo fine; cat", PATIENT, NULL);
    }
    int after = dup(0);
    close(after);
    cr_expect_eq(before, after);
    expect_no_children();
}
