"""Files that are replaced as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from kohort.pipeline.whole_files import replace_text, replacing


def test_readers_see_complete_files(tmp_path: Path) -> None:
    path = tmp_path / "findings.json"
    replace_text(path, "old")
    with replacing(path) as hidden:
        hidden.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert [file.name for file in tmp_path.iterdir()] == ["findings.json"]


def test_failed_write_keeps_old_file(tmp_path: Path) -> None:
    path = tmp_path / "findings.json"
    replace_text(path, "old")
    with pytest.raises(UnicodeEncodeError), replacing(path) as hidden:
        hidden.write_text("ne\udcff", encoding="utf-8")
    assert path.read_text() == "old"
