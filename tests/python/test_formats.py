"""Importers and exporters: what comes out is what went in, and nothing is guessed."""
import importlib
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

import h5py
import numpy as np

from service import service, tacet, walks
from walk import Walk


def flat(**changed):
    """Two episodes of three and two steps; the first terminates."""
    arrays = {"observations": np.arange(10.0).reshape(5, 2), "actions": np.array([0, 1, 0, 1, 1]),
              "rewards": np.arange(5.0), "terminals": np.array([0, 0, 1, 0, 0]), "timeouts": np.zeros(5), "who": np.array(["a", "a", "a", "b", "b"])}
    return {name: array for name, array in {**arrays, **changed}.items() if array is not None}


class Formats(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def npz(self, **changed):
        np.savez(self.folder / "a.npz", **flat(**changed))
        return self.folder / "a.npz"

    def hdf5(self, fill):
        with h5py.File(self.folder / "a.hdf5", "w") as file:
            fill(file)
        return self.folder / "a.hdf5"

    def test_what_is_written_is_read_again(self):
        episodes = list(walks(4, 2))
        for kind, by in (("npz", "experts"), ("hdf5", "experts"), ("csv", None)):
            path = self.folder / f"walks.{kind}"
            getattr(tacet, f"write_{kind}")(path, episodes)
            read = getattr(tacet, f"read_{kind}")(path, **({"experts_by": by} if by else {}))
            self.assertEqual([e.expert for e in read], [e.expert for e in episodes], kind)
            for one, other in zip(read, episodes):
                self.assertEqual(one.actions, other.actions)
                np.testing.assert_allclose(one.states, other.states, rtol=1e-6)
                np.testing.assert_allclose(one.rewards, other.rewards)
                self.assertEqual((one.terminated, one.truncated), (other.terminated, other.truncated))

    def test_flat_arrays_without_last_states_get_the_rule_that_the_user_names(self):
        path = self.npz()
        first, second = tacet.read_npz(path, experts_by="who", last_state="repeat_or_drop")
        self.assertEqual((first.states[-1], len(first), first.terminated, first.expert), ([4.0, 5.0], 3, True, "a"))
        self.assertEqual((second.states, second.actions, second.truncated), ([[6.0, 7.0], [8.0, 9.0]], [1], True))
        dropped = tacet.read_npz(path, experts_by="who", last_state="drop")
        self.assertEqual([(len(e), e.truncated) for e in dropped], [(2, True), (1, True)])
        with self.assertRaisesRegex(ValueError, "last_state='repeat'"):
            tacet.read_npz(path, experts_by="who")
        with self.assertRaisesRegex(ValueError, "may not be repeated"):
            tacet.read_npz(path, experts_by="who", last_state="repeat")

    def test_next_observations_are_the_last_states(self):
        path = self.npz(next_observations=np.arange(10.0).reshape(5, 2) + 2, timeouts=np.array([0, 0, 0, 0, 1]))
        first, second = tacet.read_npz(path, episodes_per_expert=2)
        self.assertEqual((first.states[-1], second.states[-1]), ([6.0, 7.0], [10.0, 11.0]))
        self.assertEqual([first.expert, second.expert], ["e0", "e0"])

    def test_nobody_guesses_who_the_expert_is(self):
        for wrong in ({}, {"experts_by": "who", "expert_per_episode": True}):
            with self.assertRaisesRegex(ValueError, "exactly one of experts_by"):
                tacet.read_npz(self.npz(), **wrong)
        with self.assertRaisesRegex(ValueError, "two experts in one episode"):
            tacet.read_npz(self.npz(who=np.arange(5)), experts_by="who", last_state="drop")
        with self.assertRaisesRegex(ValueError, "no array 'nobody'"):
            tacet.read_npz(self.npz(), experts_by="nobody", last_state="drop")

    def test_faulty_arrays_are_told(self):
        for wrong, words in (({"rewards": None}, "no array rewards"), ({"rewards": np.zeros(3)}, "has 3 rows"),
                             ({"actions": np.zeros((5, 2))}, "whole numbers"), ({"actions": np.ones(5) / 2}, "whole numbers")):
            with self.assertRaisesRegex(ValueError, words):
                tacet.read_npz(self.npz(**wrong), experts_by="who", last_state="drop")

    def test_flat_arrays_that_do_not_say_where_episodes_end_are_refused(self):
        path = self.npz(timeouts=None, ends=np.array([0, 1, 1, 0, 1]), who=None)
        who = dict(expert_per_episode=True, last_state="repeat_or_drop")
        with self.assertRaisesRegex(ValueError, "no array timeouts.* ends_by='terminals'"):
            tacet.read_npz(path, **who)
        self.assertEqual([e.expert for e in tacet.read_npz(path, ends_by="terminals", **who)], ["e0", "e1"])
        self.assertEqual([e.expert for e in tacet.read_npz(path, ends_by="ends", **who)], ["e0", "e1", "e2"])
        with self.assertRaisesRegex(ValueError, "no array dones"):
            tacet.read_npz(path, ends_by="dones", **who)
        file = self.hdf5(lambda file: [file.create_dataset(n, data=a) for n, a in flat(timeouts=None, who=None).items()])
        with self.assertRaisesRegex(ValueError, "no array timeouts"):
            tacet.read_hdf5(file, **who)
        self.assertEqual(len(tacet.read_hdf5(file, ends_by="terminals", **who)), 2)

    def test_no_array_that_says_where_episodes_end_is_left_out(self):
        cut = np.array([0, 1, 0, 0, 1])
        for name in ("timeouts", "truncations", "episode_terminals"):
            path = self.npz(**{"timeouts": None, name: cut, "who": None})
            for ends_by in (None, "terminals", name):
                read = tacet.read_npz(path, ends_by=ends_by, expert_per_episode=True, last_state="repeat_or_drop")
                self.assertEqual([len(e) for e in read], [1, 1, 1])

    def test_terminations_end_episodes_beside_terminals_and_without_them(self):
        either, ends = np.array([0, 1, 0, 0, 0]), dict(expert_per_episode=True, ends_by="terminals", last_state="repeat_or_drop")
        for wrong, lengths in ((dict(terminations=either), [2, 1, 1]), (dict(terminals=None, terminations=either), [2, 2])):
            read = tacet.read_npz(self.npz(timeouts=None, who=None, **wrong), **ends)
            self.assertEqual([len(e) for e in read], lengths)

    def test_an_array_in_a_group_names_experts(self):
        def fill(file):
            for name, array in flat(who=None).items():
                file[name] = array
            file["infos/who"] = [b"a", b"a", b"a", b"b", b"b"]
        path = self.hdf5(fill)
        read = tacet.read_hdf5(path, experts_by="infos/who", last_state="repeat_or_drop")
        self.assertEqual([e.expert for e in read], ["a", "b"])
        with self.assertRaisesRegex(ValueError, "It has actions, infos/who, observations"):
            tacet.read_hdf5(path, experts_by="who", last_state="repeat_or_drop")

    def test_a_number_that_is_not_finite_is_told_with_its_place(self):
        states, rewards = np.arange(10.0).reshape(5, 2), np.arange(5.0)
        states[4, 1], rewards[1] = np.nan, np.inf
        for wrong, words in (({"observations": states}, r"Episode 1: Expert b: states\[1\]\[1\] is nan"),
                             ({"rewards": rewards}, r"Episode 0: Expert a: rewards\[1\] is inf")):
            with self.assertRaisesRegex(ValueError, words):
                tacet.read_npz(self.npz(**wrong, next_observations=np.zeros((5, 2))), experts_by="who")
        rows = [{"expert": "a", "episode": 1, "state_x": 0.5, "action": 1, "reward": 1, "terminated": 0}] * 2
        for cell in (float("nan"), float("inf"), "", "abc"):
            with self.assertRaisesRegex(ValueError, "column state_x has .* in step 1 of episode 1 of expert a"):
                tacet.read_csv([rows[0], {**rows[1], "state_x": cell}], last_state="drop")

    def test_an_episode_with_such_a_number_does_not_end_a_recording(self):
        env = tacet.Recorder(types.SimpleNamespace(reset=lambda: ([0.0], {}),
                                                   step=lambda action: ([action / 1.0], 0, False, False, {})), expert="p1")
        env.reset()
        env.step(1)
        env._states[-1] = [float("nan")]
        with self.assertRaisesRegex(ValueError, r"Expert p1: states\[1\]\[0\] is nan"):
            env.reset()
        env.reset()
        env.step(1)
        env.reset()
        self.assertEqual([e.states for e in env.episodes], [[[0.0], [1.0]]])

    def test_minari_is_read_from_its_file_and_its_objects(self):
        def fill(file):
            for i in (10, 9):
                group = file.create_group(f"episode_{i}")
                group.attrs["seed"] = i
                group.create_dataset("observations", data=np.full((4, 2), i))
                group.create_dataset("actions", data=[0, 1, 0])
                group.create_dataset("rewards", data=[1.0, 2, 3])
                group.create_dataset("terminations", data=[False, False, i == 9])
                group.create_dataset("truncations", data=[False, False, i == 10])
        read = tacet.read_hdf5(self.hdf5(fill), experts_by="seed")
        self.assertEqual([(e.expert, len(e), e.terminated) for e in read], [("9", 3, True), ("10", 3, False)])
        with self.assertRaisesRegex(ValueError, "episode_9 has no attribute 'who' .* It has seed"):
            tacet.read_hdf5(self.folder / "a.hdf5", experts_by="who")
        one = types.SimpleNamespace(id=3, observations=np.zeros((4, 2)), actions=np.array([0, 1, 0]), rewards=np.ones(3),
                                    terminations=np.array([False, False, True]))
        source = types.SimpleNamespace(iterate_episodes=lambda: [one])
        self.assertEqual(tacet.read_episodes(source, experts_by=lambda e: f"x{e.id}")[0].expert, "x3")

    def test_d3rlpy_is_read_from_its_files_and_its_objects(self):
        old = {k: v for k, v in flat().items() if k != "who"}
        old["episode_terminals"] = np.array([0, 0, 1, 0, 1])
        old["version"] = "1.0"
        path = self.hdf5(lambda file: [file.create_dataset(n, data=a) for n, a in old.items()])
        self.assertEqual([len(e) for e in tacet.read_hdf5(path, expert_per_episode=True, last_state="repeat_or_drop")], [3, 1])

        def fill(file):
            for name, data in (("observations", np.zeros((3, 2))), ("actions", np.array([[0], [1], [0]])),
                               ("rewards", np.ones((3, 1))), ("terminated", True)):
                file.create_dataset(f"{name}_0", data=data)
        self.assertEqual(tacet.read_hdf5(self.hdf5(fill), expert_per_episode=True, last_state="repeat")[0].rewards, [1.0] * 3)
        one = types.SimpleNamespace(observations=np.zeros((3, 2)), actions=np.array([[0], [1], [0]]), rewards=np.ones((3, 1)),
                                    terminated=False)
        read = tacet.read_episodes(types.SimpleNamespace(episodes=[one]), expert_per_episode=True, last_state="drop")
        self.assertEqual((read[0].actions, read[0].truncated), ([0, 1], True))

    def test_d3rlpy_gets_its_own_arrays(self):
        module = types.ModuleType("d3rlpy.dataset")
        module.MDPDataset = dict
        with mock.patch.dict(sys.modules, {"d3rlpy": types.ModuleType("d3rlpy"), "d3rlpy.dataset": module}):
            made = tacet.to_d3rlpy(walks(2, 2))
        self.assertEqual((made["observations"].shape, made["timeouts"].sum()), ((48, 2), 4))

    def test_a_data_frame_and_a_table_are_read(self):
        rows = [{"who": "a", "stay": 1, "x": 0.5, "treat": 1, "gain": 2, "done": 0},
                {"who": "a", "stay": 1, "x": 0.7, "treat": 0, "gain": 1, "done": 1}]
        frame = types.SimpleNamespace(to_dict=lambda how: rows)
        names = dict(expert="who", episode="stay", states=["x"], action="treat", reward="gain", terminated="done")
        read = tacet.read_csv(frame, last_state="repeat", **names)[0]
        self.assertEqual((read.states, read.actions, read.terminated), ([[0.5], [0.7], [0.7]], [1, 0], True))
        with self.assertRaisesRegex(ValueError, "does not end with a row without action"):
            tacet.read_csv(frame, **names)
        with self.assertRaisesRegex(ValueError, "no column expert"):
            tacet.read_csv(frame)

    def test_a_table_is_refused_where_the_service_refuses_it(self):
        head = "expert,episode,state_0,action,reward,terminated\n"
        for lines, words in (("a,0,1,0,1,0\na,0,2,1,1,1\na,0,7,0,1,0\na,0,8,,,1\n", "Episode 0: it goes on after a step that ends it"),
                             ("a,0,1,0,1,0\nb,0,2,1,1,0\na,0,7,0,1,0\na,0,8,,,1\n", "does not end with a row without action"),
                             ("a,0,1,0,1,0\na,0,2,,,0\nb,0,2,1,1,0\nb,0,2,,,0\na,0,7,0,1,0\na,0,8,,,1\n", "Episode 0 of expert a has rows further up"),
                             ("a,0,1,0,1,0\na,0,2,,,died\n", "terminated in step 1 of episode 0 of expert a has 'died'"),
                             ("a,0,1,0,1,\na,0,2,,,0\n", "terminated in step 0 .* has ''"),
                             ("a,0,1,0,1,0\na,0,2\n", "Row 2 has more or fewer cells"), ("a,0,1,0,1,0,9\na,0,2,,,0\n", "Row 1 has more"),
                             ("a,0,1,0,1,0\na,0,2,,5,0\n", "without action and reward"),
                             ("a,0,1,0,1,0\na,0,2,,,1\na,1,2,,,\n", "Episode 1: expert a has no step in it")):
            (self.folder / "t.csv").write_text(head + lines)
            with self.assertRaisesRegex(ValueError, words):
                tacet.read_csv(self.folder / "t.csv")
        (self.folder / "t.csv").write_text(head + "a,0,1,0,1,0\na,0,2,,,\n a,1,1,0,1,yes\na,1,2,,,\na,2,1,0,1,0\na,2,2,,,1\n")
        self.assertEqual([(e.expert, e.terminated) for e in tacet.read_csv(self.folder / "t.csv")], [("a", False), ("a", True), ("a", True)])

    def test_one_person_has_one_name(self):
        def frame(key):
            row = {"expert": key, "episode": np.float64(1), "state_0": 1, "action": 0, "reward": 1, "terminated": True}
            return [row, {**row, "action": None, "reward": float("nan")}]
        for key, name in ((1.0, "1"), (-0.0, "0"), (np.float32(7), "7"), (np.int64(7), "7"), (b"x", "x"), (" x ", "x")):
            self.assertEqual(tacet.read_csv(frame(key))[0].expert, name)
        for key in (float("nan"), None, 1.5, np.float64("inf")):
            with self.assertRaisesRegex(ValueError, "a text or a whole number"):
                tacet.read_csv(frame(key))
        read = tacet.read_npz(self.npz(who=np.array([1.0, 1, 1, -0.0, 0])), experts_by="who", last_state="drop")
        self.assertEqual([e.expert for e in read], ["1", "0"])

    def test_marks_are_0_or_1_and_episodes_end_once(self):
        for wrong in ({"terminals": np.array([0, np.nan, 1, 0, 0])}, {"timeouts": np.array([0, -1, 0, 0, 0])}):
            with self.assertRaisesRegex(ValueError, f"The array {next(iter(wrong))} has .*must be 0 or 1"):
                tacet.read_npz(self.npz(**wrong), experts_by="who", last_state="drop")
        for ends, cut, words in (([0, 0, 0], [0, 0, 0], "is something cut off"), ([0, 1, 1], [0, 0, 0], "goes on after a step that ends it"),
                                 ([0, 0, 0], [0, 1, 1], "goes on")):
            one = types.SimpleNamespace(observations=np.zeros((4, 2)), actions=np.array([0, 1, 0]), rewards=np.ones(3),
                                        terminations=np.array(ends, bool), truncations=np.array(cut, bool))

            def fill(file):
                for name in ("observations", "actions", "rewards", "terminations", "truncations"):
                    file.create_dataset(f"episode_0/{name}", data=getattr(one, name))
            for read in (lambda: tacet.read_episodes([one], expert_per_episode=True), lambda: tacet.read_hdf5(self.hdf5(fill), expert_per_episode=True)):
                with self.assertRaisesRegex(ValueError, "Episode 0: .*" + words):
                    read()

    def test_no_episode_is_left_out_without_a_word(self):
        with self.assertRaisesRegex(ValueError, "Episode 1: .*of expert b has one step, of which last_state='drop' leaves nothing"):
            tacet.read_npz(self.npz(timeouts=np.array([0, 0, 0, 1, 0]), who=np.array(list("aaabb"))), experts_by="who", last_state="drop")

        def fill(file):
            for index in (0, 2):
                for name, data in (("observations", np.zeros((3, 2))), ("actions", [0, 1, 0]), ("rewards", np.ones(3)), ("terminated", True)):
                    file.create_dataset(f"{name}_{index}", data=data)
        with self.assertRaisesRegex(ValueError, "no observations_1, and its episodes"):
            tacet.read_hdf5(self.hdf5(fill), expert_per_episode=True, last_state="repeat")

    def test_a_missing_library_is_named(self):
        with mock.patch.dict(sys.modules, {"h5py": None}), self.assertRaisesRegex(ImportError, "pip install h5py"):
            tacet.read_hdf5("a.hdf5", expert_per_episode=True)

    def test_the_core_needs_the_standard_library_alone(self):
        hidden = {name: None for name in ("numpy", "h5py", "yaml", "pandas", "requests")}
        ours = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "tacet"}
        with mock.patch.dict(sys.modules, hidden):
            for name in ours:
                del sys.modules[name]
            self.assertTrue(importlib.import_module("tacet").connect)

    def test_a_step_loop_is_recorded(self):
        env = tacet.Recorder(Walk(), expert="p1")
        with mock.patch("builtins.print"):
            for seed in (1, 2):
                state, _ = env.reset(seed=seed)
                for _ in range(5):
                    state = env.step(int(state[0] < 0))[0]
            env.expert = "p2"
            env.reset(seed=3)
            env.step(0)
            env.reset(seed=4)
        self.assertEqual([(e.expert, len(e), e.truncated) for e in env.episodes], [("p1", 5, True), ("p1", 5, True), ("p2", 1, True)])

    def test_all_of_it_is_taken_by_the_service(self):
        data = service().steward.create_dataset("forms", epsilon=1, delta=1e-6, state_dim=2, action_count=2, discount=0.9,
                                                max_episode_steps=50)
        tacet.write_hdf5(self.folder / "w.hdf5", walks(3, 2))
        data.upload(tacet.read_hdf5(self.folder / "w.hdf5", experts_by="experts"))
        data.upload(tacet.read_npz(self.npz(), experts_by="who", last_state="repeat_or_drop"))
        self.assertEqual(data.refresh()["trajectories"], 8)

    def test_a_described_table_is_uploaded_as_it_is(self):
        table = self.folder / "w.csv"
        tacet.write_csv(table, walks(2, 2))
        described = {"row": "a step", "expert": "a walker", "actions": ["left", "right"],
                     "features": [{"name": "state_0", "low": -2, "high": 2}, {"name": "state_1", "low": -2, "high": 2}],
                     "table": {"expert": "expert", "episode": "episode", "action": "action", "reward": "reward",
                               "terminated": "terminated", "last_state": "own_row"}}
        data = service().steward.create_dataset("table", epsilon=1, delta=1e-6, description=described, discount=0.9,
                                                max_episode_steps=50)
        service().steward.upload(data.id, str(table))
        self.assertEqual(data.refresh()["trajectories"], 4)
        with self.assertRaisesRegex(ValueError, "must end in"):
            data.upload("w.xlsx")
