"""The command `routes`, and what `read` writes beside a reading: `--routes` and `--flow`."""

from pathlib import Path

import pytest

from headlight.findings.route_tracing import ways_to
from headlight.findings.token_names import parked
from headlight.result import load
from studies.models import saved

TEXT = "the river is old , the mill near it fell"


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved("bert", tmp_path_factory.mktemp("models") / "bert")


@pytest.mark.slow
def test_it_shows_the_largest_links_and_writes_all(headlight, bert, tmp_path):
    paths = {name: tmp_path / f"found.{name}" for name in ("html", "svg", "json", "nc")}
    code, said, _ = headlight(
        "routes", TEXT, "--model", str(bert), "--token", "3", "--least", "0.02", "--top", "50",
        "--html", str(paths["html"]), "--json", str(paths["json"]), "--out", str(paths["nc"]),
    )  # fmt: skip
    assert code == 0
    headlight("routes", TEXT, "--model", str(bert), "--token", "3", "--out", str(paths["svg"]))
    assert all(path.exists() for path in paths.values())
    assert all(f"written: {paths[name]}" in said for name in ("html", "json", "nc"))
    found = load(paths["nc"], stage="routes")
    links = ways_to(found, 3, least=0.02, hidden=parked(found, "query")).links
    assert f"{len(links)} links" in " ".join(said.split())
    largest = max(links, key=lambda way: way.share)
    assert f"{largest.share:.1%}" in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--token", "40"), "there is no token 40: this text has 12 tokens, from 0 to 11"),
        (("--layer", "7"), "layer 7"),
        (("--html", "x.svg"), "must end in .html"),
        (("--kind", "cross"), "cross"),
    ],
)
def test_mistakes_are_refused(headlight, bert, arguments, sentence):
    code, _, complaints = headlight("routes", TEXT, "--model", str(bert), *arguments)
    assert code != 0
    assert sentence in " ".join(complaints.split())


@pytest.mark.slow
def test_a_reading_leads_to_its_routes(headlight, bert, tmp_path):
    page, routes = tmp_path / "cat.html", tmp_path / "its routes.html"
    code, said, _ = headlight(
        "read", TEXT, "--model", str(bert), "--html", str(page), "--routes", str(routes)
    )
    assert code == 0
    assert f"written: {routes}" in said
    assert 'href="its%20routes.html"' in page.read_text(encoding="utf-8")
    assert "routes of one text" in routes.read_text(encoding="utf-8")


@pytest.mark.slow
def test_what_tokens_come_from_is_written_beside_a_reading(headlight, bert, tmp_path):
    maps = tmp_path / "maps.nc"
    code, said, _ = headlight("read", TEXT, "--model", str(bert), "--flow", str(maps))
    assert code == 0
    assert said.index("After the last layer “") < said.index(f"written: {maps}")
    shares = load(maps)["share"]
    assert list(shares["map"].values) == ["rollout", "globenc", "alti"]
    assert abs(shares.sum("key") - 1).max() < 1e-6


def test_places_of_these_are_refused_before_the_work(headlight, tmp_path):
    code, _, complaints = headlight("read", TEXT, "--flow", str(tmp_path / "maps.svg"))
    assert code != 0
    assert "must end in .html or .json or .nc" in " ".join(complaints.split())
    code, _, complaints = headlight("read", "--audio", "a.wav", "--flow", str(tmp_path / "maps.nc"))
    assert code != 0
    assert "--flow is about a text; leave it or --audio out" in complaints
