"""The documentation site builds strictly, without a network, and all its links have targets."""

from pathlib import Path

import pytest

from tests.docs.python_api import PAGES, TWINS, entries, path_of, public_members
from tests.docs.site import DOCS, broken_links, build_site, navigation


def test_navigation_lists_each_page_once() -> None:
    pages = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    in_docs = [page for page in navigation() if not page.startswith("project/")]
    assert sorted(in_docs) == sorted(pages)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    run = build_site(folder)
    assert run.returncode == 0, run.stdout + run.stderr
    return folder


@pytest.mark.long
@pytest.mark.needs("mkdocs")
def test_built_site_has_no_broken_links(site: Path) -> None:
    assert list(broken_links(site)) == []


@pytest.mark.long
@pytest.mark.needs("mkdocs")
def test_inventory_has_public_names(site: Path) -> None:
    from mkdocstrings import Inventory  # not installed without the extra `docs`

    with (site / "objects.inv").open("rb") as file:
        listed = set(Inventory.parse_sphinx(file))
    twins = {path_of(entry) for entry in PAGES[TWINS].entries}
    names = entries().union(*(public_members(path) for path in entries() - twins))
    assert len(names) > 300
    assert names - listed == set()
