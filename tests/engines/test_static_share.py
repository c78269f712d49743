"""SGLang's default share of the memory, worked out by hand from its rule."""

from __future__ import annotations

import pytest

from llmcalc.engines.static_share import static_share, vision_share


@pytest.mark.parametrize(
    ("memory_mib", "more", "share"),
    [
        # 512 + 1.5 · 2048 + 2 · 8 + 128 = 3728: row s013 of llmcalc/measurements/sglang.tsv, whose
        # pool takes 13.81 - 10.30 = 0.229 of 15.33 GiB less.
        (16_376, {}, 0.772),
        (24_564, {}, 0.847),  # 512 + 3072 + 48 + 128 = 3760
        (24_564, {"tp": 4}, 0.827),  # 512 + 3072 + 160 + 512 = 4256
        (40_960, {}, 0.833),  # 512 + 6144 + 64 + 128 = 6848
        # 512 + 12288 + 512 + 128 = 13440, more than the 10 GiB kept at least.
        (81_559, {}, 0.835),
        (81_559, {"chunk": 2048, "graph": 8}, 0.874),  # 10240
        # 512 + 12288 + 1024 + 1024 = 14848, and 512 · 8 · 4.5 = 18432 for eight groups.
        (143_771, {"tp": 8}, 0.897),
        (143_771, {"tp": 8, "attention_dp": 8}, 0.769),
        # Up to 300 sequences: 512 + 12288 + 512 + 1024 + 256 · 8 · 3 = 20480.
        (143_771, {"tp": 8, "attention_dp": 8, "graph": 256}, 0.858),
        (16_376, {"prefill_graphs": 42}, 0.752),
    ],
)
def test_what_is_left_of_a_gpu(memory_mib: int, more: dict[str, int], share: float) -> None:
    assert static_share(memory_mib, **more) == share


def test_images_need_room() -> None:
    assert vision_share(share=0.8, layers=24, d=1024) == pytest.approx(0.8 * 0.95)
    # 27 layers of 1152: 1.4238 times ViT-L.
    assert vision_share(share=0.8, layers=27, d=1152) == pytest.approx(
        0.8 * 0.95 * 0.95762, rel=1e-4
    )
    assert vision_share(share=0.8, layers=45, d=3200) == pytest.approx(0.8 * 0.95 * 0.8)
    assert vision_share(share=0.8, layers=2, d=64) == pytest.approx(0.8 * 0.95 * 1.05)
