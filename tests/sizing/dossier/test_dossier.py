"""The page to forward: complete, self-contained, accessible, and no number but the result's own."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser

import pytest

from labkit.contract.view import number
from labkit.sizing import SLO, Workload, explain
from labkit.sizing.dossier import document_of, dossier_of, html, markdown
from labkit.sizing.dossier.risks import risks
from tests.sizing.toy_recommendation import WORKLOAD, nothing, recommendation

TODAY = date(2026, 11, 30)
FOUND = recommendation()
DOSSIER = dossier_of(FOUND, on=TODAY, plan=True)
PAGE = html(document_of(DOSSIER))
TEXT = markdown(document_of(DOSSIER), pictures=True)


class Tags(HTMLParser):
    """Counts what is opened and insists that everything is closed in order."""

    VOID = frozenset({"meta", "br", "rect", "path", "circle"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: Counter[str] = Counter()
        self.attributes: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen[tag] += 1
        self.attributes.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen[tag] += 1
        self.attributes.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parsed(page: str) -> Tags:
    tags = Tags()
    tags.feed(page)
    tags.close()
    assert tags.open == []
    return tags


def test_the_page_is_whole_and_fetches_nothing():
    tags = parsed(PAGE)
    assert tags.seen["h1"] == 1
    for tag in ("script", "link", "img", "iframe", "object", "base"):
        assert tags.seen[tag] == 0
    for tag, attributes in tags.attributes:
        assert not {"src", "href", "srcset", "data", "xlink:href"} & attributes.keys(), tag
        assert not any(name.startswith("on") for name in attributes)
    assert "@import" not in PAGE
    assert "url(" not in PAGE


def test_the_page_can_be_read_aloud():
    tags = parsed(PAGE)
    assert ("html", {"lang": "en"}) in tags.attributes
    assert tags.seen["caption"] == tags.seen["table"] > 5
    heads = [attributes for tag, attributes in tags.attributes if tag == "th"]
    assert heads
    assert all(attributes.get("scope") in {"col", "row"} for attributes in heads)
    pictures = [a for _, a in tags.attributes if a.get("role") == "img"]
    assert len(pictures) == 4  # the frontier and three bars
    assert all(a.get("aria-label") or a.get("aria-labelledby") for a in pictures)
    assert "@media print" in PAGE


@pytest.mark.parametrize("page", [PAGE, TEXT], ids=["html", "md"])
def test_everything_an_architect_asks_is_there(page):
    plain = re.sub(r"\s+", " ", page.replace("\\", "").replace("&#36;", "$").replace("\u00a0", " "))
    best = FOUND.deployments[0]
    for words in (
        "Which machine should serve llama-3-8b with 10 requests/s",
        "2026-11-30; facts of the catalogue snapshot",
        f"Run {best.fleet.instances} × {best.setup.instance}",
        "Candidates",
        "Why not the others",
        "14.74 GiB it may use 13.56 GiB",
        "Memory of one L40S",
        "With queues, with lengths as they vary",
        "EC2 Spot",
        "your rate needed",
        "interrupted a month",
        "Running On-Demand G and VT instances (L-DB2E81BA)",
        "local NVMe drives",
        "Not modelled",
        "docs/accuracy.md",
        "The arithmetic of the winner",
        "bytes / (bandwidth x MBU)",
    ):
        assert words in plain, words


def test_the_candidates_are_the_recommendations_own_numbers():
    rows = re.findall(r"^\| (\d+)(?:\\\*)? \| (.+)$", TEXT, flags=re.MULTILINE)
    candidates = {int(rank): rest for rank, rest in rows if "-bound" in rest}
    assert len(candidates) == len(FOUND.per_instance())
    for deployment in FOUND.per_instance():
        row = candidates[deployment.rank].replace("\u00a0", " ").replace("&#36;", "$")
        assert f"{deployment.fleet.instances} × {deployment.setup.instance}" in row
        assert f"${deployment.fleet.usd_per_month.mid:,.2f}" in row
        assert f"{deployment.fleet.utilisation:.0%}" in row


def test_every_way_to_pay_and_every_term_stands_with_its_own_number():
    winner = DOSSIER.winner
    assert winner is not None
    plain = TEXT.replace("&#36;", "$")
    for option in winner.purchases:
        assert f"| {option.kind.title} |" in plain
        if option.usd_per_month is not None:
            assert f"${option.usd_per_month.mid:,.2f}" in plain
    for term in explain(winner.estimate):
        row = f"| {term.name.replace('_', chr(92) + '_')} | "
        value = "unknown" if term.value is None else None
        assert row + (value or "") in plain, term.name
        if term.value is not None and term.unit == "ms":
            assert f"{row}{number(term.value, 4)}" in plain, term.name


def test_a_purchase_is_the_fleet_times_the_price_times_the_month():
    winner = DOSSIER.winner
    assert winner is not None
    best = winner.deployment
    on_demand = next(o for o in winner.purchases if o.kind.name == "on-demand")
    assert on_demand.usd_per_month is not None
    assert on_demand.usd_per_month.mid == pytest.approx(best.fleet.usd_per_month.mid)
    assert winner.quota.needed == best.instance.vcpus * best.fleet.instances


def test_nothing_holds_still_makes_a_page():
    document = document_of(dossier_of(nothing(), on=TODAY, plan=True))
    parsed(html(document))
    text = markdown(document)
    assert "Nothing holds this: 3 set-ups were looked at." in text
    assert "The arithmetic of the winner" not in text
    assert "Ways to pay" not in text


def test_what_runs_too_slowly_is_nearer_than_what_does_not_run():
    names = [loser.setup.instance for loser in nothing().nearest]
    assert names == ["inf2.xlarge", "g4dn.xlarge", "p3.2xlarge"]
    page = markdown(document_of(dossier_of(nothing(), on=TODAY, plan=True)))
    assert "The nearest is inf2.xlarge" in page


def test_reasons_are_counted_by_code():
    reasons = {reason.code: reason for reason in DOSSIER.reasons}
    assert {code: reason.setups for code, reason in reasons.items()} == {
        "WEIGHTS": 1,
        "SLO_TTFT": 1,
        "DTYPE_UNSUPPORTED": 1,
    }


def test_a_promise_that_only_the_expected_value_keeps_is_a_risk():
    best = FOUND.deployments[0]
    tight = (best.served_tpot_ms.mid + best.served_tpot_ms.high) / 2
    workload = replace(WORKLOAD, slo=SLO(tpot_ms=tight))
    said = risks(dossier_of(recommendation(workload=workload), on=TODAY))
    assert any("At the slow end of the range TPOT is" in line for line in said)
    assert not any("At the slow end" in line for line in risks(DOSSIER))


def test_quantized_weights_are_a_risk():
    assert any("The weights are fp8; the model was published in bf16." in r for r in risks(DOSSIER))
    own = [d.setup for d in FOUND.deployments if d.setup.weights == "bf16"]
    said = risks(dossier_of(recommendation(setups=own), on=TODAY))
    assert not any("The weights are" in line for line in said)


def test_an_old_price_and_spot_are_risks():
    said = risks(dossier_of(FOUND, on=date(2027, 11, 30)))
    assert any("has expired: check it" in line for line in said)
    spot = [s for s in (d.setup for d in FOUND.deployments) if s.instance == "g6e.xlarge"]
    said = risks(dossier_of(recommendation(setups=spot, price_kind="spot"), on=TODAY))
    assert any("takes Spot capacity back at two minutes' notice (5-10%" in line for line in said)
    assert any("To outlive the loss of a capacity pool, hold" in line for line in said)


def test_the_quota_of_spot_counts_its_spares():
    spot = [d.setup for d in FOUND.deployments if d.setup.instance == "g6e.xlarge"]
    winner = dossier_of(recommendation(setups=spot, price_kind="spot"), on=TODAY).winner
    assert winner is not None
    option = next(o for o in winner.purchases if o.kind.name == "spot")
    assert option.instances > winner.fleet_size
    assert winner.quota.needed == option.instances * winner.deployment.instance.vcpus
    assert winner.quota.name == "All G and VT Spot Instance Requests"


def test_no_rate_means_one_instance_at_full_load():
    found = recommendation(workload=Workload(512, 256))
    text = markdown(document_of(dossier_of(found, on=TODAY, plan=True)))
    assert "with as many requests as it can" in text
    assert "No rate was named. One instance (one replica) keeps up with" in text


def test_hostile_text_stays_text():
    model = replace(FOUND.model, name="<script>alert(1)</script>|`x`")
    document = document_of(dossier_of(replace(FOUND, model=model), on=TODAY))
    tags = parsed(html(document))
    assert tags.seen["script"] == 0
    text = markdown(document)
    assert "<script" not in text.replace("\\<", "")
    tables = [line for line in text.splitlines() if line.startswith("|")]
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in tables}
    assert widths <= {4, 5, 6, 7, 11}


def test_markdown_tables_are_rectangles():
    for table in re.findall(r"(?:^\|.*\n)+", TEXT, flags=re.MULTILINE):
        lines = table.splitlines()
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1
        assert re.fullmatch(r"\|( -{3}:? \|)+", lines[1])


def test_a_page_without_pictures_links_none():
    assert "cost-against-latency.svg" in TEXT
    assert "cost-against-latency.svg" not in markdown(document_of(DOSSIER))
