#!/usr/bin/env python3
"""The page in Chromium, over WebDriver (W3C), against a real server. SHOTS=FOLDER keeps pictures of it."""
import base64
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from service import Service, die_with_parent  # noqa: E402

PATIENCE_S = 60
TAB, ENTER = "\ue004", "\ue007"  # WebDriver, 17.4.2
ENDLESS = {"algorithm": "ppo", "environment": "cartpole", "parameters": {"transitions": 100_000_000}}
NETWORK = {"activation": "relu", "output": "softmax", "layers": [{"weight": [[0.1] * 4] * 2, "bias": [0, 0]}]}
TEACHER = {"mechanism": {"name": "dirichlet", "concentration": 20, "min_probability": 0.1}, "accounting": "renyi",
           "adjacency": {"unit": "observation", "radius": 1e-6}, "budget": {"epsilon": 5, "delta": 1e-5}}
CERTIFICATE = """const reply = await fetch(arguments[0], {headers: {Authorization: "Bearer " + arguments[1]}});
const text = await reply.text(), signature = JSON.parse(text).signature;
return [await isGenuine(text, signature), await isGenuine(text.replace(/[0-9]/, (d) => (d + 1) % 10), signature),
        await isGenuine(text, {...signature, key_id: "another"})];"""

AXE_RUN = """; return axe.run(document, {resultTypes: ["violations"]}).then((said) =>
    said.violations.map((it) => it.id + ": " + it.help + " at " + it.nodes.map((node) => node.html.slice(0, 160)).join(" and ")))"""

CONTRACT = yaml.safe_load((pathlib.Path(__file__).resolve().parents[2] / "openapi.yaml").read_text())


def numbers(value):
    """VALUE with 1e-05 as a number, which YAML 1.2 says it is and PyYAML does not, and with names as texts."""
    if isinstance(value, dict):
        return {str(name): numbers(member) for name, member in value.items()}
    if isinstance(value, list):
        return [numbers(item) for item in value]
    return float(value) if isinstance(value, str) and re.fullmatch(r"\d+(\.\d*)?e-?\d+", value) else value


class Browser:
    """A window of Chromium that chromedriver drives."""

    def __init__(self, width, scheme):
        self.folder = tempfile.TemporaryDirectory(prefix="tacet-page-")
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True,
                                       preexec_fn=die_with_parent)
        line = next(line for line in self.driver.stdout if "successfully on port" in line)
        self.base = "http://127.0.0.1:" + line.strip().rstrip(".").split()[-1]
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + self.folder.name,
                            f"--window-size={width},900"]}
        if scheme == "dark":
            options["args"].append("--force-dark-mode")
        made = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}})
        self.session = "/session/" + made["sessionId"]
        self.become(width, scheme)

    def become(self, width, scheme):
        self.tell("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
        self.tell("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme},
                                                          {"name": "prefers-reduced-motion", "value": "reduce"}])

    def tell(self, command, **parameters):
        return self.do("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.base + path, method=method,
                                         data=None if body is None else json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from None

    def do(self, path, body=None, method="POST"):
        return self.call(method, self.session + path, (body or {}) if method == "POST" else None)

    def go(self, url):
        self.do("/url", {"url": url})

    def run(self, script, *arguments):
        return self.do("/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, script, *arguments):
        until = time.monotonic() + PATIENCE_S
        while not (found := self.run(script, *arguments)):
            assert time.monotonic() < until, (script, self.run("return document.body.innerText"))
            time.sleep(0.1)
        return found

    def enter(self, url, token):
        self.go(url)
        self.run("sessionStorage.clear(); if (arguments[0]) sessionStorage.setItem('tacet-token', arguments[0]); location.reload()", token)

    def press(self, *texts):
        keys = [{"type": kind, "value": key} for text in texts for key in text for kind in ("keyDown", "keyUp")]
        self.do("/actions", {"actions": [{"type": "key", "id": "keys", "actions": keys}]})

    def focus(self):
        return self.run("return document.activeElement.id")

    def keep(self, name):
        if os.environ.get("SHOTS"):
            path = pathlib.Path(os.environ["SHOTS"]) / (name + ".png")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(base64.b64decode(self.tell("Page.captureScreenshot", captureBeyondViewport=True)["data"]))

    def close(self):
        self.do("", method="DELETE")
        self.driver.terminate()
        self.driver.wait()
        self.driver.stdout.close()
        self.folder.cleanup()


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service()
        cls.browser = Browser(1200, "light")

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def post(self, path, body, key, token=None):
        request = urllib.request.Request(self.service.url + path, method="POST", data=json.dumps(body).encode(), headers={
            "Authorization": "Bearer " + (token or self.service.steward_token), "Content-Type": "application/json",
            "Idempotency-Key": key})
        with urllib.request.urlopen(request) as reply:
            return json.load(reply)

    def get(self, path):
        request = urllib.request.Request(self.service.url + path, headers={"Authorization": "Bearer " + self.service.steward_token})
        with urllib.request.urlopen(request) as reply:
            return json.load(reply)

    def test_a_job_is_updated_in_place_and_cancelled(self):
        browser, job = self.browser, self.post("/v1/jobs", ENDLESS, "endless")["id"]
        browser.enter(self.service.url + "/v1/jobs/" + job, self.service.steward_token)
        browser.wait("return document.querySelector('.pill.running')")
        browser.run("""window.kept = document.querySelector('[data-cancel]'); kept.focus();
            getSelection().selectAllChildren(document.querySelector('#view h1'));
            window.seen = document.querySelector('.bar').getAttribute('aria-label'); window.draws = 0;
            const show_ = show; show = (node) => { window.draws++; show_(node); };
            window.step = [...document.querySelectorAll('svg polyline')].map((p) => p.getAttribute('points'))[0] || ''""")
        browser.wait("return draws >= 2")
        browser.wait("const p = document.querySelector('svg polyline'); return p && p.getAttribute('points') !== step")
        self.assertTrue(browser.run("return document.activeElement === kept && kept.isConnected"))
        self.assertIn("ppo", browser.run("return getSelection().toString()"))
        browser.keep("job-1200-light")
        browser.run("setTimeout(() => kept.click())")
        time.sleep(0.5)
        browser.do("/alert/accept")
        browser.wait("return document.querySelector('.pill.cancelled')")
        self.assertEqual(browser.run("return [document.activeElement.nodeName, document.title]"), ["H1", "ppo on cartpole cancelled – Tacet"])
        self.assertFalse(browser.run("return !!document.querySelector('[data-cancel]')"))

    def test_a_job_is_estimated_and_created_once_from_the_tables(self):
        browser, dataset = self.browser, self.service.data.id
        browser.enter(self.service.url + "/v1/jobs#new", self.service.steward_token)
        browser.wait("return document.querySelector('#job-form')")
        self.assertEqual(browser.run("return document.activeElement.nodeName"), "SUMMARY")
        self.assertEqual(browser.run("""const input = textInput('numbers', {});
            return ['', '64', '64, 32', '[]', 'x'].map((text) => { input.value = text; return valueOf(input) ?? null; })"""),
                         [None, [64], [64, 32], [], ["x"]])
        browser.press(TAB)
        self.assertEqual(browser.focus(), "job-algorithm")
        browser.press("behaviour_cloning", TAB)
        self.assertEqual(browser.focus(), "job-dataset")
        browser.run("document.querySelector('#job-form [type=submit]').click()")
        browser.wait("return document.getElementById('job-privacy-delta-error').textContent && document.getElementById('job-dataset-error').textContent")
        browser.wait("return document.activeElement.id === 'job-dataset'")
        browser.press("walks", TAB)
        self.assertEqual(browser.focus(), "job-mechanism")
        browser.press(TAB, "-1", TAB, "1e-5")
        browser.run("document.getElementById('job-parameters-steps').value = '0'")
        browser.press(ENTER)
        browser.wait("return document.querySelector('[aria-invalid]')")
        self.assertEqual(browser.focus(), "job-privacy-epsilon")
        said = browser.run("""return ['job-privacy-epsilon-error', 'job-parameters-steps-error', 'job-privacy-delta-error',
            'job-parameters-steps-hint'].map((id) => document.getElementById(id).textContent)""")
        browser.run("document.getElementById('job-privacy-epsilon').value = '0,5'; document.querySelector('#job-form [type=submit]').click()")
        browser.wait("return document.getElementById('job-privacy-epsilon-error').textContent === 'has a comma: write a point, as in 1.5'")
        browser.run("document.getElementById('job-privacy-epsilon').value = '-1'")
        self.assertEqual(said[:3], ["must be a number above 0 and at most 1000", "must be an integer from 1 to 10000000", ""])
        self.assertIn("From 1 to 10000000 steps, default 10000", said[3])
        browser.run("document.getElementById('job-parameters-steps').value = ''; document.getElementById('job-privacy-epsilon').select()")
        browser.press("3", ENTER)
        said = browser.wait("const e = document.querySelector('#estimate dl'); return e && e.textContent")
        for text in ("Price", "Then left", "more jobs like this", "With 60 experts and epsilon 3"):
            self.assertIn(text, said)
        browser.wait("return !document.querySelector('[aria-invalid]')")
        browser.keep("job-form-1200-light")
        before = len(self.get("/v1/jobs?page_size=1000")["items"])
        browser.run("document.getElementById('job-privacy-epsilon').value = '0.01'; document.getElementById('create').click()")
        browser.wait("return document.querySelector('#job-form [role=alert]').textContent.includes('Nothing was spent.')")
        browser.run("document.getElementById('job-privacy-epsilon').value = '3'")
        browser.run("""document.getElementById('job-parameters-steps').value = '20'; document.getElementById('job-privacy-force').checked = true;
            const fetch_ = window.fetch; window.fetch = async (path, options) => {
                const reply = await fetch_(path, options);
                if (path === '/v1/jobs' && options.method === 'POST') throw new TypeError('the answer is lost');
                return reply;
            };
            const create = document.getElementById('create'); create.click(); create.click();""")
        browser.wait("return document.getElementById('create').textContent.includes('again')")
        self.assertIn("made at most once", browser.run("return document.getElementById('estimate').textContent"))
        self.assertEqual(len(self.get("/v1/jobs?page_size=1000")["items"]), before + 1)
        browser.run("location.reload()")
        browser.wait("const e = document.getElementById('create'); return e && e.textContent.includes('again')")
        browser.run("""for (const [id, value] of [['algorithm', 'behaviour_cloning'], ['dataset', arguments[0]], ['privacy-epsilon', '2'], ['privacy-delta', '1e-6']]) {
                const input = document.getElementById('job-' + id);
                input.value = value;
                input.dispatchEvent(new Event('change', {bubbles: true}));
            }
            setInterval(() => document.getElementById('create').click(), 1)""", dataset)
        browser.wait("return /job_/.test(location.pathname) && document.querySelector('.pill')")
        jobs = self.get("/v1/jobs?page_size=1000")["items"]
        self.assertEqual(len(jobs), before + 1)
        self.assertEqual((jobs[0]["algorithm"], jobs[0]["dataset"], jobs[0]["parameters"]["steps"]), ("behaviour_cloning", dataset, 20))

    def test_a_job_is_created_after_a_restore(self):
        browser, service = self.browser, Service(marks=True)
        self.addCleanup(service.stop)
        service.restore()
        with self.assertRaises(urllib.error.HTTPError) as refused:
            request = urllib.request.Request(service.url + "/v1/jobs", method="POST", data=json.dumps(ENDLESS).encode(), headers={
                "Authorization": "Bearer " + service.steward_token, "Content-Type": "application/json", "Idempotency-Key": "undated"})
            urllib.request.urlopen(request)
        self.assertEqual(refused.exception.code, 410)
        time.sleep(2.5)  # keys may have been answered for times up to two seconds ahead of the restore
        browser.enter(service.url + "/v1/jobs#new", service.steward_token)
        browser.wait("return document.querySelector('#job-form')")
        browser.run("""const input = document.getElementById('job-algorithm'); input.value = 'ppo'; input.dispatchEvent(new Event('change', {bubbles: true}));
            document.getElementById('job-environment').value = 'cartpole'; document.getElementById('create').click()""")
        browser.wait("return /job_/.test(location.pathname) && document.querySelector('.pill')")

    def test_a_certificate_is_checked_in_the_browser(self):
        browser = self.browser
        policy = self.post("/v1/policies", {"name": "p", "environment": "cartpole", "network": NETWORK}, "policy")["id"]
        path = f"/v1/teachers/{self.post('/v1/teachers', {'policy': policy, **TEACHER}, 'teacher')['id']}/certificate"
        browser.enter(self.service.url + path, self.service.steward_token)
        said = browser.wait("const e = document.getElementById('genuine'); return e && e.className + e.textContent")
        self.assertIn("good", said)
        self.assertEqual(browser.run("return [...document.querySelectorAll('#view h2')].map((e) => e.textContent)"),
                         ["What is guaranteed", "What it assumes", "What it does not cover"])
        self.assertIn("The data that the policy was trained on", browser.run("return document.querySelectorAll('#view ul')[2].textContent"))
        self.assertFalse(browser.run("return document.querySelector('[data-key=signed]').open"))
        browser.keep("certificate-1200-light")
        checked = browser.run(CERTIFICATE, path, self.service.steward_token)
        self.assertEqual(checked, [True, False, False])

    def asked_teacher(self):
        """A teacher that bob has asked once."""
        policy = self.post("/v1/policies", {"name": "p", "environment": "cartpole", "network": NETWORK}, "policy")["id"]
        teacher = self.post("/v1/teachers", {"policy": policy, **TEACHER, "name": "balance", "client_budget": {"epsilon": 2, "delta": 1e-5}}, "asked")["id"]
        self.post(f"/v1/teachers/{teacher}/queries", {"state": [0, 0, 0, 0]}, "question", self.service.student_token)
        return teacher

    def test_a_student_asks_for_more_and_the_steward_decides(self):
        browser, teacher = self.browser, self.asked_teacher()
        browser.enter(self.service.url + "/v1/teachers", self.service.student_token)
        said = browser.wait("const e = document.querySelector('article'); return e && e.textContent")
        for text in ("balance", "Yours", "What is left buys", "answers", "Ask for more"):
            self.assertIn(text, said)
        self.assertEqual(browser.run("return [...document.querySelectorAll('nav a')].filter((a) => !a.hidden).map((a) => a.textContent)"),
                         ["Overview", "Budgets", "Teachers", "Requests", "Endpoints"])
        browser.run("[...document.querySelectorAll('article a')].find((a) => a.textContent === 'Ask for more').click()")
        browser.wait("return document.activeElement.id === 'ask-epsilon'")
        self.assertEqual(browser.run("return document.getElementById('ask-teacher').value"), teacher)
        browser.press("3", ENTER)
        browser.wait("return document.activeElement.id === 'ask-reason' && document.getElementById('ask-reason-error').textContent")
        browser.press("<b>term two</b>", ENTER)
        browser.wait("return document.querySelector('td[data-head=State]')")
        self.assertIn("Asked.", browser.run("return document.querySelector('form [role=status]').textContent"))
        browser.keep("requests-student-1200-light")

        browser.enter(self.service.url + "/v1/budget-requests", self.service.steward_token)
        asked = browser.wait("const e = document.querySelector('article form') && document.querySelector('article'); return e && e.textContent")
        self.assertIn("bob asks for ε 3", asked)
        self.assertIn("<b>term two</b>", asked)
        browser.keep("requests-1200-light")
        browser.run("document.querySelector('article button.plain').click()")
        browser.wait("return document.activeElement.matches('[aria-invalid][id$=-reason]')")
        browser.run("window.kept = document.activeElement; window.draws = 0; const show_ = show; show = (node) => { window.draws++; show_(node); }")
        browser.press("until May")
        browser.wait("return draws >= 2")
        self.assertEqual(browser.run("return [document.activeElement === kept, kept.value]"), [True, "until May"])
        browser.run("const e = document.querySelector('article input'); e.value = '2.5'; e.focus()")
        browser.press(ENTER)
        browser.wait("return document.querySelector('.pill.succeeded') && !document.querySelector('article')")
        self.assertEqual(browser.run("return [document.activeElement.nodeName, document.getElementById('said').textContent]"), ["H1", "Approved: ε 2.5, δ 1e-5."])
        decided = next(it for it in self.get("/v1/budget-requests")["items"] if it["answer"] == "until May")
        self.assertEqual((decided["status"], decided["given"]["epsilon"], decided["answer"]), ("approved", 2.5, "until May"))

    def test_a_request_above_what_the_teacher_has_left_warns(self):
        browser, teacher = self.browser, self.asked_teacher()
        asked = self.post("/v1/budget-requests", {"teacher": teacher, "epsilon": 20, "reason": "all of it"}, "much", self.service.student_token)["id"]
        browser.enter(self.service.url + "/v1/budget-requests", self.service.steward_token)
        said = browser.wait("return document.querySelector('article form') && document.querySelector('article .warn')?.parentNode.textContent")
        self.assertRegex(said, r"The teacher has ε 4\.\d+ left for all clients together\.")
        self.assertIn("of a limit above ε 5 the rest can never be used", said)
        self.post(f"/v1/budget-requests/{asked}:decline", {"reason": "too much"}, "decline")

    def test_a_job_that_did_not_succeed_is_asked_for_again_with_its_settings(self):
        browser, job = self.browser, self.post("/v1/jobs", {**ENDLESS, "parameters": {"transitions": 99_000_000, "hidden": [32, 16]}}, "again")["id"]
        self.post(f"/v1/jobs/{job}:cancel", {}, "again-cancel")
        browser.enter(self.service.url + "/v1/jobs/" + job, self.service.steward_token)
        browser.wait("const a = [...document.querySelectorAll('#view a')].find((a) => a.textContent === 'New job with these settings'); a?.click(); return a")
        browser.wait("return document.getElementById('job-parameters-hidden')?.value")
        self.assertEqual(browser.run("return ['algorithm', 'environment', 'parameters-transitions', 'parameters-hidden', 'parameters-epochs'].map((at) => document.getElementById('job-' + at).value)"),
                         ["ppo", "cartpole", "99000000", "32, 16", ""])

    def test_a_policy_has_its_name_and_its_files(self):
        browser, job = self.browser, self.get("/v1/jobs/" + self.service.job["id"])
        browser.enter(self.service.url + "/v1/policies/" + job["policy"], self.service.steward_token)
        browser.wait("return document.querySelectorAll('[data-file]').length === 3")
        self.assertEqual(browser.run("return document.querySelector('#view h1').textContent"), job["policy_name"])
        kept = browser.run("""const make = URL.createObjectURL, click = HTMLAnchorElement.prototype.click; const kept = [];
            URL.createObjectURL = (blob) => { kept.push(blob); return make(blob); }; HTMLAnchorElement.prototype.click = function () { kept.push(this.download); };
            const { file, name } = document.querySelector('[data-file]').dataset; await keepFile(file, name);
            URL.createObjectURL = make; HTMLAnchorElement.prototype.click = click;
            return [Object.keys(JSON.parse(await kept[0].text())), kept[1]];""")
        self.assertIn("layers", kept[0])
        self.assertEqual(kept[1], job["policy"] + ".json")
        browser.keep("policy-1200-light")

    def test_a_steward_sees_what_each_client_used_of_a_teacher(self):
        teacher = self.asked_teacher()
        self.browser.enter(self.service.url + "/v1/teachers", self.service.steward_token)
        said = self.browser.wait("return [...document.querySelectorAll('article')].filter((e) => e.textContent.includes(arguments[0])).map((e) => e.textContent)[0]", teacher)
        for text in ("All clients", "bob", "Certificate", "What is left buys"):
            self.assertIn(text, said)
        self.browser.keep("teachers-1200-light")

    def test_every_bar_is_drawn_anew_where_its_share_changes(self):
        browser = self.browser
        browser.enter(self.service.url + "/", self.service.steward_token)
        browser.wait("return document.querySelector('.tiles')")
        drawn = browser.run("""const account = (epsilon) => ({account: 'acc_1', limit: {epsilon: 10, delta: 1}, spent: {epsilon: 10 * epsilon, delta: 0},
                reserved: {epsilon: 3}, remaining: {epsilon: 7 - 10 * epsilon}});
            const kinds = [(share) => progress({state: 'running', progress: {fraction: share}}), (share) => budgetCard(account(share)), (share) => accountBar(account(share), 'Yours')];
            return kinds.map((kind) => { const box = el('div', {}, kind(0.1)); document.getElementById('view').append(box);
                patch(box, el('div', {}, kind(0.6)));
                const [bar, part] = [box.querySelector('.bar'), box.querySelector('.bar i')].map((e) => e.getBoundingClientRect().width);
                return [(part / bar).toFixed(2), box.querySelector('.bar').getAttribute('aria-valuenow'), box.textContent.includes('60.0% done')]; })""")
        self.assertEqual(drawn, [["0.60", "60", True], ["0.60", "60", False], ["0.60", "60", False]])

    def test_the_focus_is_on_the_heading_after_a_token_was_entered_and_stays(self):
        browser = self.browser
        browser.enter(self.service.url + "/", None)
        browser.wait("return document.activeElement.id === 'token'")
        self.assertEqual(browser.run("document.getElementById('reveal').click(); return [document.title, document.getElementById('token').type]"), ["Tacet", "text"])
        browser.press("Bearer " + self.service.steward_token, ENTER)  # as it stands in a script
        browser.wait("return document.activeElement.nodeName === 'H1'")
        self.assertEqual(browser.run("""let moved = 0; addEventListener('focusin', () => moved++); await draw(); await draw();
            return [document.activeElement.textContent, moved, document.title]"""), ["Overview", 0, "Overview – Tacet"])

    def test_a_budget_warns_before_its_end_and_at_it(self):
        browser = self.browser
        browser.enter(self.service.url + "/", self.service.steward_token)
        browser.wait("return document.querySelector('.tiles')")
        said = browser.run("""const of = (spent, held, more) => { const card = budgetCard({account: 'acc_1', limit: {epsilon: 10, delta: 1},
            spent: {epsilon: spent, delta: 0}, reserved: {epsilon: held}, remaining: {epsilon: 10 - spent - held}, ...more});
            return [(card.querySelector('.bar i').className), (card.querySelector('.bad, .warn') || {}).textContent || '']; };
            return [of(7.4, 0), of(7.6, 0), of(5, 4.1), of(10, 0), of(1, 0, {accounting: 'basic', spent: {epsilon: 1, delta: 0.95}})]""")
        self.assertEqual(said, [["", ""], ["end-warn", "Less than a quarter is left."], ["end-bad", "Less than a tenth is left."],
                                ["end-bad", "Spent: nothing more is answered."], ["end-bad", "Less than a tenth of δ is left."]])
        agents = browser.run("""return budgets([1, 2, 3].map((i) => ({account: 'acc_' + i, resource: 'agg_1', client: 'cli_' + i,
            limit: {epsilon: 1}, remaining: {epsilon: i === 1 ? 1 : 0}}))).textContent""")
        self.assertEqual(agents, "agg_13 agents' budgets, 2 spent in a report")

    def test_a_budget_burns_down_and_says_what_the_rest_buys(self):
        browser, account = self.browser, self.service.job and self.get("/v1/datasets/" + self.service.data.id)["account"]
        browser.enter(self.service.url + "/v1/ledger/accounts/" + account, self.service.steward_token)
        drawn = browser.wait("const e = document.querySelector('svg[aria-label^=\"burned down\"] polyline:last-child'); return e && e.getAttribute('points')")
        heights = [float(point.split(",")[1]) for point in drawn.split()]
        self.assertEqual(heights, sorted(heights))
        self.assertEqual((heights[0], heights[-1] > 1), (0, True))
        self.assertIn("jobs like the last", browser.run("return document.querySelector('article').textContent"))
        browser.keep("budget-1200-light")
        browser.enter(self.service.url + "/v1/ledger/accounts", self.service.steward_token)
        browser.wait("return document.querySelector('article') && document.querySelector('main').textContent.includes('jobs like the last')")

    def test_the_documentation_is_the_contract(self):
        browser = self.browser
        browser.enter(self.service.url + "/docs#createJob", None)
        said = browser.wait("const e = document.querySelector('#createJob[open] form') && document.getElementById('createJob'); return e && e.textContent")
        for text in ("For steward.", "algorithm required", "Body: application/json", "hopeless-plan", '-H "Idempotency-Key: $(date -u +%F)-$(uuidgen)"',
                     '-d \'{"algorithm":"cql"', "Try it"):
            self.assertIn(text, said)
        self.assertEqual(browser.run("return [...document.querySelectorAll('main section > h2')].map((e) => e.textContent)"),
                         [tag["name"] for tag in CONTRACT["tags"]])
        self.assertEqual(browser.run("return document.querySelectorAll('.operation').length"), sum(map(len, CONTRACT["paths"].values())))
        read = browser.run("return readYaml(await (await fetch('/openapi.yaml')).text())")
        self.assertEqual(numbers(read), numbers(CONTRACT))
        browser.enter(self.service.url + "/docs#getClient", self.service.student_token)
        browser.wait("return document.querySelector('#getClient[open] form')")
        browser.run("document.getElementById('getClient-id').value = 'me'; document.querySelector('#getClient form button').click()")
        self.assertIn('"role": "student"', browser.wait("return document.querySelector('#getClient form pre').textContent"))

    def test_a_limit_is_changed_from_the_documentation(self):
        browser, account = self.browser, self.post("/v1/datasets", {"name": "grows", "environment": "cartpole", "budget": {"epsilon": 1, "delta": 1e-6}}, "grows")["account"]
        browser.enter(self.service.url + "/v1/ledger/accounts/" + account, self.service.steward_token)
        browser.wait("return [...document.querySelectorAll('#view a')].find((a) => a.textContent === 'Change its limit')?.click() !== undefined || location.pathname === '/docs'")
        browser.wait("return document.querySelector('#changeLimit[open] form')")
        field = "return document.getElementById('changeLimit-' + arguments[0]).value"
        self.assertEqual([browser.run(field, name) for name in ("id", "If-Match")], [account, ""])
        browser.run("document.querySelector('#changeLimit form button.plain').click()")
        self.assertEqual(browser.wait("return document.querySelector('#changeLimit form .good')?.textContent"), '200 OK, ETag "1"')
        self.assertEqual(browser.run(field, "If-Match"), '"1"')
        for epsilon in (3, 4):
            browser.run("""document.getElementById('changeLimit-body').value = JSON.stringify({limit: {epsilon: arguments[0], delta: 1e-6}, reason: 'more'});
                document.querySelector('#changeLimit form button').click()""", epsilon)
            browser.wait("return document.querySelector('#changeLimit form .good')?.textContent === arguments[0]", f'200 OK, ETag "{epsilon - 1}"')
            self.assertEqual(self.get("/v1/ledger/accounts/" + account)["limit"]["epsilon"], epsilon)
        browser.run("document.getElementById('changeLimit-id').value = ''; document.querySelector('#changeLimit form button').click()")
        browser.wait("return document.getElementById('changeLimit-id-error').textContent === 'is required'")
        self.assertEqual(browser.focus(), "changeLimit-id")
        browser.run("document.getElementById('getAccount').open = true")
        browser.run("document.getElementById('getAccount-id').value = arguments[0]; document.querySelector('#getAccount form button').click()", account)
        browser.wait("return document.querySelector('#getAccount form .good')?.textContent === '200 OK, ETag \"3\"'")

    def test_a_change_of_a_limit_that_waits_is_shown_at_its_budget(self):
        browser = self.browser
        account = self.post("/v1/datasets", {"name": "guarded", "environment": "cartpole", "approvals": 2, "budget": {"epsilon": 1, "delta": 1e-6}}, "guarded")["account"]
        body = json.dumps({"limit": {"epsilon": 3, "delta": 1e-6}, "reason": "a second season"}).encode()
        request = urllib.request.Request(f"{self.service.url}/v1/ledger/accounts/{account}", method="PATCH", data=body, headers={
            "Authorization": "Bearer " + self.service.steward_token, "Content-Type": "application/json", "If-Match": '"1"', "Idempotency-Key": "guarded-3"})
        urllib.request.urlopen(request).close()
        for path in ("/v1/ledger/accounts", "/v1/ledger/accounts/" + account):
            browser.enter(self.service.url + path, self.service.steward_token)
            said = browser.wait("return [...document.querySelectorAll('article')].map((e) => e.textContent).find((text) => text.includes('a second season'))")
            self.assertIn("stella proposes ε 3, δ 1e-6", said)
        browser.keep("waiting-change-1200-light")
        browser.run("[...document.querySelectorAll('#view a')].find((a) => a.textContent === 'Take it back').click()")
        browser.wait("return document.getElementById('declineLimitChange-id')?.value.startsWith('lch_')")

    def test_what_was_typed_is_there_again_after_another_page(self):
        browser = self.browser
        browser.enter(self.service.url + "/v1/jobs#new", self.service.steward_token)
        browser.wait("return document.querySelector('#job-form')")
        browser.run("""const say = (id, value) => { const e = document.getElementById('job-' + id); e.value = value; e.dispatchEvent(new Event('input', {bubbles: true}));
                e.dispatchEvent(new Event('change', {bubbles: true})); };
            say('algorithm', 'ppo'); say('environment', 'cartpole'); say('parameters-transitions', '100000000')""")
        values = "return ['algorithm', 'environment', 'parameters-transitions', 'parameters-epochs'].map((at) => document.getElementById('job-' + at)?.value)"
        typed = ["ppo", "cartpole", "100000000", ""]
        self.assertEqual(browser.run(values), typed)
        browser.go(self.service.url + "/v1/teachers")
        browser.go(self.service.url + "/v1/jobs#new")
        browser.wait("return document.querySelector('#job-form')")
        self.assertEqual(browser.run(values), typed)
        browser.run("document.getElementById('create').click()")
        job = browser.wait("return /job_/.test(location.pathname) && location.pathname.split('/').pop()")
        self.post(f"/v1/jobs/{job}:cancel", {}, "typed-cancel")
        browser.go(self.service.url + "/v1/jobs#new")
        browser.wait("return document.querySelector('#job-form')")
        self.assertEqual(browser.run("return document.getElementById('job-algorithm').value"), "auto")

    def test_every_page_has_a_title(self):
        for path, title in (("/problems", "Problems - Tacet"), ("/nowhere", "There is nothing here - Tacet"), ("/v1/jobs/job_00000000000000000000", "Not found – Tacet")):
            self.browser.enter(self.service.url + path, self.service.steward_token)
            self.browser.wait("return document.title === arguments[0]", title)

    def test_a_call_of_the_documentation_without_an_answer_is_repeated_under_its_key(self):
        browser, before = self.browser, len(self.get("/v1/datasets")["items"])
        browser.enter(self.service.url + "/docs#createDataset", self.service.steward_token)
        browser.wait("return document.querySelector('#createDataset[open] form')")
        browser.run("""const fetch_ = fetch; let lost = false;
            window.fetch = async (path, options) => { const reply = await fetch_(path, options);
                if (options?.method === 'POST' && !lost) { lost = true; throw new TypeError('the answer is lost'); } return reply; };
            document.querySelector('#createDataset textarea').value = '{"name": "once", "environment": "cartpole", "budget": {"epsilon": 1, "delta": 1e-6}}';
            document.querySelector('#createDataset form button').click()""")
        browser.wait("return document.querySelector('#createDataset form [role=status]').textContent.includes('takes effect once')")
        for made in (1, 2):
            browser.run("document.querySelector('#createDataset form [role=status]').replaceChildren(); document.querySelector('#createDataset form button').click()")
            browser.wait("return document.querySelector('#createDataset form .good')?.textContent.startsWith('201')")
            self.assertEqual(len(self.get("/v1/datasets")["items"]), before + made)

    def offline(self, is_so):
        self.browser.tell("Network.enable")
        self.browser.tell("Network.emulateNetworkConditions", offline=is_so, latency=0, downloadThroughput=-1, uploadThroughput=-1)

    def test_a_lost_connection_keeps_the_page_and_what_was_typed(self):
        browser = self.browser
        self.addCleanup(self.offline, False)
        browser.enter(self.service.url + "/v1/jobs#new", self.service.steward_token)
        browser.wait("return document.querySelector('#job-form')")
        browser.run("""window.kept = document.getElementById('job-privacy-epsilon'); kept.focus();""")
        browser.press("3.25")
        self.offline(True)
        said = browser.wait("const e = document.getElementById('down'); return !e.hidden && e.textContent")
        self.assertRegex(said, r"^No connection\. Trying again; last seen \d")
        self.assertEqual(browser.run("return [kept.isConnected, kept.value, document.activeElement === kept, document.querySelector('h1:not(form h1)').textContent]"),
                         [True, "3.25", True, "Jobs"])
        browser.keep("down-1200-light")
        browser.run("[...document.querySelectorAll('nav a')].find((a) => a.textContent === 'Budgets').click()")
        time.sleep(0.5)
        self.assertEqual(browser.run("return [location.pathname, kept.isConnected]"), ["/v1/jobs", True])
        self.assertIn("Budgets opens when the service is back.", browser.run("return document.getElementById('down').textContent"))
        browser.keep("down-wanted-1200-light")
        self.offline(False)
        browser.wait("return location.pathname === '/v1/ledger/accounts' && document.querySelector('#view h1')")
        browser.go(self.service.url + "/v1/jobs")  # what was typed is there, and seen
        browser.wait("return document.getElementById('new')?.open && document.getElementById('job-privacy-epsilon')?.value === '3.25'")
        browser.run("document.querySelector('#new summary').click(); window.draws = 0; const show_ = show; show = (node) => { window.draws++; show_(node); }")
        browser.wait("return draws >= 1")
        self.assertFalse(browser.run("return document.getElementById('new').open"))

    def test_a_forgotten_token_shows_nothing_more(self):
        browser = self.browser
        browser.enter(self.service.url + "/v1/ledger/accounts", self.service.steward_token)
        browser.wait("return document.querySelector('#view h1')")
        browser.run("""sessionStorage.setItem('tacet-curve-job_1', '[]'); const fetch_ = fetch;
            window.fetch = async (...all) => { const reply = await fetch_(...all); await new Promise((done) => setTimeout(done, 300)); return reply; };
            draw(); document.getElementById('leave').click()""")
        time.sleep(1)
        self.assertEqual(browser.run("return [document.activeElement.id, document.getElementById('view').textContent, sessionStorage.length]"), ["token", "", 0])
        browser.press("tct_wrong", ENTER)
        browser.wait("return !document.getElementById('refused').hidden && document.activeElement.id === 'token'")
        self.assertIn("not valid", browser.run("return document.getElementById('refused').textContent"))
        kept = "const e = document.getElementById('token'); return [e.type, e.value, sessionStorage.getItem('tacet-token')]"
        self.assertEqual(browser.run(kept), ["password", "tct_wrong", None])
        browser.run("document.getElementById('token').select()")
        browser.press(self.service.steward_token, ENTER)
        browser.wait("return document.querySelector('#view h1')")
        self.assertEqual(browser.run(kept)[:2], ["password", ""])

    def test_what_was_sent_survives_a_token_that_ended_and_is_its_clients_alone(self):
        browser, token = self.browser, self.service.admin.new_client("tom", "steward")
        browser.enter(self.service.url + "/v1/jobs#new", token)
        browser.wait("return document.querySelector('#job-form')")
        browser.run("""const input = document.getElementById('job-algorithm'); input.value = 'ppo'; input.dispatchEvent(new Event('change', {bubbles: true}));
            document.getElementById('job-environment').value = 'cartpole'; const fetch_ = fetch;
            window.fetch = async (path, options) => (options.method === 'POST' ? new Response('{}', {status: arguments[0]}) : fetch_(path, options));
            document.getElementById('create').click()""", 401)
        browser.wait("return !document.getElementById('give-up').hidden")
        kept = "return [sentBefore('job')?.body.algorithm ?? null, document.getElementById('create').textContent]"
        self.assertEqual(browser.run(kept), ["ppo", "Ask again for that job"])
        browser.run("sessionStorage.setItem('tacet-token', 'tct_ended'); draw()")
        browser.wait("return !document.getElementById('refused').hidden")
        for name, sent in ((self.service.steward_token, [None, "Create job"]), (token, ["ppo", "Ask again for that job"])):
            browser.run("sessionStorage.setItem('tacet-token', arguments[0]); location.reload()", name)
            browser.wait("return document.querySelector('#job-form')")
            self.assertEqual(browser.run(kept), sent)
        browser.run("document.getElementById('give-up').click()")
        browser.wait("return document.activeElement.id === 'job-algorithm'")
        self.assertEqual(browser.run(kept), [None, "Create job"])

    def test_a_list_is_read_to_its_end_or_said_to_be_cut(self):
        browser = self.browser
        browser.enter(self.service.url + "/", self.service.steward_token)
        browser.wait("return document.querySelector('.tiles')")
        said = browser.run("""const ask_ = ask, of = (n) => async (path) => {
                if (!path.startsWith('/v1/ledger/accounts?')) return ask_(path);
                const from = Number((/page_token=(\\d+)/.exec(path) || [])[1] || 0), to = Math.min(n, from + 1000);
                return {items: [...Array(to - from).keys()].map((i) => ({account: 'acc_' + (from + i), resource: 'ds_1', kind: 'dataset', limit: {epsilon: 1}, buys: {},
                    remaining: {epsilon: from + i < 3 ? 0 : 1}})), next_page_token: to < n ? String(to) : null}; };
            const seen = [];
            for (const n of [0, 1000, 1009, 5001]) { ask = of(n);
                seen.push([...(await overview()).querySelectorAll('.tile')].slice(3, 5).map((tile) => tile.textContent)); }
            ask = async () => { throw Object.assign(new Error(), {status: 403}); };
            seen.push(await askAll('/v1/datasets')); ask = ask_; return seen;""")
        self.assertEqual(said, [["0budgets", "0used up: no more answers"], ["1,000budgets", "3used up: no more answers"], ["1,009budgets", "3used up: no more answers"],
                                ["5,000+budgets", "3+used up: no more answers"], []])

    def test_a_part_that_failed_is_tried_again_and_the_reason_is_said(self):
        browser = self.browser
        browser.enter(self.service.url + "/", self.service.steward_token)
        browser.wait("return document.querySelector('.tiles')")
        said = browser.run("""let tries = 0; window.box = el('div', {'data-own': 'probe'});
            owners.probe = async (it) => { if (tries++ === 0) throw new TypeError('x is undefined'); it.append('made'); };
            await fill(box); return document.getElementById('down').textContent""")
        self.assertIn("This page has a fault: x is undefined.", said)
        browser.wait("return box.textContent === 'made'")
        self.offline(True)
        self.addCleanup(self.offline, False)
        self.assertTrue(browser.run("return isGenuine('{}', {key_id: 'a', value: ''}).catch((error) => error.lost)"))

    def test_the_overview_counts_all_jobs_and_shows_first_those_that_run(self):
        browser, job = self.browser, self.service.job
        browser.enter(self.service.url + "/", self.service.steward_token)
        browser.wait("return document.querySelector('.tiles')")
        counts = self.get("/v1/jobs?counts=true")["counts"]
        tiles = browser.run("return [...document.querySelectorAll('.tile b')].slice(0, 3).map((e) => e.textContent)")
        self.assertEqual(tiles, [str(counts[state]) for state in ("running", "queued", "succeeded")])
        shown = browser.run("""const jobs = [...Array(60).keys()].map((i) => ({id: 'job_' + i, algorithm: 'cql', state: i === 59 ? 'running' : 'queued',
                dataset: 'ds_1', dataset_name: 'carts', progress: {queue_place: i + 1, queue_own: i + 1}}));
            const ask_ = ask; ask = async (path) => { const [, state] = /state=(\\w+)/.exec(path) || [], n = Number(/page_size=(\\d+)/.exec(path)[1]);
                return {items: jobs.filter((it) => !state || it.state === state).slice(0, n), counts: {running: 1, queued: 59}}; };
            const draw_ = draw; draw = () => {};
            let page = await jobsPage();
            const seen = [page.querySelectorAll('tbody tr').length, page.querySelector('tbody tr').textContent, page.querySelectorAll('tbody tr')[1].textContent,
                page.querySelector('[data-more]').parentNode.textContent];
            document.getElementById('view').append(page.querySelector('[data-more]')); document.querySelector('[data-more]').click();
            page = await jobsPage(); ask = ask_; draw = draw_;
            return [...seen, page.querySelectorAll('tbody tr').length]""")
        self.assertEqual((shown[0], shown[4]), (25, 50))
        self.assertIn("cql on carts", shown[1])
        self.assertIn("running", shown[1])
        self.assertIn("number 1 in the queue, behind 1 of the project's own jobs", shown[2])
        self.assertIn("25 of 60", shown[3])

    def test_an_auditor_comes_from_a_budget_to_a_certificate(self):
        browser, job = self.browser, self.service.job
        auditor = self.service.admin.new_client("otto", "auditor")
        account = self.get("/v1/datasets/" + self.service.data.id)["account"]
        browser.enter(self.service.url + "/v1/ledger/accounts/" + account, auditor)
        browser.wait("return [...document.querySelectorAll('td a')].some((a) => a.textContent === 'Certificate')")
        said = browser.run("return document.querySelector('main').innerText")
        self.assertIn("Budget of walks", said)
        self.assertNotIn("7998", said)
        self.assertIn("ε +4.", said)
        browser.keep("budget-auditor-1200-light")
        browser.run("[...document.querySelectorAll('td a')].find((a) => a.textContent === 'Certificate').click()")
        said = browser.wait("const e = document.getElementById('genuine'); return e && document.querySelector('main').innerText")
        self.assertIn("differentially private with ε", said)
        self.assertIn("per expert", said)
        browser.enter(self.service.url + "/", auditor)
        said = browser.wait("const e = document.querySelector('table'); return e && document.querySelector('main').innerText")
        self.assertIn("stella", said)

    def test_a_new_steward_is_told_the_next_step(self):
        browser, token = self.browser, self.service.admin.new_client("nora", "steward")
        for path, link in (("/", "/docs#createDataset"), ("/v1/ledger/accounts", "/docs#createDataset"), ("/v1/teachers", "/docs#createTeacher"),
                           ("/v1/jobs#new", "/docs#createDataset")):
            browser.enter(self.service.url + path, token)
            browser.wait("return document.querySelector(`#view a[href='${arguments[0]}']`)", link)

    def test_a_job_that_is_over_says_on_top_what_it_gave_and_paid(self):
        browser, job = self.browser, self.service.job
        browser.enter(self.service.url + "/v1/jobs/" + job["id"], self.service.steward_token)
        said = browser.wait("const e = document.querySelector('.card dl'); return e && e.textContent")
        for text in ("walks", "Paid", "the price of its whole plan", "Policy", "Certificate"):
            self.assertIn(text, said)
        self.assertEqual(browser.run("return [document.querySelector('h1:not(form h1)').firstChild.data, document.querySelector('[data-key=settings]').open]"),
                         ["behaviour_cloning on walks", False])
        browser.keep("job-done-1200-light")
        said = browser.run("""const of = (progress, state) => (curve({id: 'job_9', state, progress}) || {}).textContent;
            of({step: 10, mean_return: 20}, 'running'); of({step: 30, mean_return: 70}, 'running');
            const page = jobPage({id: 'job_9', algorithm: 'cql', state: 'cancelled', mechanism: 'dpsgd', dataset: 'ds_1', dataset_name: 'carts', paid: {epsilon: 1, delta: 1e-5},
                why: 'Three steps had run.', privacy: {unit: 'expert'}}).textContent;
            return [of({}, 'succeeded'), page, cancelQuestion({state: 'running', privacy: {reserved: {epsilon: 4, delta: 1e-5}}})]""")
        for text in ("at the end 70", "7020", "step 10", "step 30"):
            self.assertIn(text, said[0])
        self.assertLess(said[1].index("Three steps had run."), said[1].index("All settings"))
        said_by_judge = browser.run("""const page = jobPage({id: 'job_9', algorithm: 'cql', state: 'succeeded', mechanism: 'dpsgd', findings: {judge: {verdict: 'not_supported',
                reasons: ['Its value may lie below what the experts earned.'], behaviour: {value: 3.7}, value: {low: -1, high: 4.5}},
                rehearsal: {sentence: 'It learned half of an easy task.'}}});
            const top = page.querySelector('.card dl'); return [top.textContent, top.querySelector('b.bad').textContent]""")
        self.assertEqual(said_by_judge[1], "not supported")
        for text in ("experts earned 3.7", "between -1 and 4.5", "below what the experts earned.", "half of an easy task"):
            self.assertIn(text, said_by_judge[0].replace("−", "-"))
        self.assertIn("at most what it holds: ε 4, δ 1e-5", said[2])
        browser.run("[...document.querySelectorAll('dd a')].find((a) => a.textContent === 'walks').click()")
        said = browser.wait("return document.querySelector('h1:not(form h1)')?.textContent === 'walks' && document.querySelector('main').innerText")
        for text in ("Budget", "What it holds", "experts"):
            self.assertIn(text, said)
        browser.keep("dataset-1200-light")

    def test_the_focus_goes_to_the_heading_after_a_job_is_created_or_cancelled(self):
        browser = self.browser
        browser.enter(self.service.url + "/v1/jobs#new", self.service.steward_token)
        browser.wait("return document.querySelector('#job-form')")
        browser.run("""const input = document.getElementById('job-algorithm'); input.value = 'ppo'; input.dispatchEvent(new Event('change', {bubbles: true}));
            document.getElementById('job-environment').value = 'cartpole'; document.getElementById('job-parameters-transitions').value = '100000000';
            document.getElementById('create').click()""")
        browser.wait("return /job_/.test(location.pathname) && document.activeElement.nodeName === 'H1'")
        browser.run("setTimeout(() => document.querySelector('[data-cancel]').click())")
        time.sleep(0.5)
        self.assertIn("Cancel this job?", browser.do("/alert/text", method="GET"))
        browser.do("/alert/accept")
        browser.wait("return document.querySelector('.pill.cancelled')")
        self.assertEqual(browser.run("return document.activeElement.nodeName"), "H1")

    def test_words_are_plain_and_ids_have_names(self):
        browser = self.browser
        browser.enter(self.service.url + "/v1/jobs/job_00000000000000000000", self.service.steward_token)
        browser.wait("return [...document.querySelectorAll('#view a')].some((a) => a.textContent === 'Back to Jobs' && a.pathname === '/v1/jobs')")
        said = browser.run("""const account = (more) => budgetCard({account: 'acc_1', resource: 'tch_0000abcd', kind: 'client', limit: {epsilon: 10, delta: 1e-5},
                spent: {epsilon: 1, delta: 6e-6}, reserved: {epsilon: 0, delta: 0}, remaining: {epsilon: 9, delta: 4e-6}, ...more}).textContent;
            const form = el('form', {}, field('f', 'Dataset', '/dataset', textInput('text', {}), ''), el('div', {role: 'alert'}));
            showErrors(form, {status: 422, message: 'One thing is wrong: see errors.', errors: [{pointer: '/dataset', detail: 'is required with "auto"'}]});
            return [account({accounting: 'basic'}), account({accounting: 'renyi'}), form.textContent,
                protectsText({protects: 'Which at most radius apart. adjacency.resolved_up_to', adjacency: {radius: 0.5, resolved_up_to: 8}}),
                teacherName({id: 'tch_0000abcd', dataset_name: 'carts'}), linkOf('job_abc').nodeName,
                certificateSentence({privacy: {epsilon: 8.00041, delta: 1.234567e-5, unit: 'expert'}}).textContent + tree({epsilon: 8.0000041}).textContent,
                estimateView({feasible: false, reason: "the dataset's budget cannot pay for it", accounts: [{account: 'acc_1', remaining: {epsilon: 2, delta: 1e-5},
                    reserved: {epsilon: 0, delta: 0}}], cost: {epsilon: 3, delta: 1e-5}}).textContent]""")
        self.assertIn("Teacher …abcd", said[0])
        self.assertIn("δ 6e-6 of 1e-5 spent", said[0])
        self.assertNotIn("spent", said[1].split("δ")[1])
        self.assertIn("Dataset: is required with \"auto\"", said[2])
        self.assertNotIn("see errors", said[2])
        self.assertEqual(said[3:6], ["which at most 0.5 apart. 8", "carts", "A"])
        self.assertIn("ε 8.00041 and δ 0.00001234567, per expert", said[6])
        self.assertIn("8.0000041", said[6])
        self.assertIn("At most what is left: ε 2", said[7])

    def test_on_a_phone_the_header_has_two_lines(self):
        browser = self.browser
        self.addCleanup(browser.become, 1200, "light")
        browser.become(390, "dark")
        browser.enter(self.service.url + "/", self.service.steward_token)
        browser.wait("return document.querySelector('.tiles') && document.getElementById('ready').textContent === 'ready'")
        self.assertLess(browser.run("return document.querySelector('.top').offsetHeight"), 85)

    def test_a_value_in_a_list_has_a_column_of_its_own_on_a_phone(self):
        browser = self.browser
        self.addCleanup(browser.become, 1200, "light")
        browser.become(390, "light")
        browser.enter(self.service.url + "/", self.service.steward_token)
        browser.wait("return document.querySelector('.tiles')")
        said = browser.run("""const made = table(["Why"], [{key: "a", cells: ["Ward round, 12 more patients, and then as many again until the end of the month"]}]);
            document.getElementById('view').append(made); const range = document.createRange(); range.selectNodeContents(made.querySelector('td div'));
            return [...range.getClientRects()].map((line) => line.left - made.querySelector('td').getBoundingClientRect().left)""")
        self.assertGreater(len(said), 1)
        self.assertGreater(min(said), 80)

    def test_what_is_shown_of_jobs_and_budgets_is_in_words(self):
        browser = self.browser
        browser.enter(self.service.url + "/", self.service.steward_token)
        browser.wait("return document.querySelector('.tiles')")
        said = browser.run("""const card = (more) => budgetCard({account: 'acc_1', resource: 'tch_0000abcd', resource_name: 'carts', limit: {epsilon: 10, delta: 1e-5},
                spent: {epsilon: 1, delta: 0}, reserved: {epsilon: 0}, remaining: {epsilon: 9}, accounting: 'renyi', ...more});
            const links = (node) => [...node.querySelectorAll('a')].map((a) => a.getAttribute('href'));
            const linked = el('p', {}, withLinks('The account acc_abc has epsilon 1 left. Nothing was charged. A higher limit can be asked for.'));
            const form = document.createElement('form'), view = estimateView({feasible: true, accounts: [], warning: {detail: 'Ask for the smaller delta 3e-06.', better: {epsilon: 1, delta: 3e-6}}});
            const unit = {limit: 1e9, spent: 0, held: 0}, entry = {time: '2026-01-01T00:00:00Z', units: unit};
            const running = (more) => timeLeft({state: 'running', progress: {fraction: 1, eta_seconds: 0}, ...more});
            return [card({kind: 'client', client: 'cli_1', client_name: 'bob'}).querySelector('a').textContent, card({kind: 'teacher'}).textContent,
                linked.textContent, links(linked), view.querySelector('[data-delta]').textContent, burnDown([entry, entry], 'in ε') === null, burnDown([entry, entry, entry], 'in ε') !== null,
                [running({judge: {dataset: 'ds_1'}}), running({})], jobName({algorithm: 'cql', rehearse: true, dataset: null, dataset_name: 'carts'}),
                jobSummary({state: 'cancelled'}).textContent, warned(['No reason.'])[0].className]""")
        self.assertEqual(said[0], "bob at carts")
        self.assertIn("Not the sum of its clients' ε", said[1])
        self.assertEqual(said[2], "The budget has epsilon 1 left. Nothing was charged. Ask for a higher limit.")
        self.assertEqual(said[3], ["/v1/ledger/accounts/acc_abc", "/docs#changeLimit?id=acc_abc"])
        self.assertEqual(said[4:], ["Use δ 3e-6", True, True, ["judging", "finishing"], "rehearsal of cql on carts", "PaidNothing.", "warn"])

    def test_a_teacher_says_to_its_students_what_speaks_against_asking(self):
        browser = self.browser
        policy = self.post("/v1/policies", {"name": "p", "environment": "cartpole", "network": NETWORK}, "policy")["id"]
        self.post("/v1/teachers", {"policy": policy, **TEACHER, "name": "wide", "client_budget": {"epsilon": 50, "delta": 1e-5}}, "wide")
        for token, name in ((self.service.student_token, "student"), (self.service.steward_token, "steward")):
            browser.enter(self.service.url + "/v1/teachers", token)
            said = browser.wait("return [...document.querySelectorAll('article')].find((e) => e.querySelector('h2').textContent === 'wide')?.querySelector('.warn')?.textContent")
            self.assertIn("no client gets more", said)
            browser.keep(f"warned-{name}-1200-light")

    def test_the_smaller_delta_of_an_estimate_is_filled_in(self):
        browser, dataset = self.browser, self.service.data.id
        browser.enter(self.service.url + "/v1/jobs#new", self.service.steward_token)
        browser.wait("return document.querySelector('#job-form')")
        browser.run("""for (const [id, value] of [['algorithm', 'behaviour_cloning'], ['dataset', arguments[0]], ['privacy-epsilon', '1'], ['privacy-delta', '6e-4']]) {
                const input = document.getElementById('job-' + id); input.value = value; input.dispatchEvent(new Event('change', {bubbles: true})); }
            document.querySelector('#job-form [type=submit]').click()""", dataset)
        filled = browser.wait("const e = document.querySelector('[data-delta]'); const delta = e?.dataset.delta; e?.click(); return delta")
        browser.wait("return document.querySelector('#estimate dl') && !document.querySelector('[data-delta]')")
        self.assertEqual(browser.run("return document.getElementById('job-privacy-delta').value"), filled)

    def test_an_estimate_goes_when_what_it_was_asked_for_changes(self):
        browser, dataset = self.browser, self.service.data.id
        browser.enter(self.service.url + "/v1/jobs#new", self.service.steward_token)
        browser.wait("return document.querySelector('#job-form')")
        browser.run("""for (const [id, value] of [['algorithm', 'behaviour_cloning'], ['dataset', arguments[0]], ['privacy-epsilon', '1'], ['privacy-delta', '1e-5']]) {
                const input = document.getElementById('job-' + id); input.value = value; input.dispatchEvent(new Event('change', {bubbles: true})); }
            document.querySelector('#job-form [type=submit]').click()""", dataset)
        browser.wait("return document.querySelector('#estimate dl')")
        browser.run("document.getElementById('job-privacy-epsilon').focus()")
        browser.press("8")
        self.assertEqual(browser.run("return document.getElementById('estimate').textContent"), "")
        # An answer that comes after the change is of what was there before.
        browser.run("""const fetch_ = window.fetch; window.fetch = async (path, options) => {
                const reply = await fetch_(path, options);
                if (path === '/v1/jobs:estimate') await new Promise((go) => { window.go = go; });
                return reply;
            };
            document.querySelector('#job-form [type=submit]').click()""")
        browser.wait("return Boolean(window.go)")
        browser.press("8")
        browser.run("go()")
        browser.wait("return !document.querySelector('#job-form [aria-disabled]')")
        self.assertEqual(browser.run("return document.getElementById('estimate').textContent"), "")

    def test_today_begins_at_midnight_where_the_reader_is(self):
        browser = self.browser
        self.addCleanup(lambda: browser.tell("Emulation.setTimezoneOverride", timezoneId=""))
        for zone, hour in (("Asia/Kolkata", "18:30"), ("America/Caracas", "04:00")):
            browser.tell("Emulation.setTimezoneOverride", timezoneId=zone)
            browser.enter(self.service.url + "/", self.service.admin_token)
            browser.wait("return document.querySelector('.tiles')")
            said = browser.wait("return performance.getEntriesByType('resource').map((it) => it.name).find((name) => name.includes('/v1/audit'))")
            self.assertRegex(said, rf"since=\d{{4}}-\d\d-\d\dT{hour}:00Z$")
            browser.wait("return [...document.querySelectorAll('#view h2')].some((e) => e.textContent === 'Changes today')")

    def test_a_failed_job_says_why_in_the_list(self):
        browser = self.browser
        browser.enter(self.service.url + "/", self.service.steward_token)
        browser.wait("return document.querySelector('.tiles')")
        said = browser.run("""return jobTable([{id: 'job_1', algorithm: 'cql', state: 'failed', created_at: null,
            error: {detail: 'Too few experts.'}}]).textContent""")
        self.assertIn("Too few experts.", said)

    def test_every_colour_of_text_stands_out(self):
        def light(colour):
            parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
            parts = [x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
            return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
        sheet = (pathlib.Path(__file__).resolve().parents[2] / "web" / "status.css").read_text()
        schemes = re.findall(r":root \{(.*?)\}", sheet, re.DOTALL)
        self.assertEqual(len(schemes), 2)
        for scheme in schemes:
            colours = {name: "#" + "".join(2 * c for c in code) if len(code) == 3 else "#" + code
                       for name, code in re.findall(r"--([\w-]+): #(\w+)", scheme)}
            for text in ("ink", "soft", "blue", "good", "warn", "bad"):
                for ground in ("paper", "card", "blue-soft"):
                    dark, bright = sorted((light(colours[text]), light(colours[ground])))
                    self.assertGreaterEqual((bright + 0.05) / (dark + 0.05), 4.5, f"{text} on {ground}: WCAG 2.2, 1.4.3")

    def views(self):
        """Of every kind of page: a name, its path, whose token, and what is there once it is drawn."""
        steward, student, admin = self.service.steward_token, self.service.student_token, self.service.admin_token
        job, account = self.service.job["id"], self.get("/v1/datasets/" + self.service.data.id)["account"]
        teacher = self.asked_teacher()
        self.post("/v1/budget-requests", {"teacher": teacher, "epsilon": 1000, "reason": "a second project"}, "open", student)
        return [("entry", "/", None, "#token"), ("overview", "/", steward, "article"), ("overview-student", "/", student, "article"),
                ("overview-admin", "/", admin, "h2"), ("jobs", "/v1/jobs#new", steward, "#job-form"), ("job", "/v1/jobs/" + job, steward, ".pill"),
                ("budgets", "/v1/ledger/accounts", steward, "article"), ("budget", "/v1/ledger/accounts/" + account, steward, "svg"),
                ("teachers", "/v1/teachers", steward, "article"), ("teachers-student", "/v1/teachers", student, "article"),
                ("requests", "/v1/budget-requests", steward, "article form"), ("requests-student", "/v1/budget-requests", student, "#ask-reason"),
                ("certificate", f"/v1/teachers/{teacher}/certificate", student, "#genuine"), ("refused", "/v1/jobs", student, "[role=alert]"),
                ("docs", "/docs#createBudgetRequest", steward, ".operation form"), ("problems", "/problems", None, "table"),
                ("problem", "/problems/validation", None, "h1"), ("missing", "/nowhere", None, "h1"), ("policy", f"/v1/policies/{self.get('/v1/jobs/' + job)['policy']}", steward, "[data-file]"),
                ("certificate-policy", f"/v1/policies/{self.get('/v1/jobs/' + job)['policy']}/certificate", steward, "#genuine")]

    def test_every_page_is_open_to_all_in_both_schemes_on_a_phone_and_a_desk(self):
        browser, axe, wrong = self.browser, pathlib.Path(os.environ["AXE"]).read_text(), []
        self.addCleanup(browser.become, 1200, "light")
        for name, path, token, sign in self.views():
            browser.enter(self.service.url + path, token)
            browser.wait("return [...document.querySelectorAll(arguments[0])].some((e) => e.checkVisibility())", sign)
            browser.run("document.querySelectorAll('details:not(.operation)').forEach((e) => { e.open = true; })")
            browser.run("""const e = document.getElementById('job-algorithm');
                if (e) { e.value = 'gp_q_learning'; e.dispatchEvent(new Event('change', {bubbles: true})); }""")
            for width, scheme in ((1200, "light"), (1200, "dark"), (390, "dark"), (390, "light"), (320, "light")):
                browser.become(width, scheme)
                browser.keep(f"{name}-{width}-{scheme}")
                wide = browser.run("return document.documentElement.scrollWidth") > width
                found = browser.run(axe + AXE_RUN) + (["scrolls sideways"] if wide else [])
                wrong += [f"{name} at {width} in {scheme}: {it}" for it in found]
        self.assertEqual(wrong, [], "\n".join(wrong))


if __name__ == "__main__":
    unittest.main(verbosity=2)
