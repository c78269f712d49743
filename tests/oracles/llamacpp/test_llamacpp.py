"""Our memory of llama.cpp against the real engine, asked now.

One question an architecture; all of collect.py's with LLMCALC_ORACLE=all, which takes a minute and
a half. An answer takes a tenth of a second: the file of the model is a header and holes.
"""

from __future__ import annotations

import os
from dataclasses import asdict

import pytest

from llmcalc.catalog import find
from tests.engines.test_graph_buffer import missed
from tests.llamacpp_rows import cache_differences, compute_error
from tests.oracles.llamacpp.architectures import ARCHITECTURES, questions
from tests.oracles.llamacpp.engine import Question, answers, ask

pytestmark = pytest.mark.engines
pytest.importorskip("xllamacpp", reason="the real llama.cpp is not installed (engines-llamacpp)")
pytest.importorskip("gguf", reason="gguf, which writes the files to ask about, is not installed")

ALL = os.environ.get("LLMCALC_ORACLE") == "all"
CASES = [
    pytest.param(arch, card, question, id=f"{card}-{number}")
    for arch, cards in ARCHITECTURES.items()
    for card in (cards if ALL else cards[:1])
    for number, question in enumerate(questions(arch, first=card == cards[0]))
    if ALL or number == 0
]


@pytest.mark.parametrize(("arch", "card", "question"), CASES)
def test_what_we_say_is_what_the_engine_logs(arch: str, card: str, question: Question) -> None:
    answer = answers(ask(find.card(card), arch, question))
    if not answer["compute_buf_mib"]:
        pytest.skip("the engine refuses this setting")
    row = {name: str(value) for name, value in asdict(question).items()} | answer
    row |= {"model": card, "arch": arch}
    assert not cache_differences(row)
    assert abs(compute_error(row)) <= (0.12 if missed(row) else 0.02)
