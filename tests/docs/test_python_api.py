"""The reference of the Python API lists every public name."""

import pytest

import kohort.testing
from tests.docs.python_api import INTERNAL, PAGES, TWINS, all_members, entries, path_of, returned_classes


def test_public_names_have_entry() -> None:
    assert {path_of(name) for name in kohort.testing.__all__} - entries() == set()


@pytest.mark.long
@pytest.mark.needs("mkdocs")
def test_returned_classes_have_entry() -> None:
    paths = [path_of(entry) for name, page in PAGES.items() if name != TWINS for entry in page.entries]
    assert {returned for path in paths for returned in returned_classes(path)} - entries() == set()


@pytest.mark.long
@pytest.mark.needs("mkdocs")
def test_internal_members_exist() -> None:
    paths = {path.rpartition(".")[2]: path for path in entries()}
    unknown = {f"{name}.{member}" for name, of in INTERNAL.items() for member in of - all_members(paths[name])}
    assert unknown == set()
