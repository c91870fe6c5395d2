import errno
import json
import os
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anchorhead
from anchorhead.errors import FileError
from anchorhead.export import folder
from networks import networks


@pytest.fixture
def saved(tmp_path, constructions):
    made, _ = constructions["two_layers"]
    made.network.save(tmp_path / "model")
    return made.network, tmp_path / "model"


def same_arrays(first, second):
    names = ({}, {})
    layers = [
        [folder._described(layer, str(i), kept) for i, layer in enumerate(network.layers)]
        for network, kept in zip((first, second), names, strict=True)
    ]
    assert layers[0] == layers[1]
    assert names[0].keys() == names[1].keys()
    return all(names[0][key].tobytes() == names[1][key].tobytes() for key in names[0])


def test_theorems_survive_bit_for_bit(tmp_path, construction):
    made, X = construction
    made.network.save(tmp_path / "model")
    loaded = anchorhead.load(tmp_path / "model")
    assert same_arrays(made.network, loaded)
    assert (loaded(X) == made.network(X)).all()
    assert str(loaded) == str(made.network)


@settings(max_examples=30)
@given(networks())
def test_every_network_survives(tmp_path_factory, drawn):
    network, X = drawn
    place = tmp_path_factory.mktemp("any") / "model"
    network.save(place)
    loaded = anchorhead.load(place)
    assert same_arrays(network, loaded)
    assert (loaded(X) == network(X)).all()


def test_odd_numbers_survive(tmp_path):
    odd = np.array([[-0.0, 5e-324, 1.7e308, 1 / 3]])
    network = anchorhead.Network((anchorhead.Linear((1, 4), (1, 4), (), odd),))
    network.save(tmp_path / "odd")
    loaded = anchorhead.load(tmp_path / "odd").layers[0].constant
    assert loaded.tobytes() == odd.tobytes()


def test_the_folder_is_two_files_a_person_can_understand(saved):
    network, place = saved
    assert {file.name for file in place.iterdir()} == {"network.json", "weights.safetensors"}
    description = json.loads((place / "network.json").read_text())
    assert description["format"] == "anchorhead network"
    assert description["shape_in"] == list(network.shape_in)
    assert [layer["kind"] for layer in description["layers"]][:2] == ["linear", "attention"]


def refuses(place, says="."):
    with pytest.raises(FileError, match=says) as caught:
        anchorhead.load(place)
    assert "\n" not in str(caught.value)
    assert str(place) in str(caught.value)


@settings(max_examples=80)
@given(
    st.sampled_from(["network.json", "weights.safetensors"]),
    st.sampled_from(["truncate", "flip", "insert"]),
    st.floats(0, 1, exclude_max=True),
)
def test_any_damage_is_noticed(tmp_path_factory, name, damage, where):
    whole = _damaged_copy(tmp_path_factory)
    content = bytearray((whole / name).read_bytes())
    at = int(where * len(content))
    if damage == "truncate":
        del content[at:]
    elif damage == "flip":
        content[at] ^= 1
    else:
        content.insert(at, 0x31)
    (whole / name).write_bytes(content)
    try:
        anchorhead.load(whole)
    except FileError:
        return
    # White space may be added to the JSON; the network it tells must then be the same.
    assert name == "network.json"
    original = anchorhead.load(_damaged_copy(tmp_path_factory))
    assert same_arrays(anchorhead.load(whole), original)


def _damaged_copy(tmp_path_factory):
    rng = np.random.default_rng(0)
    head = anchorhead.Head(query=rng.normal(size=(2, 2)), key=rng.normal(size=(2, 2)))
    place = tmp_path_factory.mktemp("damaged") / "model"
    anchorhead.Network((anchorhead.Attention((head,), keep=2), anchorhead.Softmax())).save(place)
    return place


def test_foreign_and_missing_files(tmp_path, saved):
    _, place = saved
    refuses(tmp_path / "nowhere", "cannot be read")
    (tmp_path / "file").write_text("{}")
    refuses(tmp_path / "file", "cannot be read")
    (place / "network.json").write_text('{"format": "something else"}')
    refuses(place, "does not describe")
    (place / "network.json").write_text("[1, 2]")
    refuses(place, "does not describe")
    (place / "network.json").write_text("[" * 100_000)
    refuses(place, "not JSON")
    (place / "network.json").write_bytes(b"\xff\xfe")
    refuses(place, "not JSON")


def test_weights_of_another_network(tmp_path, saved, constructions):
    _, place = saved
    constructions["multi_head"][0].network.save(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "weights.safetensors", place)
    refuses(place, "cut off or changed")
    (place / "weights.safetensors").unlink()
    refuses(place, "cannot be read")


def test_a_changed_description_that_makes_sense(saved):
    _, place = saved
    file = place / "network.json"
    description = json.loads(file.read_text())
    assert description["layers"][1]["keep"] == 7
    description["layers"][1]["keep"] = None
    file.write_text(json.dumps(description))
    refuses(place, "was changed")


def resigned(place, change):
    """Edit the JSON and sign it again, as somebody who knows the format could."""
    description = json.loads((place / "network.json").read_text())
    change(description)
    description["sha256"] = folder._digest(description)
    (place / "network.json").write_text(json.dumps(description))


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["layers"][0].update(kind="relu"),
        lambda d: d["layers"][0].pop("kind"),
        lambda d: d["layers"][0].pop("terms"),
        lambda d: d["layers"][0].update(terms=5),
        lambda d: d["layers"][0].update(shape_in=[1, 1]),
        lambda d: d["layers"][0].update(unknown=3),
        lambda d: d["layers"][0]["constant"].update(array="missing"),
        lambda d: d["layers"][1].update(keep=10**9),
        lambda d: d["layers"][1].update(keep="many"),
        lambda d: d.update(layers=[]),
        lambda d: d.update(layers={"kind": "linear"}),
        lambda d: d.update(layers=None),
        lambda d: d.pop("layers"),
        lambda d: d["layers"][0].update(shape_in=[]),
        lambda d: d["layers"][1]["heads"][0].update(causal="no"),
        lambda d: d["layers"][0]["constant"].update(shape=[99, 99]),
        lambda d: d.update(shape_in=[99, 99]),
        lambda d: d.pop("shape_out"),
    ],
)
def test_a_signed_but_senseless_description(saved, change):
    _, place = saved
    resigned(place, change)
    refuses(place, "does not describe a network")


def test_a_newer_version_is_named(saved):
    _, place = saved
    resigned(place, lambda d: d.update(version=2))
    refuses(place, "version 2")


def test_saving_again_replaces_and_leaves_nothing_beside(saved, constructions):
    _, place = saved
    other, X = constructions["multi_head"]
    other.network.save(place)
    assert (anchorhead.load(place)(X) == other.network(X)).all()
    assert [file.name for file in place.parent.iterdir()] == ["model"]


def test_what_is_no_network_is_left_alone(tmp_path, constructions):
    network = constructions["multi_head"][0].network
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name in ("notes", "file"):
        with pytest.raises(FileError, match="not a saved network"):
            network.save(tmp_path / name)
    assert (tmp_path / "notes" / "mine.txt").read_text() == "mine"
    assert (tmp_path / "file").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    network.save(tmp_path / "empty")
    network.save(tmp_path / "new" / "deep")
    anchorhead.load(str(tmp_path / "new" / "deep"))


@pytest.mark.parametrize("kind", ["network.json", "weights.safetensors", "folder"])
def test_what_only_looks_like_a_network_is_left_alone(tmp_path, constructions, kind):
    place = tmp_path / "model"
    place.mkdir()
    mine = place / "network.json" if kind == "folder" else place / kind
    if kind == "folder":
        mine.mkdir()
        mine = mine / "thesis"
    mine.write_text('{"precious": true}')
    with pytest.raises(FileError, match="not a saved network"):
        constructions["multi_head"][0].network.save(place)
    assert mine.read_text() == '{"precious": true}'


def test_a_damaged_network_may_be_saved_again(saved):
    network, place = saved
    file = place / "network.json"
    file.write_bytes(file.read_bytes()[:200])
    network.save(place)
    anchorhead.load(place)


def test_a_link_stays_a_link(tmp_path, saved, constructions):
    _, place = saved
    link = tmp_path / "link"
    link.symlink_to(place)
    other, X = constructions["multi_head"]
    other.network.save(link)
    assert link.is_symlink()
    assert (anchorhead.load(place)(X) == other.network(X)).all()
    assert {file.name for file in tmp_path.iterdir()} == {"model", "link"}


@pytest.mark.parametrize("path", ["x" * 300, "a\0b", "\ud800", None, 3, 1.5, b"\0"])
def test_a_name_that_cannot_be(path, tmp_path, monkeypatch, constructions):
    monkeypatch.chdir(tmp_path)
    for call in (constructions["multi_head"][0].network.save, anchorhead.load):
        with pytest.raises(FileError):
            call(path)
    assert not list(tmp_path.iterdir())


def test_the_longest_name_will_do(tmp_path, constructions):
    place = tmp_path / ("x" * 250)
    constructions["multi_head"][0].network.save(place)
    anchorhead.load(place)


def test_whole_numbers_and_truths_of_numpy_can_be_saved(tmp_path):
    head = anchorhead.Head(query=np.eye(2), key=np.eye(2), causal=np.bool_(True))
    layers = (
        anchorhead.Linear((np.int64(2), 2), (2, 2), (anchorhead.Term(),)),
        anchorhead.Attention((head,), keep=np.int64(1)),
    )
    anchorhead.Network(layers).save(tmp_path / "model")
    assert anchorhead.load(tmp_path / "model").layers[1].heads[0].causal is True


def test_deep_nesting_is_not_json_enough(saved):
    _, place = saved
    for depth in range(900, 1000, 9):
        text = '{"format":"anchorhead network","version":1,"x":' + "[" * depth + "]" * depth + "}"
        (place / "network.json").write_text(text)
        refuses(place)


@pytest.mark.parametrize("moment", ["fsync", "rename"])
def test_a_full_disk_leaves_the_old_network(saved, constructions, monkeypatch, moment):
    network, place = saved
    X = constructions["two_layers"][1]

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if moment == "fsync":
        monkeypatch.setattr(folder.os, "fsync", full)
    else:
        rename = folder.Path.rename
        monkeypatch.setattr(
            folder.Path,
            "rename",
            lambda self, to: (
                full() if to == place and ".old" not in self.name else rename(self, to)
            ),
        )
    with pytest.raises(FileError, match="No space left"):
        constructions["multi_head"][0].network.save(place)
    monkeypatch.undo()
    assert [file.name for file in place.parent.iterdir()] == ["model"]
    assert (anchorhead.load(place)(X) == network(X)).all()
