"""`train` under FSDP and DDP against torch's own: what is gathered, dealt out and held in buckets.

torch.distributed._tools.FSDPMemTracker watches fully_shard on tensors without data, in a process
group that answers nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec

import pytest

from llmcalc.api.plans import Asked, plan
from llmcalc.api.train import train
from llmcalc.catalog.find import card
from llmcalc.spec.card import ModelCard
from llmcalc.spec.pattern import layer_names

if find_spec("torch") is None:
    pytest.skip("needs torch, which is not installed", allow_module_level=True)

import torch
import torch.distributed as dist
import torch.nn.functional as F  # noqa: N812  the usual name
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.fsdp2_mem_tracker import FSDPMemTracker
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.testing._internal.distributed.fake_pg import FakeStore

from llmcalc.twin.model import ModelTwin
from tests.witness.live import Live

pytestmark = [pytest.mark.witness, pytest.mark.filterwarnings("ignore")]

RANKS, BATCH, SEQ = 8, 2, 512
IDS = 8 * BATCH * SEQ


@pytest.fixture
def ranks() -> Iterator[None]:
    """Rank 0 of eight that answer nothing."""
    dist.init_process_group("fake", rank=0, world_size=RANKS, store=FakeStore())
    yield
    dist.destroy_process_group()


def _cut(name: str) -> ModelCard:
    whole = card(name)
    return replace(whole, layers=tuple(layer_names(whole.layers)[-4:]))


def _peaks(of: ModelCard) -> tuple[int, int, int]:
    """Bytes of the second step: of its forward pass, its backward pass, the optimizer's step."""
    mesh = init_device_mesh("cpu", (RANKS,))
    with FakeTensorMode():
        model = _sharded(of, mesh)
        optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
        ids = torch.zeros(BATCH, SEQ, dtype=torch.long)
        tracker = FSDPMemTracker(model, optimizer)
        tracker.track_inputs((ids,))
        for _ in range(2):
            tracker.reset_mod_stats()
            with tracker:
                logits = model(ids)
                loss = F.cross_entropy(logits.float().flatten(0, 1), ids.flatten())
            forward = _most(tracker)
            with tracker:
                loss.backward()
            backward = _most(tracker)
            with tracker:
                optimizer.step()
                step = _most(tracker)
                optimizer.zero_grad()
    return forward, backward, step


def _sharded(of: ModelCard, mesh: dist.DeviceMesh) -> ModelTwin:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    model = ModelTwin(of)
    torch.set_default_dtype(before)
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model


def _most(tracker: FSDPMemTracker) -> int:
    (found,) = tracker.get_tracker_snapshot("peak").values()
    return int(found["Total"])


@pytest.mark.usefixtures("ranks")
@pytest.mark.parametrize("name", ["llama3-8b", "llama2-7b", "qwen2.5-7b"])
def test_fully_shard_holds_what_is_answered(name: str) -> None:
    """Within half a percent of each pass: a layer's norms and rotations; the step to the byte."""
    of = _cut(name)
    asked = Asked(seq=SEQ, micro_batch=BATCH, gpus=RANKS, shard="fsdp", precision="pure-bf16")
    chosen = plan(asked)
    (found,) = train(of, chosen).results
    ours = {
        phase: max(one.total for one in found.timeline if one.phase == phase)
        - chosen.framework.workspace
        for phase in ("forward", "backward", "step")
    }
    forward, backward, step = _peaks(of)
    assert ours["forward"] == pytest.approx(forward, rel=5e-3)
    assert ours["backward"] == pytest.approx(backward, rel=5e-3)
    assert ours["step"] == pytest.approx(step - IDS, abs=1024)


def test_distributed_data_parallel_holds_a_second_copy_of_all_gradients() -> None:
    """In buckets that are there before the first gradient, unless gradients are views of them."""
    module = torch.nn.Sequential(*(torch.nn.Linear(512, 512, bias=False) for _ in range(4)))
    size = 4 * 4 * 512 * 512
    found = {}
    dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    try:
        for views in (False, True):
            with Live(*module.parameters(), device="cpu") as live:
                parallel = DistributedDataParallel(module, gradient_as_bucket_view=views)
                parallel(torch.zeros(1, 512)).sum().backward()
                found[views] = round(live.now / size, 2)
            module.zero_grad()
            del parallel
    finally:
        dist.destroy_process_group()
    assert found == {False: 3, True: 2}
    of = _cut("llama3-8b")
    asked = Asked(seq=16, gpus=RANKS, precision="pure-bf16")
    one, many = (train(of, plan(replace(asked, gpus=n))).results[0] for n in (1, RANKS))
    assert many.per_gpu.buffers - one.per_gpu.buffers == one.per_gpu.gradients
