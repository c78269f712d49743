"""Write the figures of docs/rlhf.md anew: `python tools/rlhf_page.py`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.published.rlhf_page import PAGE, current

PAGE.write_text(current(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
