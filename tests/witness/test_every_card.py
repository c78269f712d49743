"""Every card of the catalog against its class of transformers, built on the meta device.

Skipped where torch and transformers are not installed: pip install 'llmcalc-proof[witness]'.
"""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from llmcalc.catalog.find import card, cards
from llmcalc.checks import witness
from llmcalc.checks.class_faults import FAULTS

if find_spec("torch") is None or find_spec("transformers") is None:
    pytest.skip("needs torch and transformers, which are not installed", allow_module_level=True)

pytestmark = [pytest.mark.witness, pytest.mark.filterwarnings("ignore")]

NAMES = [one.name for one in cards()]
WITHOUT_CLASS = {
    "arctic-480b", "deepseek-moe-16b", "gemma3n-e2b", "gemma3n-e4b", "grok-1",
    "llama-3.3-nemotron-super-49b",
}  # fmt: skip
"""Cards that nothing in transformers 5.24.0 can witness; a new one is added here on purpose."""


@pytest.mark.parametrize("name", NAMES)
def test_the_class_of_a_card_has_as_many_parameters(name: str) -> None:
    """Equal to the integer, or off by exactly what a listed fault of the class predicts."""
    found = witness.testify(card(name))
    assert found.ok, found
    assert (found.verdict == "no class") == (name in WITHOUT_CLASS), found


def test_published_counts_of_faulty_classes_side_with_the_card() -> None:
    """Where a class is known to be wrong, the public file agrees with the card to the integer."""
    files = {"flan-t5-small": 76_961_152, "flan-t5-base": 247_577_856, "flan-t5-xl": 2_849_757_184}
    for name, params in files.items():
        found = witness.testify(card(name))
        assert (found.verdict, found.ours) == ("known fault", params)
        assert found.theirs != params
    assert FAULTS


def test_one_changed_field_is_told_with_its_difference() -> None:
    """A card with one head size wrong differs by what that field weighs."""
    from dataclasses import replace

    right = card("qwen2.5-0.5b")
    found = witness.testify(replace(right, vocab_size=right.vocab_size + 1))
    assert found.ok  # the class is built from the changed card, and agrees with it
    wrong = replace(right, head_bias=True)
    found = witness.testify(wrong)
    assert not found.ok
    assert f"{-right.vocab_size:+,}" in found.reason


def test_the_command_prints_a_line_a_card_and_a_sum(capsys: pytest.CaptureFixture[str]) -> None:
    """Named cards alone are built; the last line counts the verdicts."""
    assert witness.run(["gpt2", "grok-1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "gpt2: equal: 124,439,808 GPT2LMHeadModel"
    assert lines[1].startswith("grok-1: no class: 315,684,820,992: published as JAX code")
    assert lines[2] == "1 equal, 1 no class"
