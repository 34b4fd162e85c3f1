/* Worlds that a steward registers, with a real server: the example, through kill -9; and a program
 * that tries everything that it may not. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/http/desk.h"

static struct server_process server;
static struct desk desk;

static void setup(void)
{
    setenv("PGPASSWORD", "hush", 1); /* a secret that the server has in its environment */
    server_open(&server, "--workers", "1", "--world-runner", "python=/usr/bin/python3 -I",
                "--world-timeout", "60", NULL);
    desk_open(&desk, &server);
}

static void teardown(void)
{
    desk_close(&desk);
    server_close(&server);
}

TestSuite(registered_worlds, .init = setup, .fini = teardown);

static struct http_answer enter(long status, const char *name, const char *source)
{
    json_t *json = json_pack("{s:s, s:s, s:s}", "name", name, "runner", "python", "source", source);
    char *body = json_dumps(json, 0);
    struct http_answer made = desk_post(&desk, status, "/v1/environments", body, name);
    free(body);
    json_decref(json);
    return made;
}

static double play(const char *policy, const char *world, const char *key)
{
    char body[400], path[96];
    snprintf(body, sizeof body,
             "{\"algorithm\":\"evaluate\",\"policy\":\"%s\",\"evaluate\":{\"environment\":\"%s\","
             "\"episodes\":2,\"max_episode_steps\":25}}",
             policy, world);
    desk_submit(&desk, body, key, path);
    struct http_answer job = desk_wait(&desk, path);
    cr_expect_str_eq(http_text(&job, "state"), "succeeded", "%s", job.body);
    double mean =
        json_number_value(json_object_get(json_object_get(job.json, "evaluation"), "mean_return"));
    http_answer_clear(&job);
    return mean;
}

Test(registered_worlds, the_example_is_one_before_and_after_kill_9)
{
    char id[64], policy[64], body[400];
    size_t size;
    char *source = read_whole("examples/world.py", &size);
    cr_assert_not_null(source);
    struct http_answer made = enter(201, "rail2", source);
    snprintf(id, sizeof id, "%s", http_text(&made, "id"));
    http_answer_clear(&made);
    snprintf(body, sizeof body,
             "{\"name\":\"p\",\"environment\":\"%s\",\"network\":{\"activation\":\"relu\","
             "\"layers\":[{\"weight\":[[1,5],[-1,-5]],\"bias\":[0,0]}],\"output\":\"argmax\"}}",
             id);
    made = desk_post(&desk, 201, "/v1/policies", body, "p");
    snprintf(policy, sizeof policy, "%s", http_text(&made, "id"));
    http_answer_clear(&made);
    double before = play(policy, id, "one");
    cr_expect(before > 0 && before <= 25, "%g", before);
    desk_restart(&desk, SIGKILL, 1000 + SIGKILL);
    cr_expect_eq(play(policy, id, "two"), before);
    snprintf(body, sizeof body, "/v1/environments/%s", id);
    made = desk_call(&desk, "DELETE", 204, body, NULL, NULL);
    http_answer_clear(&made);
    made = desk_get(&desk, "/v1/environments");
    cr_expect_null(strstr(made.body, id));
    http_answer_clear(&made);
    free(source);
}

Test(registered_worlds, a_service_whose_webhook_key_a_program_could_read_does_not_start)
{
    char out[1024];
    cr_expect_eq(tacet_run(out, sizeof out, "serve", "--data", server.data, "--world-runner",
                           "python=/usr/bin/python3 -I", "--webhook",
                           "all https://127.0.0.1/x /usr/share/webhook.key", NULL),
                 2, "%s", out);
    cr_expect_not_null(strstr(out, "could read \"/usr/share/webhook.key\""), "%s", out);
}

/* Its answer says how often it got what it may not have: 0. What it writes to its standard error is
 * in no log. */
static const char hostile[] =
    "import ctypes, json, os, socket, sys\n"
    "got = []\n"
    "def attempt(what, act):\n"
    "    try:\n"
    "        act()\n"
    "        got.append(what)\n"
    "    except (OSError, MemoryError): pass\n"
    "for name in ('tacet.db', 'signing.key', 'lock', 'keys', ''):\n"
    "    attempt(name, lambda: os.stat(os.path.join(DATA, name)))\n"
    "for pid in (1, os.getppid(), SERVER):\n"
    "    for name in ('environ', 'cmdline', 'mem', 'root'):\n"
    "        attempt('proc', lambda: os.stat('/proc/%d/%s' % (pid, name)))\n"
    "for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK):\n"
    "    attempt('socket', lambda: socket.socket(family, socket.SOCK_STREAM))\n"
    "attempt('signal', lambda: os.kill(SERVER, 0))\n"
    "attempt('write', lambda: open('/usr/hostile', 'w'))\n"
    "attempt('memory', lambda: bytearray(3 << 30))\n"
    "def fill():\n"
    "    for i in range(4000): open('/tmp/%d' % i, 'wb').write(bytes(1 << 20))\n"
    "attempt('disk', fill)\n"
    "def forks():\n"
    "    for i in range(200):\n"
    "        if os.fork() == 0:\n"
    "            import time\n"
    "            time.sleep(600)\n"
    "attempt('forks', forks)\n"
    "if 'PGPASSWORD' in os.environ: got.append('environment')\n"
    "print('hostile says this', file=sys.stderr)\n"
    "input()\n"
    "print(json.dumps({'protocol': 1, 'state_dim': 1, 'action_count': 2, 'max_episode_steps': 9,\n"
    "    'random_return': len(got), 'parameters': [{'name': 'x', 'default': 0, 'minimum': 0,\n"
    "    'maximum': 1, 'meaning': ' '.join(got)[:160]}]}), flush=True)\n"
    "input()\n";

Test(registered_worlds, a_hostile_program_gets_nothing_and_the_service_serves_on)
{
    char source[6000], *data = realpath(server.data, NULL);
    snprintf(source, sizeof source, "DATA = '%s'\nSERVER = %d\n%s", data, (int)server.pid, hostile);
    struct http_answer made = enter(201, "hostile", source);
    cr_expect_eq(json_number_value(json_object_get(made.json, "random_return")), 0, "%s",
                 made.body);
    http_answer_clear(&made);
    cr_expect(!server_log_has(&server, "hostile says this"));
    made = enter(422, "garbage", "while True: print('x' * 1000)\n");
    http_answer_clear(&made);
    made = enter(422, "dies", "import os\nos.kill(0, 9)\n");
    http_answer_clear(&made);
    size_t size;
    char *example = read_whole("examples/world.py", &size);
    made = enter(201, "good", example);
    http_answer_clear(&made);
    free(example);
    free(data);
    desk_expect_whole_ledger(&desk);
}
