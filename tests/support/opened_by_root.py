"""Files as ROOT's own classes read them, in a process of their own whose terminal is watched."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.server.root_program import call_root

Contents = dict[str, Any]
"""By path within the file: of a tree its entries and the bytes of those that were read, of an
RNTuple its entries and fields, else the class."""


def open_with_root(files: Sequence[Path], step: int = 1) -> list[Contents]:
    """What is in each file, of which every object and every `step`-th entry was read. Whatever ROOT
    says while it does so is an error: what forkrun writes gives no reason to."""
    contents, said = call_root(contents_and_words, step, [str(f) for f in files], anew=True)
    assert said == "", f"{said}\n{contents}"
    return list(contents)


def contents_and_words(step: int, paths: list[str]) -> tuple[list[Contents], str]:
    """What is in the files, and what ROOT says meanwhile; for `call_root`."""
    import ROOT

    ROOT.gErrorIgnoreLevel = ROOT.kUnset  # as in a program that does not set it
    with tempfile.TemporaryFile() as said:
        os.dup2(said.fileno(), 2)
        contents = [_contents_of(ROOT.TFile.Open(path), path, step) for path in paths]
        said.seek(0)
        return contents, said.read().decode()


def _contents_of(file: Any, path: str, step: int) -> Contents:
    assert not file.TestBit(file.kRecovered), path
    contents = _contents(file, path, step)
    assert file.GetStreamerInfoList(), path
    file.Close()
    return contents


def _contents(folder: Any, file: str, step: int, prefix: str = "") -> Contents:
    contents: Contents = {}
    for key in folder.GetListOfKeys():
        path = prefix + key.GetName()
        if key.GetClassName() == "ROOT::RNTuple":
            contents[path] = _of_ntuple(path, file, step)
            continue
        read = key.ReadObj()
        if read.InheritsFrom("TDirectory"):
            contents |= _contents(read, file, step, path + "/")
        elif read.InheritsFrom("TTree"):
            n_entries = read.GetEntries()
            n_bytes = sum(read.GetEntry(entry) for entry in range(0, n_entries, step))
            contents[path] = [n_entries, n_bytes]
        else:
            contents[path] = read.ClassName()
    return contents


def _of_ntuple(path: str, file: str, step: int) -> list[int]:
    import ROOT

    reader = ROOT.RNTupleReader.Open(path, file)
    n_entries, values = reader.GetNEntries(), reader.CreateEntry()
    for entry in range(0, n_entries, step):
        reader.LoadEntry(entry, values)
    return [n_entries, reader.GetDescriptor().GetNFields()]
