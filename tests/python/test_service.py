"""The verbs against a real server."""
import io
import json
import re
import sys
import threading
import time
import types
import unittest
import unittest.mock

from service import DESCRIPTION, service, tacet, walks
from tacet.notebook import Progress


class Verbs(unittest.TestCase):
    def test_a_job_is_waited_for_with_progress(self):
        bar, shown = Progress(io.StringIO()), service().job
        bar.show(shown.document)
        self.assertIn("succeeded", bar.stream.getvalue())
        self.assertIn("100 %", bar.stream.getvalue())
        self.assertEqual(shown["state"], "succeeded")
        self.assertGreater(shown["privacy"]["spent"]["epsilon"], 1)

    def test_a_queued_job_says_what_it_waits_for(self):
        said = {"id": "job_1", "state": "queued", "progress": {"queue_place": 3, "queue_own": 2}}
        bar = Progress(io.StringIO())
        bar.show(said)
        self.assertIn("place 3 in the queue, behind 2 of your project's jobs", bar.stream.getvalue())
        api = types.SimpleNamespace(get_job=lambda id: said)
        waiting = tacet.Job(types.SimpleNamespace(api=api), said)
        with self.assertRaisesRegex(TimeoutError, "still queued: place 3 in the queue, behind 2 of"):
            waiting.wait(timeout=0)

    def test_a_policy_acts_in_one_state_and_in_many(self):
        policy = service().job.policy
        self.assertIn(policy.act([0.5, 0.1]), (0, 1))
        self.assertEqual(len(policy.act([[0.5, 0.1], [-0.5, 0.1]])), 2)
        with self.assertWarnsRegex(UserWarning, r"/states/1/0: \w+ is 9, above its highest value"):
            policy.act([[0.5, 0.1], [9, 0.1]])
        with self.assertWarnsRegex(UserWarning, r"^/states/1500/0: .* Outside values: 1\.$"):
            self.assertEqual(len(policy.act(1500 * [[0.5, 0.1]] + [[9, 0.1]])), 1501)  # in parts
        with self.assertRaisesRegex(ValueError, "no state"):
            policy.act([])

    def test_what_is_no_episode_no_world_and_no_member_is_told_before_anything_is_sent(self):
        made = service().data
        for wrong, said in (([], "no episode to upload"), ([[0.0, 1.0]], "is of episodes .* not of list")):
            with self.assertRaisesRegex((TypeError, ValueError), said):
                made.upload(wrong)
        with self.assertRaisesRegex(TypeError, "takes no seed"):
            made.train("cql", epsilon=1, seed=3)
        half = types.SimpleNamespace(reset=None, action_space=None)
        for wrong, said in ((7, "int has no reset"), (half, "SimpleNamespace has no observation_space and no step")):
            with self.assertRaisesRegex(TypeError, "action_space.n, observation_space.shape, reset and step: " + said):
                tacet.world(wrong)
        with self.assertRaisesRegex(ValueError, "without /v1"):
            tacet.connect("http://127.0.0.1:9/v1/", "tct_x")

    def test_states_are_checked_before_a_teacher_is_paid(self):
        policy = service().job.policy
        teacher = policy.teach({"name": "gaussian_simplex", "sigma": 1}, epsilon=8, delta=1e-5, radius=0.001, client_budget={"epsilon": 8, "delta": 1e-5})
        self.assertIn("above its highest value", teacher.estimate(states=[[9, 0.1]])["warnings"][0]["detail"])
        self.assertIn("above its highest value", teacher.estimate(states=[9, 0.1])["warnings"][0]["detail"])
        for wrong in ({}, {"count": 5, "states": [9, 0.1]}):
            self.assertRaises(TypeError, teacher.estimate, **wrong)
        self.assertNotIn("warnings", teacher.estimate(5))

    def test_the_same_key_is_the_same_job(self):
        steward, data = service().steward, service().data
        wish = dict(epsilon=1, delta=1e-6, privacy={"force": True}, parameters={"steps": 5}, mechanism="dpsgd", key="once")
        first, second = data.train("cql", **wish), data.train("cql", **wish)
        self.assertEqual(first.id, second.id)
        self.assertIn(first.id, [job.id for job in steward.jobs()])
        first.wait()

    def test_a_job_that_was_just_made_shows_the_advisors_verdict(self):
        made = service().data.train("cql", epsilon=1, delta=1e-6, privacy={"force": True}, parameters={"steps": 5}, mechanism="dpsgd")
        said = made["advice"]
        with unittest.mock.patch("sys.stderr", io.StringIO()) as shown:
            made.wait(progress=True)
        self.assertTrue(shown.getvalue().startswith(f"{said['verdict']}: {said['sentence']}\n"))

    def test_a_dataset_and_an_algorithm_are_given_in_either_order(self):
        client, data, wish = service().steward, service().data, dict(epsilon=5, delta=1e-5, mechanism="dpsgd")
        costs = [client.estimate(data, "cql", **wish), client.estimate("cql", dataset=data, **wish),
                 client.estimate(dataset=data.id, algorithm="cql", **wish), data.estimate("cql", **wish)]
        costs.append(client.estimate("cql", data, **wish))
        self.assertEqual([said["cost"] for said in costs], [costs[0]["cost"]] * 5)
        self.assertTrue(client.estimate("reinforce", environment="cartpole", epsilon=4, delta=1e-5)["feasible"])
        for call in (client.train, client.estimate):
            with self.assertRaisesRegex(TypeError, "one dataset and one algorithm: client.train"):
                call(data, "cql", dataset=data, **wish)

    def test_numbers_of_numpy_are_numbers(self):
        numpy = types.SimpleNamespace  # what the client uses of it
        five = numpy(tolist=lambda: 5)
        said = service().data.estimate("cql", epsilon=five, delta=numpy(tolist=lambda: 1e-5), mechanism="dpsgd",
                                       parameters={"hidden": numpy(tolist=lambda: [8])})
        self.assertEqual(said["cost"]["epsilon"] <= 5, True)
        with self.assertRaisesRegex(TypeError, "and no object"):
            service().data.estimate("cql", epsilon=object(), mechanism="dpsgd")
        with self.assertRaisesRegex(ValueError, "The name of an expert is a text, such as '7'"):
            tacet.Episode(7, [[0], [0]], [0], [1])

    def test_a_wrong_token_names_the_server(self):
        with self.assertRaises(tacet.Unauthorized) as caught:
            tacet.connect(service().url, "tct_wrong")
        self.assertIn(service().url, str(caught.exception))

    def test_a_failed_estimate_says_so_and_costs_nothing(self):
        said = service().data.estimate("cql", epsilon=5, delta=1e-5, mechanism="dpsgd")
        self.assertIn(said["feasible"], (True, False))
        self.assertIn("epsilon", said["cost"])
        self.assertTrue(service().data.advise(5, 1e-5))

    def test_what_has_no_account_takes_no_delta_by_itself(self):
        said = service().steward.estimate("pgc_a3c", epsilon=2, environment="cartpole")
        self.assertTrue(said["feasible"], said)

    def test_a_teacher_answers_until_the_budget_is_gone(self):
        s = service()
        teacher = s.job.policy.teach({"name": "gaussian_simplex", "sigma": 0.2, "temperature": 20}, epsilon=8, delta=1e-5,
                                     radius=0.02, client_budget={"epsilon": 1, "delta": 1e-5})
        pupil = s.student.teacher(teacher.id)
        answer = pupil.ask([0.1, 0.0], key="first")
        self.assertAlmostEqual(sum(answer.probabilities), 1, places=3)
        self.assertEqual(pupil.ask([0.1, 0.0], key="first"), answer)
        self.assertEqual(len(pupil.ask([[0.1, 0.0], [0.2, 0.0]]).probabilities), 2)
        with self.assertRaises(tacet.BudgetExhausted) as caught:
            while True:
                pupil.ask([[0.1, 0.0]] * 1000)
        refusal = caught.exception
        self.assertLess(refusal.accounts[0]["available"]["epsilon"], refusal.accounts[0]["needed"]["epsilon"])
        self.assertEqual(refusal.violated[0]["limit"]["epsilon"], 1)
        self.assertIn("largest request that would be paid", str(refusal))
        self.assertIn("states", refusal.largest)
        self.assertEqual(refusal.ask["method"], "POST")
        pupil.ask([[0.1, 0.0]] * refusal.largest["states"])

    def test_a_spent_dataset_refuses_a_job_with_the_numbers(self):
        data = service().steward.create_dataset("poor", epsilon=1, delta=1e-6, nominal_experts=60, description=DESCRIPTION,
                                                discount=0.9, max_episode_steps=20).upload(walks(2, 2)).seal()
        with self.assertRaises(tacet.BudgetExhausted) as caught:
            data.train("cql", epsilon=2, delta=1e-6, privacy={"force": True}, mechanism="dpsgd", parameters={"steps": 5})
        self.assertEqual(caught.exception.accounts[0]["kind"], "dataset")
        said = data.estimate("cql", epsilon=2, delta=1e-6, mechanism="dpsgd", parameters={"steps": 5})
        self.assertEqual((said["feasible"], said["accounts"][0]["remaining"]), (False, caught.exception.largest))
        self.assertIn("epsilon 1", data.remaining())

    def test_the_ledger_lists_verifies_and_shows_itself(self):
        service().job
        ledger = service().steward.ledger()
        account = service().data.budget()["account"]
        self.assertIn(account, [a["account"] for a in ledger])
        self.assertIn("hold", [e["kind"] for e in ledger.entries(account)])
        listed = next(a for a in ledger if a["account"] == account)
        self.assertEqual(list(ledger.entries(listed)), list(ledger.entries(account)))
        self.assertTrue(ledger.verify()["ok"])
        self.assertIn(account, repr(ledger))

    def test_limit_spent_and_remaining_add_up_in_what_the_ledger_shows(self):
        teacher = service().job.policy.teach({"name": "gaussian_simplex", "sigma": 0.2, "temperature": 20}, epsilon=8,
                                             delta=1e-5, radius=0.02, client_budget={"epsilon": 1, "delta": 1e-5})
        service().student.teacher(teacher.id).ask([0.1, 0.0])
        lines = repr(service().student.ledger()).splitlines()
        shown = [line for line in lines if f"teacher {teacher.id[-4:]}" in line][-1]
        found = re.search(r"limit epsilon 1 at delta 1e-05; spent epsilon (\S+); reserved epsilon 0; remaining epsilon (\S+)$", shown)
        self.assertAlmostEqual(float(found[1]) + float(found[2]), 1, places=3)
        self.assertRegex(repr(service().steward.ledger()), r"walks: limit epsilon 100, delta 0.001; spent epsilon \S+, delta")

    def test_what_notebooks_show_is_escaped(self):
        name = "<script>alert(1)</script>"
        data = service().steward.create_dataset(name, epsilon=1, delta=1e-6, environment="cartpole")
        for shown in (data._repr_html_(), service().steward.ledger()._repr_html_()):
            self.assertNotIn("<script>", shown)
            self.assertIn("&lt;script&gt;", shown)

    def test_a_faulty_upload_names_the_line_and_stores_nothing(self):
        data = service().steward.create_dataset("faulty", epsilon=1, delta=1e-6, environment="cartpole")
        with self.assertRaises(tacet.Validation) as caught:
            data.upload([e.document() for e in walks(1, 2)])
        self.assertIn("line 1", str(caught.exception))
        self.assertEqual(data.refresh()["trajectories"], 0)

    def test_an_upload_is_repeated_under_its_key_at_another_time(self):
        data, key = service().steward.create_dataset("repeated", epsilon=1, delta=1e-6, environment="cartpole"), tacet.fresh_key()
        episode = {"expert": "a", "states": [[0] * 4] * 2, "actions": [0], "rewards": [1], "terminated": False, "truncated": True}
        data.upload([episode], key=key)
        with unittest.mock.patch("time.time", return_value=time.time() + 60):
            data.upload([episode], key=key)
        self.assertEqual(data.refresh()["trajectories"], 1)

    def test_a_number_that_is_not_finite_is_told_with_its_place_before_anything_is_sent(self):
        nan, policy = float("nan"), service().job.policy
        data = service().steward.create_dataset("nan", epsilon=1, delta=1e-6, environment="cartpole")
        good = next(iter(walks(1, 1))).document()
        for call, words in ((lambda: data.upload([good, {**good, "rewards": [1, nan]}]),
                             r"Episode 1, of expert \S+: rewards\[1\] is nan"),
                            (lambda: policy.act([0.5, nan]), r"states\[0\]\[1\] is nan"),
                            (lambda: policy.act([[0, 0], [-float("inf"), 0]]), r"states\[1\]\[0\] is -inf"),
                            (lambda: tacet.Teacher(service().student, "tch_1").ask([0.1, nan]), r"^state\[1\] is nan"),
                            (lambda: data.train("cql", epsilon=nan), "privacy.epsilon is nan")):
            with self.assertRaisesRegex(ValueError, words):
                call()

    def test_a_failed_job_raises_its_problem_and_a_cancelled_one_says_so(self):
        failed = tacet.Job(service().steward, {"id": "job_1", "state": "failed"})
        failed._read = lambda: {"id": "job_1", "state": "failed", "error": {"type": "/problems/training-failed", "detail": "x"}}
        with self.assertRaises(tacet.TrainingFailed):
            failed.wait()
        failed._read = lambda: {"id": "job_1", "state": "cancelled"}
        with self.assertRaises(tacet.JobCancelled):
            failed.wait()

    def test_threads_share_a_client(self):
        found = []
        threads = [threading.Thread(target=lambda: found.append(service().steward.api.get_client("me")["name"])) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, ["stella"] * 4)

    def test_a_gymnasium_environment_is_a_world_by_one_line(self):
        played = service().steward.evaluate(service().job.policy, {"name": "walk", "parameters": {"stride": 0.2}}, episodes=5)
        self.assertEqual(played.wait()["evaluation"]["episodes"], 5)

    def test_an_episode_that_its_environment_truncates_early_ends_there(self):
        env = types.SimpleNamespace(reset=lambda seed: ([0], {}), step=lambda action: ([0], 1, action == 2, action == 1, {}), action_space=None)
        asked = [{"reset": {"instance": 0, "seed": 1, "parameters": {}}}, *({"step": {"instance": 0, "action": a}} for a in (0, 1, 1, 2))]
        for limit, ended in ((3, [False, True, False, True]), (1, [False, False, False, True])):
            out = io.StringIO()
            sys.modules["tacet.world"]._serve(map(json.dumps, asked), out, lambda: env, {"max_episode_steps": limit})
            self.assertEqual([json.loads(line)["terminated"] for line in out.getvalue().splitlines()[1:]], ended)


class Tokens(unittest.TestCase):
    """A token appears in no repr, no exception and no answer that is shown."""

    def test_no_repr_and_no_exception_shows_a_token(self):
        s = service()
        token, shown = str(s.steward_token), []
        for thing in (s.steward, s.steward.transport, s.steward.api, s.data, s.job, s.steward_token):
            shown += [repr(thing), repr(vars(thing)) if hasattr(thing, "__dict__") else ""]
        made = s.admin.api.create_client({"name": "carol", "role": "student"})
        self.assertTrue(made["token"].startswith("tct_"))
        shown.append(repr(made))
        for call in (lambda: tacet.connect(s.url, token + "\n\rX: y"), lambda: tacet.connect("http://a:b@c", token),
                     lambda: tacet.connect(s.url, token[:-3] + ("xyz" if token[-3:] != "xyz" else "abc")),
                     lambda: s.steward.api.list_clients()):
            with self.assertRaises((ValueError, tacet.Problem)) as caught:
                call()
            shown += [str(caught.exception), repr(caught.exception)]
        for text in shown:
            self.assertNotIn(token[-20:], text)
            self.assertNotIn(made["token"][-20:], text)
        self.assertEqual(json.loads(json.dumps({"t": s.steward_token}))["t"], token)
