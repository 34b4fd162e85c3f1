"""Lies of a service that has its own key: no export in which one stands is called whole, in either language."""
import unittest

from exports import NOTHING, Account, Key, World, ask, checks

GAUSSIAN = ('{"type":"SelfComposedDpEvent","count":1000,"event":{"type":"PoissonSampledDpEvent","sampling_probability":0.01,'
            '"event":{"type":"GaussianDpEvent","noise_multiplier":0.5}}}')


def pair(epsilon, delta=0):
    return '{"type":"EpsilonDeltaDpEvent","epsilon":%r,"delta":%r}' % (epsilon, delta)


class Verify(unittest.TestCase):
    def good(self, world, **beside):
        for code, said in ask(world.text(), **beside):
            self.assertIn("all of it holds", said)
            self.assertEqual(code, 0, said)

    def refused(self, world, *faults, **beside):
        """Both find one fault in WORLD: FAULTS are its words in C and in Python, or the same in both."""
        answers = ask(world.text(), **beside)
        for (code, said), fault in zip(answers, faults * 2):
            self.assertEqual(code, 1, said)
            self.assertIn(fault, said)
            self.assertEqual(said.count("\n  line "), 1, said)

    # ---- prices without a delta

    def job(self, units, delta_units, stated, order=0.0, event=GAUSSIAN):
        """A job that pays so much for EVENT, with a certificate that has STATED epsilon and delta."""
        world = World()
        account = world.dataset(order=order, epsilon=10 if order == 0 else 1e5, delta=1e-3)
        account.hold("job_1", units, delta_units)
        world.certify("pol_1", account, "job_1", *stated)
        account.settle("job_1", units, delta_units, event)
        world.row("release", "job_1", "pol_1")
        return world

    NEVER = "no epsilon is enough for its event at the delta that was paid"

    def test_a_job_that_adds_noise_pays_a_delta(self):
        self.refused(self.job(1, 0, (1e-9, 0)), self.NEVER)
        self.refused(self.job(10**9, 10**9, (1, 1e-9), event=pair(1, 1e-7)), self.NEVER)
        self.good(self.job(10**9, 10**11, (1, 1e-7), event=pair(1, 1e-7)))
        self.good(self.job(10**9, 0, (1, 0), event=pair(1)))

    def test_dirichlet_answers_are_paid_whatever_stands_beside_them(self):
        def answers(count, sensitivity):
            return ('{"type":"SelfComposedDpEvent","count":%d,"event":{"type":"DirichletDpEvent","actions":4,"concentration":20,'
                    '"min_probability":0.05,"sensitivity":%r}}' % (count, sensitivity))

        worthless = ('{"type":"PoissonSampledDpEvent","sampling_probability":1e-12,'
                     '"event":{"type":"GaussianDpEvent","noise_multiplier":0.1}}')
        beside = {(5, 0.01): [worthless], (5, 0.010001): [pair(i * 1e-9) for i in range(1, 9)], (100, 0.05): []}
        for first, others in beside.items():
            event = '{"type":"ComposedDpEvent","events":[%s]}' % ",".join([answers(*first), *others])
            code, said = ask(self.job(1, 10**13, (1e-9, 1e-5), event=event).text())[0]
            self.assertEqual(code, 1, said)
            self.assertIn("its event costs more than was paid", said)

    def test_a_least_price_of_nothing_is_none(self):
        """Whatever the accountants find no least price for counts as out of their reach."""
        few = ('{"type":"DirichletDpEvent","actions":64,"concentration":%r,"min_probability":0.005,"sensitivity":0.0001}')
        event = '{"type":"ComposedDpEvent","events":[%s]}' % ",".join(few % (200 + i / 100) for i in range(1000))
        said = ask(self.job(1, 10**13, (1e-9, 1e-5), event=event).text())[0][1]
        self.assertIn("0 prices computed again, 1 out of the accountants' reach", said)

    def test_a_client_pays_a_delta_for_answers_and_a_dataset_need_not(self):
        for kind, resource, client in (("client", "tch_a", "cli_a"), ("teacher", "tch_a", "")):
            world = World()
            Account(world, "acc_c", kind, resource, client).open(10).add("debit", spent=1, resource="qry_1", event=GAUSSIAN)
            self.refused(world, self.NEVER)
        world = World()
        world.dataset().add("debit", spent=1, resource="qry_1", event=GAUSSIAN)
        self.good(world)

    def test_a_job_that_adds_noise_states_a_delta(self):
        stated = "it states other figures than its job has paid: epsilon 0 and delta 0"
        self.refused(self.job(90000 * 10**9, 0, (0, 0), order=2.0), stated)
        self.good(self.job(90000 * 10**9, 0, (90000, 2**-10), order=2.0))

    # ---- whose account a certificate names

    def test_a_job_is_paid_by_a_dataset_and_a_teacher_has_an_account_of_its_own(self):
        for kind, resource, about in (("teacher", "ds_a", "pol_1"), ("dataset", "tch_1", "tch_1")):
            world = World()
            world.dataset()
            account = Account(world, "acc_t", kind, resource).open(1)
            if kind == "dataset":
                account.hold("job_1", 10**9)
            world.certify(about, account, "job_1", 1)
            if kind == "dataset":
                account.settle("job_1", 10**9, event=pair(1))
            world.row("release", "job_1", about)
            self.refused(world, "the account that it names is for something else")

    def test_a_certificate_names_the_account_of_its_dataset(self):
        world = World()
        world.dataset()
        world.certify("pol_1", None, "job_1", 1)
        world.row("release", "job_1", "pol_1")
        self.refused(world, "it names no account, and its dataset has one")
        world = World()
        world.dataset("ds_b")
        world.certify("pol_1", None, "job_1", 1)
        world.row("release", "job_1", "pol_1")
        self.good(world)

    # ---- a dataset has one budget

    def test_the_account_of_a_dataset_is_of_no_client(self):
        world = World()
        Account(world, "acc_b", "dataset", "ds_a", "cli_1").open(10)
        self.refused(world, "accounts of its kind are of a client, or of none")
        world = World()
        Account(world, "acc_b", "client", "tch_a").open(10)
        self.refused(world, "accounts of its kind are of a client, or of none")

    def conversion(self, epsilon, paid, limit=None):
        """An account of 10 that pays so much to go on as another one with EPSILON left."""
        world = World()
        account = world.dataset().hold("job_1", 10**9).settle("job_1", 10**9, event=pair(1))
        if paid:
            account.add("debit", spent=paid * 10**9, spent_d=10**14, resource="ds_a", event=pair(paid, 1e-4))
        after = Account(world, "acc_b", "dataset", "acc_ds_a", order=4.0)
        after.add("open", limit=10**9, epsilon=epsilon, delta=1e-4)
        after.hold("job_2", 10**9)
        world.certify("pol_2", after, "job_2", 1, limit=limit)
        after.settle("job_2", 10**9, event=pair(1))
        world.row("release", "job_2", "pol_2")
        return world

    def test_an_account_goes_on_with_what_the_one_before_it_paid(self):
        more = "the account that goes on from it has more than it paid"
        self.good(self.conversion(9, 9))
        self.refused(self.conversion(9, 8), more)
        self.refused(self.conversion(9, 0), more)
        self.good(self.conversion(9, 9, dict(epsilon=10, delta=1e-4)))
        self.refused(self.conversion(9, 9, dict(epsilon=1, delta=1e-4)), "it states other limits than its account had")
        world = World()
        Account(world, "acc_b", "dataset", "acc_nowhere").open(10)
        self.refused(world, more)

    def test_a_job_pays_once(self):
        for first in (8, 1):
            world = World()
            account = world.dataset(epsilon=20).hold("job_1", first * 10**9).settle("job_1", first * 10**9, event=pair(first))
            account.hold("job_1", 10**9)
            world.certify("pol_1", account, "job_1", 1)
            account.settle("job_1", 10**9, event=pair(1))
            for code, said in ask(world.text()):
                self.assertEqual(code, 1, said)
        self.assertIn("a hold of an account has begun twice", ask(world.text())[0][1])
        self.assertIn("it begins or ends a hold that it cannot", ask(world.text())[1][1])
        world = World()
        account = world.dataset()
        for _ in range(2):
            account.hold("job_1", 10**9).settle("job_1", 0, held=(10**9, 0))
        self.assertEqual([code for code, said in ask(world.text())], [1, 1])

    # ---- the audit trail

    def test_a_row_of_the_audit_trail_is_as_it_was_written(self):
        for change in (lambda text: text.replace('"action":', '"action": '), lambda text: '{"number":1,}',
                       lambda text: text.replace("00.000Z", "00Z"), lambda text: text.replace("uncovered", "uncover\\u0065d"),
                       lambda text: text.replace('"count":1', '"count":01'), lambda text: text[:-1] + ',"more":1}'):
            world = World()
            world.dataset()
            world.row("uncovered", "ds_a", "job_9", change=change)
            self.refused(world, "the line cannot be read", "nothing behind it was checked")
        world = World()
        world.dataset()
        world.row("uncovered", "ds_a", "job_9")
        self.good(world)

    def hidden(self, before, after):
        """A log in which leaves of folded entries are hashes alone, and with them all audit rows but the first: so many
        BEFORE and AFTER an earlier export, which has all. Gives both."""
        world = World()
        client = Account(world, "acc_c", "client", "tch_a", "cli_a").open(10)
        for _ in range(20):
            client.add("debit", spent=1, resource="qry_1", event=pair(1e-9))
        for _ in range(1 + before):
            world.row("PATCH /v1/ledger/accounts/{id}", "acc_c")
        earlier = world.text()
        client.fold()
        for _ in range(after):
            world.row("uncovered", "ds_a", "job_9")
        del world.trail[1:]
        while len(world.leaves) < 256:
            client.add("debit", spent=1, resource="qry_1", event=pair(1e-9))
        world.tiles = [0]
        return world, earlier

    def test_what_was_logged_since_an_earlier_export_is_shown(self):
        world, earlier = self.hidden(0, 0)
        self.good(world, earlier=earlier)
        for before, after, faults in ((1, 0, ["the earlier export has another row, or it is missing here"]),
                                      (0, 1, ["more leaves of the log are removed than entries", "too many leaves are removed"])):
            world, earlier = self.hidden(before, after)
            self.refused(world, *faults, earlier=earlier)
        self.good(world)  # alone it does not show that

    def reduced(self, earlier):
        """A log of 768 leaves, of which the second tile is one hash, and what it was at so many leaves EARLIER."""
        world = World()
        client = Account(world, "acc_c", "client", "tch_a", "cli_a").open(10)
        while len(world.leaves) < 768:
            before = world.text() if len(world.leaves) == earlier else None if len(world.leaves) < earlier else before
            client.add("debit", spent=1, resource="qry_1", event=pair(1e-9))
        client.fold()
        world.tiles, world.subtrees = [0, 2], [(1, 1)]
        return world, before

    def test_a_part_of_the_log_may_be_one_hash(self):
        for size in 100, 256, 512, 600:
            world, earlier = self.reduced(size)
            self.good(world)
            self.good(world, earlier=earlier)

    def test_no_part_of_the_log_is_one_hash_where_a_checkpoint_ended(self):
        world, earlier = self.reduced(300)
        gone = "the log does not show any more what it once was"
        self.refused(world, gone, gone, earlier=earlier)

    def test_a_part_of_the_log_stands_in_one_place(self):
        lost = "a leaf of the log is missing, or is there twice"
        for tiles, subtrees in (([0, 2], [(1, 1), (1, 1)]), ([0], [(1, 1), (1, 2)]), ([2], [(1, 0), (1, 1)]), ([0, 2], [(1, 2)]),
                                ([0, 2], [])):
            world, _ = self.reduced(300)
            world.tiles, world.subtrees = tiles, subtrees
            self.refused(world, lost, lost)

    def test_a_part_of_the_log_is_its_root(self):
        world, _ = self.reduced(300)
        world.subtree = lambda level, number: '{"subtree":{"level":1,"number":1,"hash":"%s"}}' % ("5" * 64)
        self.refused(world, "the log is not that of its checkpoint", "the log is not that of its checkpoint")
        for line in ('{"subtree":{"level":0,"number":1,"hash":"%s"}}', '{"subtree":{"level":7,"number":1,"hash":"%s"}}',
                     '{"subtree":{"level":1,"number":-1,"hash":"%s"}}', '{"subtree":{"level":1,"number":1,"hash":"0%s"}}',
                     '{"subtree":{"level":1,"number":1,"hash":"%s"},"more":1}', '{"subtree":{"level":1,"number":1,"hash":"%S"}}',
                     '{"subtree":{"level":6,"number":123456789012345678,"hash":"%s"}}'):
            world, _ = self.reduced(300)
            root = world.root(world.leaves[256:512]).hex()
            world.subtree = lambda level, number: line.replace("%s", root).replace("%S", root.upper())
            self.refused(world, "the line cannot be read", "nothing behind it was checked")

    def test_an_account_that_was_of_another_kind_is_another_history(self):
        """A fold has the hash of its last entry, so what stands before it could be another account's: here of a kind whose
        debits are folded. The leaf of the entry that tells is removed."""
        world = World()
        account = world.dataset()
        for _ in range(2):
            account.add("debit", spent=1, resource="qry_1", event=pair(1e-9))
        earlier = world.text()
        account.row["kind"], opening = "teacher", account.lines[0][1]
        opening["hash"] = checks.entry_hash(opening, checks.genesis(account.row))
        account.fold()
        del account.lines[1]
        client = Account(world, "acc_c", "client", "tch_a", "cli_a").open(10)
        while len(world.leaves) < 256:
            client.add("debit", spent=1, resource="qry_1", event=pair(1e-9))
        world.tiles = [0]
        self.refused(world, "the earlier export has another entry: this is another history", "another entry, or another sum",
                     earlier=earlier)

    def test_without_trusted_keys_the_earlier_export_s_is_asked_for(self):
        self.good(World(), earlier=World().text(), trusted=None)
        self.refused(World(), "it is signed with the key of another service", "it has the key of another service",
                     earlier=World(Key(b"another key")).text(), trusted=None)

    def test_no_version_is_without_a_log_and_an_audit_trail(self):
        world = World()
        world.dataset()
        for version, without in ((1, ('{"leaf":', '{"checkpoint":')), (2, ()), (5, ())):
            for code, said in ask(world.text(version, without)):
                self.assertEqual(code, 1, said)
                self.assertIn("this program knows exports of versions 3 and 4 alone", said)
        self.good(world)

    # ---- what is printed

    def test_no_control_character_reaches_the_terminal(self):
        world = World()
        Account(world, "acc_\x1b[2K\r  all of it holds\x1b[8m\x90\x9b", "dataset", "ds_a", "cli_1").open(10)
        world.certify("pol_\x1b\n1", None, "job_1", 1, dataset="ds_b", privacy=dict(unit="expert", epsilon=-1, delta=0))
        for code, said in ask(world.text()):
            self.assertEqual(code, 1)
            self.assertFalse({*said} & {"\x1b", "\r", "\x7f", "\x90", "\x9b"}, said)
            self.assertNotIn("\n  all of it holds", said)

    def test_numbers_and_depths_that_no_program_holds_are_faults(self):
        for event, epsilon in (('{"events":' + "[" * 100000, 10), (NOTHING, 10**400)):
            world = World()
            world.dataset().hold("job_1", 1)
            world.accounts[0].add("settle", held=-1, resource="job_1", event=event)
            text = world.text().replace(b'"epsilon":10.0,', b'"epsilon":%d,' % epsilon)
            for code, said in ask(text):
                self.assertEqual(code, 1)
                self.assertIn("IT DOES NOT HOLD", said)
                self.assertNotIn("Traceback", said)
