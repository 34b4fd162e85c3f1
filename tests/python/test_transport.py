"""Lost connections, busy servers and half answers: against a server of these tests that misbehaves on purpose."""
import http.server
import json
import threading
import unittest

from service import tacet
from tacet.transport import Transport


class Unruly(http.server.BaseHTTPRequestHandler):
    """Does to each request what the next word of the script says."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.seen.append((self.command, self.headers.get("Idempotency-Key")))
        what = self.server.script.pop(0) if self.server.script else "good"
        if what == "hang":
            self.server.release.wait()
        if what in ("lose", "hang"):
            self.close_connection = True
            return
        status, body = (200, {"n": len(self.server.seen)}) if what in ("good", "half") else (int(what), {"type": self.server.type})
        text = json.dumps(body).encode() if status != 301 else b""
        self.send_response(status)
        if status == 301:
            self.send_header("Location", "https://elsewhere/")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        if status in (429, 503):
            self.send_header("Retry-After", "0.01")
        self.end_headers()
        self.wfile.write(text[:3] if what == "half" else text)
        self.close_connection = what == "half"

    do_GET = do_POST = do_DELETE = do_PUT = answer

    def log_message(self, *_):
        pass


class Repeats(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Unruly)
        self.server.daemon_threads = True
        self.server.seen, self.server.script, self.server.type = [], [], "/problems/overloaded"
        self.server.release = threading.Event()
        self.addCleanup(self.server.release.set)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.transport = Transport("http://127.0.0.1:%d" % self.server.server_port, "tct_token", patience=5)
        self.api = tacet.Api(self.transport)

    def tearDown(self):
        self.transport.close()
        self.server.shutdown()
        self.server.server_close()

    def test_a_question_is_repeated_under_its_key(self):
        self.server.script = ["lose", "half", "503", "429", "good"]
        self.assertEqual(self.api.query_teacher("t", {"state": [0]}), {"n": 5})
        self.assertEqual(len({key for _, key in self.server.seen}), 1)
        self.assertIsNotNone(self.server.seen[0][1])

    def test_two_questions_have_two_keys(self):
        self.api.query_teacher("t", {"state": [0]})
        self.api.query_teacher("t", {"state": [0]})
        self.assertEqual(len({key for _, key in self.server.seen}), 2)

    def test_a_refusal_is_raised_at_once(self):
        self.server.script, self.server.type = ["403"], "/problems/budget-exhausted"
        with self.assertRaises(tacet.BudgetExhausted):
            self.api.query_teacher("t", {"state": [0]})
        self.assertEqual(len(self.server.seen), 1)

    def test_a_full_disk_is_not_waited_for(self):
        self.server.script, self.server.type = ["503"], "/problems/storage-full"
        with self.assertRaises(tacet.StorageFull):
            self.api.query_teacher("t", {"state": [0]})

    def test_a_silence_longer_than_patience_is_repeated_too(self):
        self.transport.patience, self.transport.timeout = 0.5, 1
        self.server.script = ["hang", "lose", "good"]
        self.assertEqual(self.api.query_teacher("t", {"state": [0]}), {"n": 3})

    def test_patience_ends_with_the_key_in_the_exception(self):
        self.transport.patience, self.server.script = 0.05, ["lose"] * 99
        with self.assertRaises(tacet.ConnectionLost) as caught:
            self.api.query_teacher("t", {"state": [0]}, key="mine")
        self.assertEqual(caught.exception.key, "mine")
        self.assertNotIn("tct_token", str(caught.exception))

    def test_a_busy_server_is_told_as_such_in_the_end(self):
        self.transport.patience, self.server.script = 0.05, ["503"] * 99
        with self.assertRaises(tacet.Overloaded):
            self.api.list_jobs()

    def test_a_refusal_after_a_lost_answer_has_the_key_that_may_be_charged(self):
        self.transport.patience, self.server.script = 0.3, ["lose", *["503"] * 99]
        with self.assertRaises(tacet.Overloaded) as caught:
            self.api.query_teacher("t", {"state": [0]})
        self.assertEqual({key for _, key in self.server.seen}, {caught.exception.key})
        self.assertIsNone(tacet.Overloaded({}).key)

    def test_a_redirect_is_refused_with_its_address(self):
        self.server.script = ["301"]
        with self.assertRaisesRegex(tacet.Problem, "status 301: the address is https://elsewhere/\\.$"):
            self.api.list_jobs()

    def test_a_deletion_that_finds_nothing_is_an_error_also_after_a_lost_answer(self):
        for script in (["404"], ["lose", "404"]):
            self.server.script = list(script)
            with self.assertRaises(tacet.Problem) as caught:
                self.api.erase_expert("d", "a-typing-error")
            self.assertEqual("may have deleted it" in str(caught.exception), len(script) == 2)

    def test_an_answer_of_no_problem_type_is_a_problem_all_the_same(self):
        self.server.script, self.server.type = ["418"], "/problems/of-tomorrow"
        with self.assertRaises(tacet.Problem) as caught:
            self.api.list_jobs()
        self.assertEqual((caught.exception.status, caught.exception.slug), (418, "of-tomorrow"))

    def test_a_key_names_its_time(self):
        first, second = tacet.fresh_key(), tacet.fresh_key()
        self.assertNotEqual(first, second)
        self.assertEqual(first[14], "7")
