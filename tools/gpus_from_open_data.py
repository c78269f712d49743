"""Write gpu_specs/*.yaml from the open data tables, once: the YAML is the truth afterwards.

    python tools/gpus_from_open_data.py DATA_FOLDER [--to gpu_specs]

DATA_FOLDER holds gpus.tsv, prices.tsv and sources.tsv. A file that exists is left alone; a row
without a memory size (bare processors) gives none, since nothing could be said to fit it.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
import textwrap
from pathlib import Path

from gpu_wording import Row, notes, readable, reported_sources, spelled

FIRST_LINE = "# yaml-language-server: $schema=gpu.schema.json"
COLUMNS = 100
SIZES = ("marketed_gb", "reported_mib", "torch_gib")

MEMORY = {
    "marketed_gb": "mem_marketed_gb", "reported_mib": "mem_reported_mib",
    "torch_gib": "mem_torch_gib", "type": "mem_type", "bandwidth_gb_s": "mem_bw_gbs",
    "l2_mb": "l2_mb",
}  # fmt: skip
COMPUTE = {
    "fp32": "fp32_tflops", "tf32": "tf32_dense", "fp16": "fp16_dense", "bf16": "bf16_dense",
    "fp8": "fp8_dense", "int8": "int8_dense_tops", "fp4": "fp4_dense",
}  # fmt: skip
LINK = {
    "name": "link_name", "gb_s_per_direction": "link_gbs_per_direction",
    "max_gpus": "max_gpus_link_domain",
}  # fmt: skip
NPU = re.compile(r"gaudi|trainium|inferentia|ascend|cambricon")
APU = re.compile(r"apple-|ryzen-ai|dgx-spark|jetson|mi300a|radeon-\d{3,4}[ms]$")
TOLD_NOT_TO_USE = re.compile(r"do not use|verify|marked est")


def rows(path: Path) -> list[Row]:
    """The rows of a tab-separated table, cells stripped."""
    with path.open(encoding="utf-8", newline="") as file:
        table = csv.DictReader(file, delimiter="\t")
        return [{key: (cell or "").strip() for key, cell in row.items()} for row in table]


def scalar(text: str) -> str:
    """A YAML scalar, quoted where a plain one could mean something else."""
    number_like = re.fullmatch(r"[\d.eE+:_-]+", text)
    plain = re.fullmatch(r"[A-Za-z0-9(][\w .()/:+@=%-]*", text) and ": " not in text
    return text if plain and not number_like else "'" + text.replace("'", "''") + "'"


def mapping(key: str, pairs: dict[str, str]) -> list[str]:
    """One key with a nested mapping: on one line where it fits, else a line for each."""
    if not pairs:
        return []
    items = [f"{name}: {value}" for name, value in pairs.items()]
    flow = f"{key}: {{{', '.join(items)}}}"
    return [flow] if len(flow) <= COLUMNS else [f"{key}:", *(f"  {item}" for item in items)]


def text(key: str, parts: list[str], indent: str = "") -> list[str]:
    """One key with folded text, each part on lines of its own."""
    lines = [f"{indent}{key}: >-"]
    for number, part in enumerate(parts, start=1):
        pad = indent + "  "
        end = ";" if number < len(parts) else ""
        lines += textwrap.wrap(
            part + end, COLUMNS, initial_indent=pad, subsequent_indent=pad,
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
    return lines


def numbers(row: Row, columns: dict[str, str]) -> dict[str, str]:
    """Keys of a group and the cells that have a value."""
    found = {key: row[column] for key, column in columns.items() if row[column] not in ("", "?")}
    return {key: scalar(v) if key in ("name", "type") else v for key, v in found.items()}


def kind(row: Row) -> str:
    """What sort of device the row describes."""
    if row["vendor"] == "Google":
        return "tpu"
    return "npu" if NPU.match(row["slug"]) else "apu" if APU.match(row["slug"]) else "gpu"


def heading(row: Row, aliases: list[str]) -> list[str]:
    """The keys that say which device this is."""
    words = [scalar(alias) for alias in aliases]
    flow = f"aliases: [{', '.join(words)}]"
    listed = [flow] if len(flow) <= COLUMNS else ["aliases:", *(f"  - {word}" for word in words)]
    pairs = {
        "vendor": row["vendor"], "architecture": row["architecture"], "kind": kind(row),
        "form_factor": row["form_factor"], "status": readable(row["status"]),
        "released": row["release_year"], "compute_capability": row["compute_capability"],
    }  # fmt: skip
    lines = [FIRST_LINE, f"name: {row['slug']}", f"title: {scalar(row['name'])}"]
    lines += listed if words else []
    for key, value in pairs.items():
        if value:
            lines.append(f"{key}: {value if key == 'released' else scalar(value)}")
    return lines


def geforce_aliases(slug: str) -> list[str]:
    """Spellings of a GeForce name: rtx-3090-ti is also rtx3090ti, 3090-ti and 3090ti."""
    match = re.fullmatch(r"rtx-(\d{4})((?:-(?:ti|super|d))*)(-\d+gb)?", slug)
    if not match:
        return []
    model, suffix = match[1] + match[2], match[2].replace("-", "")
    spellings = [f"rtx-{model}", f"rtx{model}", f"rtx{match[1]}{suffix}", model, match[1] + suffix]
    if suffix:
        spellings.append(f"rtx-{match[1]}{suffix}")
    return [name for name in dict.fromkeys(spellings) if name != slug]


def apple_aliases(slug: str) -> list[str]:
    """Spellings of an Apple chip: apple-m3-max is also m3-max and m3max."""
    name = slug.removeprefix("apple-")
    return [] if name == slug else list(dict.fromkeys([name, name.replace("-", "")]))


def listed_aliases() -> dict[str, list[str]]:
    """Spellings of the other names, from gpu_aliases.txt."""
    lines = Path(__file__).with_name("gpu_aliases.txt").read_text(encoding="utf-8").splitlines()
    return {slug: names.split() for slug, names in (line.split(":") for line in lines)}


def price_lines(prices: list[Row]) -> list[str]:
    """The prices that are one number and that their own source does not warn about."""
    lines = []
    for row in prices:
        sourced = row["date"] and row["source"] and not TOLD_NOT_TO_USE.search(row["note"])
        if not sourced or not re.fullmatch(r"[\d.]+", row["usd_per_hour"]):
            continue
        lines += [
            f"  - provider: {scalar(row['provider'])}",
            f"    usd_per_hour: {row['usd_per_hour']}",
            f"    date: {scalar(row['date'])}",
            f"    source: {scalar(readable(row['source']))}",
        ]
        note = f"    note: {scalar(readable(row['note']))}"
        long = len(note) > COLUMNS
        lines += text("note", [readable(row["note"])], indent="    ") if long else []
        lines += [note] if row["note"] and not long else []
    return ["prices:", *lines] if lines else []


def source_lines(row: Row, groups: dict[str, str], sources: dict[str, str]) -> list[str]:
    """Each group of numbers and where it was read."""
    lines = []
    for group, column in groups.items():
        if found := spelled(row[column], row, sources):
            lines += text(group, found, indent="  ")
        if group == "memory" and row["mem_reported_src"]:
            lines += text("memory_reported", reported_sources(row, sources), indent="  ")
    return ["sources:", *lines]


def spec(row: Row, aliases: list[str], prices: list[Row], sources: dict[str, str]) -> str:
    """The YAML text of one device; numbers without a source are left out."""
    memory = numbers(row, MEMORY)
    if kind(row) == "apu":
        memory["unified"] = "true"
    lines = heading(row, aliases) + mapping("memory", memory)
    groups = {"memory": "src_mem_bw_l2", "compute": "src_flops"}
    lines += mapping("compute", numbers(row, COMPUTE)) if row["src_flops"] else []
    if row["src_link_power"]:
        lines += mapping("link", numbers(row, LINK)) if row["link_name"] else []
        lines += [f"pcie: {scalar(row['pcie'])}"] if row["pcie"] else []
        lines += [f"tdp_w: {row['tdp_w']}"] if row["tdp_w"] else []
        if row["link_name"] or row["pcie"] or row["tdp_w"]:
            groups["link" if row["link_name"] else "power"] = "src_link_power"
    lines += price_lines(prices)
    lines += source_lines(row, groups, sources)
    for key in ("derived", "disputed"):
        if remark := row[f"{key}_fields"]:
            lines += text(key, [readable(remark)])
    if remark := notes(row):
        lines += text("notes", [remark])
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write one spec for each row of gpus.tsv that has none yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("data", type=Path)
    parser.add_argument("--to", type=Path, default=Path("gpu_specs"))
    chosen = parser.parse_args()
    sources = {row["code"]: row["url_or_id"] for row in rows(chosen.data / "sources.tsv")}
    prices = rows(chosen.data / "prices.tsv")
    listed = listed_aliases()
    for row in rows(chosen.data / "gpus.tsv"):
        slug = row["slug"]
        if not any(row[MEMORY[size]] for size in SIZES):
            sys.stderr.write(f"{slug}: no memory size, left out\n")
            continue
        own = [price for price in prices if price["gpu"] == slug]
        aliases = listed.get(slug) or geforce_aliases(slug) or apple_aliases(slug)
        path = chosen.to / f"{slug}.yaml"
        if not path.exists():
            path.write_text(spec(row, aliases, own, sources), encoding="utf-8")


if __name__ == "__main__":
    main()
