"""A worked solution: formula, numbers, result, and where it comes from."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llmcalc.formula import Step
from llmcalc.report.explain import lines
from llmcalc.report.page import Page

TERMS = st.dictionaries(
    st.from_regex(r"[a-z][a-z_]{0,20}", fullmatch=True), st.integers(0, 10**15), min_size=1
)


def test_a_step_is_aligned_on_the_equals_sign() -> None:
    step = Step(
        name="area",
        text="a · b",
        values={"a": 1024, "b": 3},
        result=3072,
        unit="m²",
        source="Euclid",
    )
    assert lines([step], Page()) == [
        "area = a · b",
        "     = 1,024 · 3",
        "     = 3,072 m²",
        "       exact; Euclid",
    ]


def test_a_given_number_is_not_repeated() -> None:
    step = Step(name="layers", text="layers", values={"layers": 32}, result=32)
    assert lines([step], Page()) == ["layers = layers", "       = 32", "         exact"]


def test_large_sizes_are_also_shown_in_the_unit_of_the_page() -> None:
    step = Step(name="kv", text="a", values={"a": 2**31}, result=2**31, unit="bytes")
    assert lines([step], Page())[1] == "   = 2,147,483,648 bytes = 2.00 GiB"
    assert lines([step], Page(units="gb"))[1] == "   = 2,147,483,648 bytes ≈ 2.15 GB"
    assert lines([step], Page(units="bytes"))[1] == "   = 2,147,483,648 bytes"


@given(TERMS, st.integers(30, 120))
def test_a_long_sum_is_broken_at_its_signs_and_keeps_its_terms(
    terms: dict[str, int], width: int
) -> None:
    total = sum(terms.values())
    step = Step(name="sum", text=" + ".join(terms), values=terms, result=total)
    found = lines([step], Page(width=width))
    words = " ".join(found).split()
    assert max(map(len, found)) <= width
    assert all(f"{value:,}" in words for value in [*terms.values(), total])
    assert not any(line.rstrip().endswith("+") for line in found)
