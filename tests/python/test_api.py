"""The generated file: up to date, and a method for every operation of openapi.yaml."""
import re
import sys
import typing
import unittest

from service import ROOT, service, tacet

sys.path.insert(0, str(ROOT / "clients" / "python"))
import generate  # noqa: E402

OPENAPI = (ROOT / "openapi.yaml").read_text()


class GeneratedApi(unittest.TestCase):
    def test_the_committed_file_is_what_the_script_writes(self):
        committed = (ROOT / "clients" / "python" / "tacet" / "api.py").read_text()
        self.assertTrue(generate.generate(OPENAPI) == committed, "run clients/python/generate.py and commit its output")

    def test_every_operation_has_a_method_with_its_words_and_types(self):
        operations = re.findall(r"^ +operationId: (\w+)$", OPENAPI, re.M)
        self.assertGreater(len(operations), 100)
        for name in operations:
            method = getattr(tacet.Api, generate.snake(name))
            self.assertIn("/", method.__doc__)
            self.assertIn("return", typing.get_type_hints(method))

    def test_every_problem_type_of_the_service_has_a_class(self):
        for problem in service().admin.api.list_problems()["items"]:
            raised = tacet.problem_from({"type": problem["type"]})
            self.assertIsNot(type(raised), tacet.Problem, problem["type"])

    def test_lists_are_read_page_by_page(self):
        admin = service().admin
        names = [c["name"] for c in admin.pages(admin.api.list_clients, page_size=1)]
        self.assertLessEqual({"root", "stella", "bob"}, set(names))
