"""Weight formats: each file with its scheme, under the names that people and logs write."""

from __future__ import annotations

from dataclasses import replace

import pytest

from llmcalc.catalog.data import POLICIES, SCHEMES, quantization, quantizations
from llmcalc.catalog.ggml import TYPES
from llmcalc.catalog.policy import resolved
from llmcalc.errors import InvalidFileError, UsageError
from llmcalc.spec.storage import Rule

GGUF = {
    "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_k", "q2_k_s", "q3_k_s", "q3_k_m", "q3_k_l",
    "q4_k_s", "q4_k_m", "q5_k_s", "q5_k_m", "q6_k", "iq1_s", "iq1_m", "iq2_xxs", "iq2_xs",
    "iq2_s", "iq2_m", "iq3_xxs", "iq3_xs", "iq3_s", "iq3_m", "iq4_nl", "iq4_xs", "tq1_0",
    "tq2_0", "f16", "f32", "gguf-bf16", "mxfp4_moe",
}  # fmt: skip
OTHERS = {
    "fp32", "bf16", "fp16", "fp8", "fp8-channel", "fp8-block", "int8", "w8a8", "int4", "awq",
    "gptq", "gptq-int8", "w4a16", "w8a16", "nf4", "nf4-single", "mxfp4", "mxfp4-vllm", "nvfp4",
}  # fmt: skip


def test_the_formats_that_must_exist_do() -> None:
    assert {one.name for one in quantizations()} == GGUF | OTHERS
    assert all(one.source and one.title for one in quantizations())


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Q4_K - Medium", "q4_k_m"), ("Q4_K_M", "q4_k_m"), ("q4-k-m", "q4_k_m"),
        ("Q5_K - Small", "q5_k_s"), ("Q3_K - Large", "q3_k_l"), ("Q6_K", "q6_k"),
        ("mostly Q4_0", "q4_0"), ("mostly F16", "f16"), ("all F32", "f32"),
        ("IQ2_XS - 2.3125 bpw", "iq2_xs"), ("IQ3_S mix - 3.66 bpw", "iq3_m"),
        ("MXFP4 MoE", "mxfp4_moe"), ("w8a8-int8", "w8a8"), ("bnb-4bit", "nf4"),
        ("awq-int4", "awq"), ("awq-int4 (marlin)", "awq"), ("gptq-int4", "gptq"),
        ("fp8-dynamic", "fp8-channel"), ("w4 (compressed-tensors)", "w4a16"),
        ("llm.int8", "int8"), ("int8", "int8"), ("int4", "int4"), ("BFLOAT16", "bf16"),
        ("float16", "fp16"),
    ],
)  # fmt: skip
def test_a_format_is_found_as_it_is_written(written: str, name: str) -> None:
    assert quantization(written).name == name


def test_a_group_size_behind_a_name_makes_a_format_of_its_own() -> None:
    found = quantization("w4a16-g256")
    assert (found.name, found.group) == ("w4a16-g256", 256)
    assert quantization("awq-g128").name == "awq"
    assert quantization("gptq-int4-g64").name == "gptq-g64"
    for name in ("fp8-g64", "awq-g0", "awq-g", "q4_k_m-g32"):
        with pytest.raises(UsageError):
            quantization(name)


def test_one_name_is_one_object_so_that_engines_may_remember_it() -> None:
    assert quantization("Q4_K - Medium") is quantization("q4_k_m")
    assert quantization("q4_k_m") in quantizations()


def test_no_name_is_taken_twice() -> None:
    names = [name.lower() for one in quantizations() for name in (one.name, *one.aliases)]
    assert len(names) == len(set(names))


def test_a_rule_that_names_no_format_of_the_scheme_is_an_error() -> None:
    policy, scheme = POLICIES.find("q4_k_m"), SCHEMES.find("gguf")
    assert policy
    assert scheme
    with pytest.raises(InvalidFileError, match="q9_k is no format of the scheme gguf"):
        resolved(replace(policy, default="q9_k"), scheme, None)
    rule = replace(scheme.rules[0], of=("q9_k",))
    with pytest.raises(InvalidFileError, match="q9_k"):
        resolved(policy, replace(scheme, rules=(rule,)), None)


def test_a_rule_on_positions_that_names_no_group_is_an_error() -> None:
    policy, scheme = POLICIES.find("q4_k_m"), SCHEMES.find("gguf")
    assert policy
    assert scheme
    rule = Rule(format="q6_k", weights=("attn_output",), until=(1, 8))
    with pytest.raises(InvalidFileError, match="q6_k asks for positions and names no group"):
        resolved(replace(policy, rules=(rule,)), scheme, None)


def test_rules_name_policies_formats_and_groups_that_exist() -> None:
    policies = {one.name for one in quantizations()}
    for scheme in SCHEMES.all():
        tensors = {name.tensor for name in scheme.names}
        known = tensors | {group.name for group in scheme.groups}
        for rule in scheme.rules:
            assert set(rule.files) <= policies, rule
            assert all(name in known or name.startswith("altup.") for name in rule.weights), rule
        for group in scheme.groups:
            assert set(group.tensors) <= tensors


def test_every_format_of_a_scheme_is_one_that_some_policy_stores_something_in() -> None:
    for scheme in SCHEMES.all():
        used = {
            name
            for one in quantizations() if one.scheme.name == scheme.name
            for name in (one.default, *(rule.format for rule in one.rules))
        }  # fmt: skip
        assert {format.name for format in scheme.formats} == used


def test_blocks_of_gguf_are_those_that_its_reader_knows() -> None:
    """Two tables of one thing, written apart: ggml's numbers of types, and the scheme."""
    scheme = SCHEMES.find("gguf")
    assert scheme
    blocks = {name.lower(): (size, held) for name, size, held in TYPES.values()}
    for format in scheme.formats:
        (plane,) = format.planes
        assert (plane.cols, plane.bits // 8) == blocks[format.name]
