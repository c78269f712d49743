"""GPUs whose pages give no bandwidth: bins of Apple chips, graphics inside processors."""

from __future__ import annotations

from gpu_rates import DERIVED, rates
from gpu_wording import Row

_APPLE: dict[str, tuple[int, tuple[tuple[int, str], ...]]] = {
    "apple-m1": (8, ((7, ""),)), "apple-m1-pro": (16, ((14, ""),)),
    "apple-m1-max": (32, ((24, ""),)), "apple-m1-ultra": (64, ((48, ""),)),
    "apple-m2": (10, ((8, ""),)), "apple-m2-pro": (19, ((16, ""),)),
    "apple-m2-max": (38, ((30, ""),)), "apple-m2-ultra": (76, ((60, ""),)),
    "apple-m3": (10, ((8, ""),)), "apple-m3-pro": (18, ((14, ""),)),
    "apple-m3-max": (40, ((30, "300"),)), "apple-m3-ultra": (80, ((60, ""),)),
    "apple-m4": (10, ((8, ""),)), "apple-m4-pro": (20, ((16, ""),)),
    "apple-m4-max": (40, ((32, "410"),)),
    "apple-m5": (10, ((8, ""),)), "apple-m5-pro": (20, ((16, ""),)),
    "apple-m5-max": (40, ((32, "460"),)),
}  # fmt: skip
"""GPU cores of the full chip and of its smaller bins, with their GB/s where these differ."""

_SHARED = {
    "radeon-780m.c4020": ("radeon-780m", "PHOENIX", "LPDDR5X", "119.9", "16"),
    "radeon-760m.c4022": ("radeon-760m", "PHOENIX", "LPDDR5X", "119.9", "16"),
    "radeon-890m.c4224": ("radeon-890m", "STRIX", "LPDDR5X", "128", "16"),
    "radeon-880m.c4225": ("radeon-880m", "STRIX", "LPDDR5X", "128", "16"),
    "radeon-8050s.c4271": ("radeon-8050s", "HALO", "LPDDR5X", "256", "128"),
}
"""Pages of graphics that share the processor's memory: name, source, memory, GB/s, GB."""


def apple_bins(open_rows: dict[str, Row]) -> list[Row]:
    """Rows of smaller bins: as the full chip, with a rate by the number of cores."""
    found = []
    for slug, (full, bins) in _APPLE.items():
        for cores, gb_s in bins:
            row = dict(open_rows[slug])
            rate = float(row["fp32_tflops"]) * cores / full
            found.append(row | {
                "slug": f"{slug}-{cores}c",
                "name": f"{row['name'].partition(' (')[0]} ({cores}-core GPU)",
                "mem_bw_gbs": gb_s or row["mem_bw_gbs"],
                "fp32_tflops": f"{float(f'{rate:.3g}'):g}",
                "tdp_w": "", "src_link_power": "",
                "street_price_usd": "", "street_price_date": "", "street_price_src": "",
                "derived_fields": f"fp32 = {cores}/{full} of the full chip's",
                "disputed_fields": "",
                "comment": f"{row['comment']}; largest configuration of the full chip,"
                           " this bin may be sold with less",
                "src_mem_bw_l2": "APPLE;HF;APPLECORES", "src_flops": "HF;APPLECORES",
            })  # fmt: skip
    return found


def shared_memory(pages: dict[str, Row], columns: list[str]) -> list[Row]:
    """Rows of graphics inside processors; their memory is the fastest that the chip takes."""
    found = []
    for page, (name, source, memory, gb_s, size) in _SHARED.items():
        told = pages[page]
        clocked = float(told["boost_clock_mhz"]) * 1e6 * int(told["shading_units"])
        # The pages count dual issue for RDNA 3 and not for 3.5; the open data counts it for both.
        matrix, code = rates(told)
        found.append(dict.fromkeys(columns, "") | matrix | {
            "fp32_tflops": f"{float(f'{4 * clocked / 1e12:.4g}'):g}",
            "slug": name, "name": told["name"], "vendor": "AMD", "form_factor": "SoC",
            "architecture": told["architecture"].replace(" ", "").removesuffix(".0"),
            "status": "shipping", "release_year": told["release_date"][:4],
            "mem_marketed_gb": size, "mem_type": memory, "mem_bw_gbs": gb_s,
            "derived_fields": f"fp32 counts dual issue; {DERIVED[code]}",
            "src_mem_bw_l2": source, "src_flops": f"TPU;{code}",
            "techpowerup_url": told["tpu_url"],
            "comment": "shares the processor's memory: size and bandwidth are those of the source;"
                       " a machine may have more of it, or slower",
        })  # fmt: skip
    return found
