"""The wheel, and the files of a policy in other people's libraries."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

import numpy as np
import onnx
import onnx.checker

from service import ROOT, service, tacet

sys.path.insert(0, str(ROOT / "examples"))
import play_onnx

try:
    from onnx.reference import ReferenceEvaluator  # onnx 1.13 and later
except ImportError:
    ReferenceEvaluator = None

STATES = np.array([[0.5, 0.1], [-0.5, -0.1], [1.5, 0.0]], "f4")


def interpret(model, states):
    """The outputs of a model: by the example's interpreter, and by onnx's own where it has one."""
    found = play_onnx.play(model, states)
    if ReferenceEvaluator:
        np.testing.assert_allclose(ReferenceEvaluator(model).run(None, {model.graph.input[0].name: states})[0], found, 1e-5, 1e-6)
    return found


class Package(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_the_wheel_is_built_installed_and_used_without_a_network(self):
        source = shutil.copytree(ROOT / "clients" / "python", self.folder / "source", ignore=shutil.ignore_patterns("__pycache__"))
        build = f"from setuptools import build_meta; build_meta.build_wheel({str(self.folder)!r})"
        subprocess.run([sys.executable, "-c", build], cwd=source, check=True, stdout=subprocess.DEVNULL)
        wheel, = self.folder.glob("tacet_client-*.whl")
        self.assertLess(wheel.stat().st_size, 100_000)
        names = zipfile.ZipFile(wheel).namelist()
        self.assertIn("tacet/py.typed", names)
        modules = {p.name for p in (ROOT / "clients" / "python" / "tacet").glob("*.py")}
        self.assertEqual({n[6:] for n in names if n.startswith("tacet/") and n.endswith(".py")}, modules)
        target = self.folder / "installed"
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-cache-dir", "--no-input", "install"]
        subprocess.run(pip + ["--no-index", "--no-deps", "--no-compile", "--target", target, wheel], check=True)
        said = subprocess.run(
            [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(target)!r}); import os, tacet; "
             "print(tacet.__version__, tacet.__file__, repr(tacet.connect()))"], cwd=self.folder, check=True, text=True,
            stdout=subprocess.PIPE, env={"TACET_URL": service().url, "TACET_TOKEN": str(service().student_token)}).stdout
        self.assertIn(str(target), said)
        self.assertIn("<Client bob (student)", said)

    def test_the_onnx_file_computes_in_another_interpreter_what_the_service_computes(self):
        policy = service().job.policy
        model = onnx.load(policy.save(self.folder / "policy.onnx"))
        onnx.checker.check_model(model, full_check=True)
        carried = {prop.key: prop.value for prop in model.metadata_props}["tacet.certificate"]
        self.assertEqual(json.loads(carried)["policy"], policy.id)
        asked = service().steward.api.ask_policy(policy.id, {"states": STATES.tolist()})
        found = interpret(model, STATES)
        np.testing.assert_allclose(found, asked["values"], rtol=1e-5, atol=1e-6)
        self.assertEqual(found.argmax(1).tolist(), asked["actions"])

    def test_the_onnx_file_of_bcq_is_played_by_its_rule_and_saving_it_says_so(self):
        policy = service().data.train("bcq", epsilon=5, delta=1e-5, privacy={"force": True}, mechanism="dpsgd",
                                      parameters={"steps": 20, "threshold": 0.6}).wait().policy
        with self.assertWarnsRegex(UserWarning, r"bcq_actions\(heads, 0.6") as told:
            path = policy.save(self.folder / "policy.onnx")
        self.assertEqual(told.filename, __file__)
        model = onnx.load(path)
        self.assertEqual(model.graph.output[0].name, "heads")
        carried = json.loads({prop.key: prop.value for prop in model.metadata_props}["tacet.certificate"])
        self.assertEqual((carried["algorithm"], carried["parameters"]["threshold"]), ("bcq", 0.6))
        threshold = json.loads(policy.save(self.folder / "policy.json").read_text())["threshold"]
        self.assertAlmostEqual(threshold, 0.6)
        states = np.random.default_rng(1).uniform(-2, 2, size=(200, 2)).astype("f4")
        heads = interpret(model, states)
        self.assertEqual(heads.shape, (200, 4))
        self.assertEqual(tacet.bcq_actions(heads, threshold), policy.act(states))

    def test_the_rule_of_bcq_plays_the_best_value_among_likely_actions(self):
        values, logits = [1.0, 3.0, 3.0, 9.0], [0.0, -0.1, 0.0, -2.0]
        for threshold, action in ((0.0, 3), (0.3, 1), (0.95, 2)):
            self.assertEqual(tacet.bcq_actions([values + logits], threshold), [action])

    def test_the_safetensors_file_has_the_numbers_of_the_json_file(self):
        policy = service().job.policy
        raw = policy.save(self.folder / "policy.safetensors").read_bytes()
        size = int.from_bytes(raw[:8], "little")
        head = json.loads(raw[8:8 + size])
        self.assertIn('"policy":"' + policy.id, head.pop("__metadata__")["certificate"])
        numbers = sorted(x for t in head.values() for x in np.frombuffer(raw[8 + size:][slice(*t["data_offsets"])], "f4"))
        layers = json.loads(policy.save(self.folder / "policy.json").read_text())["layers"]
        wanted = sorted(np.float32(x) for layer in layers for row in layer["weight"] + [layer["bias"]] for x in row)
        self.assertEqual(len(numbers), len(wanted))
        np.testing.assert_array_equal(numbers, wanted)

    def test_a_name_of_another_kind_is_refused(self):
        with self.assertRaisesRegex(ValueError, ".onnx"):
            service().job.policy.save(self.folder / "policy.pt")
