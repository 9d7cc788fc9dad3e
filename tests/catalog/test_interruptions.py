"""The Spot interruption bands: AWS's five, dated, and open where AWS leaves them open."""

from __future__ import annotations

from datetime import date

from labkit.catalog import Catalog
from labkit.catalog.interruptions import interruption, interruptions

CATALOG = Catalog.load("2026-11-30")
BANDS = {(0.0, 0.05), (0.05, 0.1), (0.1, 0.15), (0.15, 0.2), (0.2, None)}


def test_every_band_is_one_of_awss_and_of_a_known_type():
    bands = interruptions(CATALOG.snapshot)
    assert bands
    for (name, region), band in bands.items():
        assert CATALOG.instance(name).name == name
        assert region == "us-east-1"
        assert (band.low, band.high) in BANDS
        assert band.provenance.source
        assert band.provenance.as_of == date(2025, 6, 28)


def test_a_band_in_words_and_its_cautious_end():
    words = {
        name: (band.words, band.cautious_share)
        for name in ("inf2.xlarge", "inf2.48xlarge", "g5.4xlarge", "g5.xlarge")
        if (band := interruption(CATALOG.snapshot, name, "us-east-1"))
    }
    assert words == {
        "inf2.xlarge": ("<5%", 0.05),
        "inf2.48xlarge": ("5-10%", 0.1),
        "g5.4xlarge": ("10-15%", 0.15),
        "g5.xlarge": (">20%", 0.2),
    }


def test_a_type_or_region_that_was_not_taken_down_has_no_band():
    assert interruption(CATALOG.snapshot, "g5.xlarge", "eu-west-1") is None
    assert interruption(CATALOG.snapshot, "m7i.xlarge", "us-east-1") is None


def test_the_bands_have_expired_and_say_so():
    band = interruption(CATALOG.snapshot, "g5.xlarge", "us-east-1")
    assert band is not None
    assert band.provenance.stale(date(2026, 11, 30))
    assert band.provenance.confidence == "low"
