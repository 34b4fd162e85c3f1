"""Every example of examples/python, run as its user would, against the real server."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from service import ROOT, service

EXAMPLES = ROOT / "examples" / "python"


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.run_example("walks.py", cls.folder)

    @classmethod
    def run_example(cls, name, *arguments, token=None):
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "clients" / "python"), "TACET_URL": service().url,
                       "TACET_TOKEN": str(token or service().steward_token), "PYTHONWARNINGS": "error,ignore::ResourceWarning"}
        ended = subprocess.run([sys.executable, EXAMPLES / name, *map(str, arguments)], cwd=cls.folder, env=environment,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
        assert ended.returncode == 0, ended.stdout
        return ended.stdout

    @staticmethod
    def walks():
        made, = (one for one in service().steward.pages(service().steward.api.list_datasets)
                 if (one["name"], one["nominal_experts"]) == ("walks", 300))
        return made

    def test_an_hdf5_file_becomes_a_certified_onnx_policy_and_a_refused_query(self):
        stopped = (EXAMPLES / "own_hdf5.py").read_text().replace(").seal()", "); raise SystemExit")
        (self.folder / "stopped.py").write_text(stopped)
        self.run_example(self.folder / "stopped.py")
        uploaded = self.walks()
        self.assertEqual(uploaded["state"], "open")
        said = self.run_example("own_hdf5.py")
        self.assertEqual((self.walks()["state"], self.walks()["trajectories"]), ("sealed", uploaded["trajectories"]))
        kept = [[one["id"] for one in service().steward.pages(operation)]
                for operation in (service().steward.api.list_datasets, service().steward.api.list_jobs)]
        self.assertIn("The privacy budget cannot pay for this", self.run_example("own_hdf5.py"))
        self.assertEqual([[one["id"] for one in service().steward.pages(operation)] for operation in
                          (service().steward.api.list_datasets, service().steward.api.list_jobs)], kept)
        self.assertIn("The privacy budget cannot pay for this", said)
        statements = (EXAMPLES / "own_hdf5.py").read_text().split('"""')[2]
        joined = [line for line in statements.splitlines() if line.strip() and not line.startswith(" " * 20)]
        self.assertLessEqual(len(joined), 10, joined)
        (self.folder / "keys.json").write_bytes(service().steward.transport.call("GET", "/.well-known/jwks.json", want="bytes"))
        checked = subprocess.run([sys.executable, ROOT / "examples" / "verify_certificate.py", "walks.certificate.json",
                                  "keys.json", "walks.onnx"], cwd=self.folder, stdout=subprocess.PIPE, text=True)
        self.assertEqual((checked.returncode, checked.stdout.count("holds") + checked.stdout.count("issued for")), (0, 2))

    def test_the_manual_shows_the_example_as_it_is(self):
        code = (EXAMPLES / "own_hdf5.py").read_text().split('"""')[2].replace("  # noqa: E701", "")
        self.assertIn(code.strip(), (ROOT / "docs" / "python.md").read_text())

    def test_a_table_is_advised_estimated_and_trained_on_once(self):
        said = self.run_example("table.py")
        self.assertIn("left: epsilon 3.00", said)
        self.assertIn("[0, 1]", said)

    def test_a_step_loop_is_recorded_trained_on_and_played(self):
        self.assertIn("'episodes': 20", self.run_example("step_loop.py"))

    def test_a_student_asks_until_the_budget_is_gone_and_asks_for_more(self):
        teacher = service().job.policy.teach({"name": "gaussian_simplex", "sigma": 0.2}, epsilon=8, delta=1e-5, radius=0.01,
                                             client_budget={"epsilon": 0.5, "delta": 1e-5})
        said = self.run_example("student.py", teacher.id, token=service().student_token)
        self.assertIn("The largest request that would be paid now", said)
        self.assertRegex(said, r"request \w+ open")

    def test_an_auditor_verifies_the_ledger(self):
        service().job
        token = service().admin.new_client("audrey", "auditor")
        said = self.run_example("ledger.py", token=token)
        self.assertIn(service().data.budget()["account"], said)
        self.assertIn("1 signing key", said)
