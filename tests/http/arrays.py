#!/usr/bin/python3
"""Writes files of arrays for import_test.c and import_hdf5_test.c into the folder that is named:

    arrays.py npz FOLDER      good.npz and files with one fault each
    arrays.py hdf5 FOLDER     the same as HDF5, flat and as Minari has it

The data: two experts (7 and 8) with two episodes each of the features x (-1 to 1), level (0.01 to
100, logarithmic) and kind (categories a, b); three actions.
"""
import sys
import zipfile

import numpy as np

what, folder = sys.argv[1], sys.argv[2] + "/"

STATES = np.array(
    [[0.0, 1.0, 0], [0.5, 10.0, 1], [-0.5, 0.1, 0], [1.0, 100.0, 1], [0.25, 1.0, 1], [0.75, 10.0, 0],
     [-1.0, 0.01, 0], [0.125, 1.0, 0]])
GOOD = {
    "observations": STATES,
    "next_observations": np.roll(STATES, -1, axis=0),
    "actions": np.array([0, 1, 2, 0, 1, 2, 0, 1]),
    "rewards": np.array([0.5, -1, 2, 0, 0.25, 1, 1, -2]),
    "terminals": np.array([0, 0, 1, 0, 0, 1, 0, 0], bool),
    "timeouts": np.array([0, 0, 0, 1, 0, 0, 0, 1], bool),
    "who": np.array([7, 7, 7, 7, 8, 8, 8, 8]),
}


def changed(**members):
    arrays = {**GOOD, **members}
    return {name: array for name, array in arrays.items() if array is not None}


FILES = {
    "good": GOOD,
    "small_types": changed(observations=STATES.astype("f4"), actions=GOOD["actions"].astype("u1"),
                           rewards=GOOD["rewards"].astype("f2"),
                           terminals=GOOD["terminals"].astype("i8"),
                           who=np.array(["7", "7", "7", "7", "8", "8", "8", "8"])),
    "flat": changed(next_observations=None),
    "endless": changed(timeouts=None),
    "ended": changed(timeouts=None, ends=GOOD["terminals"] | GOOD["timeouts"]),
    "terminations": changed(timeouts=None, terminals=None, terminations=GOOD["terminals"]),
    "both": changed(terminations=GOOD["timeouts"], timeouts=None),
    "cut_off": changed(timeouts=None, truncations=GOOD["timeouts"], ends=GOOD["terminals"]),
    "of_d3rlpy": changed(timeouts=None, episode_terminals=GOOD["terminals"] | GOOD["timeouts"]),
    "one_expert": changed(who=np.array([0.0] * 4 + [-0.0] * 4)),
    "one_action": changed(actions=GOOD["actions"] * 0),
    "vectors": changed(actions=np.ones((8, 2))),
    "fractions": changed(actions=GOOD["actions"] + 0.5),
    "outside": changed(observations=STATES * 2),
    "short": changed(rewards=GOOD["rewards"][:5]),
    "empty": {name: array[:0] for name, array in GOOD.items()},
    "narrow": changed(observations=STATES[:, :2]),
    "no_rewards": changed(rewards=None),
    "mark": changed(terminals=GOOD["terminals"] * 3),
    "nan": changed(observations=np.where(STATES == 0.5, np.nan, STATES)),
    "mixed": changed(who=np.arange(8)),
    "texts": changed(rewards=np.array(["a"] * 8)),
}


def save_npz():
    for name, arrays in FILES.items():
        (np.savez_compressed if name == "good" else np.savez)(folder + name + ".npz", **arrays)
    np.savez(folder + "fortran.npz", **changed(observations=np.asfortranarray(STATES)))
    np.savez(folder + "swapped.npz", **changed(observations=STATES.astype(">f8")))
    np.savez(folder + "pickled.npz", **changed(rewards=np.array([None] * 8, object)))
    np.savez(folder + "complex.npz", **changed(rewards=GOOD["rewards"].astype("c16")))
    with zipfile.ZipFile(folder + "sheet.npz", "w") as out:
        out.writestr("xl/workbook.xml", "<workbook/>")
    whole = open(folder + "flat.npz", "rb").read()
    open(folder + "cut.npz", "wb").write(whole[: len(whole) // 2])
    at = whole.index(STATES.tobytes())
    open(folder + "damaged.npz", "wb").write(whole[: at + 8] + b"\x01" + whole[at + 9 :])
    with zipfile.ZipFile(folder + "good.npz") as good:
        members = {name: good.read(name) for name in good.namelist()}
    with zipfile.ZipFile(folder + "liar.npz", "w") as out:  # a header that promises a row more
        for name, text in members.items():
            out.writestr(name, text.replace(b"(8, 3)", b"(9, 3)"))
    promise = (10**9).to_bytes(4, "little")  # a gigabyte, in the member's header and the directory
    bomb = bytearray(whole)
    for at in (whole.index(b"rewards.npy") - 30 + 22, whole.rindex(b"rewards.npy") - 46 + 24):
        bomb[at : at + 4] = promise
    open(folder + "bomb.npz", "wb").write(bomb)


def minari(path, change=lambda number, group: None):
    """Four episodes as Minari has them. CHANGE may spoil a group."""
    with h5py.File(path, "w") as file:
        for number, (begin, end) in enumerate([(0, 3), (3, 4), (4, 6), (6, 8)]):
            group = file.create_group("episode_%d" % number)
            group.attrs["who"] = "7" if number < 2 else 8
            group["observations"] = np.vstack([STATES[begin:end], GOOD["next_observations"][end - 1]])
            for name, source in [("actions", "actions"), ("rewards", "rewards"),
                                 ("terminations", "terminals"), ("truncations", "timeouts")]:
                group[name] = GOOD[source][begin:end]
            change(number, group)


def replace(group, name, value):
    del group[name]
    group[name] = value


def in_second(change):
    return lambda number, group: change(group) if number == 1 else None


def wide_who(group):
    del group.attrs["who"]
    wide = h5py.h5t.STD_I64LE.copy()
    wide.set_size(16)
    h5py.h5a.create(group.id, b"who", wide, h5py.h5s.create(h5py.h5s.SCALAR))


def spoil_observations(group):
    del group["observations"]
    group.create_group("observations")["inner"] = STATES


def link_observations(group):
    del group["observations"]
    group["observations"] = h5py.ExternalLink("good.hdf5", "observations")


def save_hdf5():
    for name, arrays in FILES.items():
        with h5py.File(folder + name + ".hdf5", "w") as file:
            for member, array in arrays.items():
                if array.dtype.kind == "U":
                    array = array.astype("S")
                file.create_dataset(member, data=array,
                                    compression="gzip" if name == "good" else None)
    with h5py.File(folder + "names.hdf5", "w") as file:  # experts of a length that varies
        for member, array in GOOD.items():
            file[member] = [str(x) for x in array] if member == "who" else array
    with h5py.File(folder + "nothing.hdf5", "w") as file:
        file["x"] = 1
    with h5py.File(folder + "elsewhere.hdf5", "w") as file:
        for member in GOOD:
            file[member] = h5py.ExternalLink("good.hdf5", member)
    with h5py.File(folder + "outside_file.hdf5", "w") as file:
        for member, array in GOOD.items():
            file.create_dataset(member, data=array,
                                external=[(folder + "raw", 0, 4096)] if member == "rewards" else None)
    whole = open(folder + "good.hdf5", "rb").read()
    open(folder + "cut.hdf5", "wb").write(whole[: len(whole) // 2])
    minari(folder + "minari.hdf5")
    minari(folder + "gap.hdf5", in_second(lambda g: g.file.move(g.name, "episode_9")))
    minari(folder + "few.hdf5", in_second(lambda g: replace(g, "observations", STATES[:1])))
    minari(folder + "vector.hdf5", in_second(lambda g: replace(g, "actions", np.ones((1, 2)))))
    minari(folder + "long.hdf5", in_second(lambda g: replace(g, "rewards", np.ones(3))))
    minari(folder + "lost.hdf5", in_second(lambda g: g.__delitem__("truncations")))
    minari(folder + "open.hdf5", in_second(lambda g: replace(g, "truncations", [False])))
    minari(folder + "minari_mark.hdf5", in_second(lambda g: replace(g, "truncations", [255])))
    minari(folder + "nobody.hdf5", in_second(lambda g: g.attrs.__delitem__("who")))
    minari(folder + "array.hdf5", in_second(lambda g: g.attrs.__setitem__("who", [1, 2])))
    minari(folder + "large.hdf5",
           lambda number, group: group.attrs.__setitem__("who", np.uint64(2**63 + number)))
    minari(folder + "wide.hdf5", in_second(wide_who))
    minari(folder + "groups.hdf5", in_second(spoil_observations))
    minari(folder + "link.hdf5", in_second(link_observations))


if what == "npz":
    save_npz()
else:
    import h5py

    save_hdf5()
