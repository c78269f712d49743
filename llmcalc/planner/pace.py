"""How fast is a model served? Prefill and decode of one replica, from the time of single steps."""

from __future__ import annotations

from dataclasses import dataclass, replace

from llmcalc.blueprint.operations import Ledger
from llmcalc.blueprint.shard import Parallel
from llmcalc.engines.device import Device
from llmcalc.engines.kv_format import KvFormats
from llmcalc.engines.memory import Start
from llmcalc.engines.placement import placed
from llmcalc.engines.roofline import StepTime, scaled, step_time, together
from llmcalc.engines.serving import Serving
from llmcalc.engines.work import Work, work
from llmcalc.engines.workload import Phase, Workload
from llmcalc.errors import ImpossibleError
from llmcalc.spec.quantization import Quantization


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A model on its ranks, and the devices that they stand on."""

    ledger: Ledger
    """As prompts are computed."""
    absorbed: Ledger
    """As tokens are decoded: latent attention looks at latents."""
    format: Quantization
    kv: KvFormats
    serving: Serving
    parallel: Parallel
    device: Device
    full: Device | None = None
    """The device with what the engine reaches where memory is full of sequences, if it differs."""
    host: Device | None = None
    """Where layers are computed that no device holds."""

    def decode(self, batch: int, context: int) -> StepTime:
        """One new token of each of `batch` sequences on a replica, which see `context` tokens.

        Stages of a pipeline work on a share of the sequences each; a token passes all of them.
        """
        waves = 1 if self.serving.runtime.layers_over_devices else self.parallel.pp
        at_once = -(-batch // waves)
        return self._passed("decode", at_once, 1, context)

    def prefill(self, batch: int, prompt: int) -> StepTime:
        """All prompts of a replica, a chunk at a time; chunks see what stands before them."""
        chunk = min(self.serving.tokens_at_once, batch * prompt)
        if chunk >= prompt:
            at_once = chunk // prompt
            steps = [self._passed("prefill", at_once, prompt, prompt)] * (batch // at_once)
            if left := batch % at_once:
                steps.append(self._passed("prefill", left, prompt, prompt))
        else:
            # Costs grow in a straight line with what stands before: the middle chunk is the mean.
            full, rest = divmod(prompt, chunk)
            middle = self._passed("prefill", 1, chunk, max(chunk, (prompt + chunk) // 2))
            steps = [middle] * (full * batch)
            if rest:
                steps += [self._passed("prefill", 1, rest, prompt)] * batch
        return self._overlapped(together(steps), len(steps))

    def _overlapped(self, whole: StepTime, chunks: int) -> StepTime:
        """Stages work on chunks behind each other, until a batch of chunks is through."""
        at_once = min(chunks, self.serving.runtime.chunks_in_flight or chunks)
        stages = self.parallel.pp
        share = (at_once + stages - 1) / (at_once * stages)
        return whole if stages == 1 else scaled(whole, share)

    def saturated(self, batch: int, prompt: int, output: int) -> float:
        """Tokens of output a second of a replica where prompts come as fast as outputs end.

        `batch` sequences run all the time; each needs its prompt's share of the devices once.
        """
        loaded = replace(self, device=self.full) if self.full else self
        token = loaded.decode(batch, prompt + output // 2).seconds
        prompts = batch * loaded.prefill(1, prompt).seconds
        return batch * output / (output * token + prompts)

    def _passed(self, phase: Phase, batch: int, query: int, context: int) -> StepTime:
        """One pass through all stages, and through the layers of the host."""
        load = Workload(phase=phase, batch=batch, query=query, context=context)
        ledger = self.absorbed if phase == "decode" else self.ledger
        flash = self.serving.settings.flash_attn is not False
        start = Start(
            ledger=ledger, format=self.format, kv=self.kv, serving=self.serving,
            parallel=self.parallel,
        )  # fmt: skip
        times = [
            step_time(self._work(rank, load), self.device, ranks=self.parallel.tp, flash=flash)
            for rank in start.ranks()
        ]
        _, outside = placed(ledger, self.serving)
        if outside.order:
            times.append(step_time(self._work(outside, load), self._host(), flash=flash))
        return together(times)

    def _work(self, rank: Ledger, load: Workload) -> Work:
        return work(
            rank, format=self.format, formats=self.kv, workload=load,
            tensor_ranks=self.parallel.tp, expert_ranks=self.parallel.ep,
        )  # fmt: skip

    def _host(self) -> Device:
        if self.host is None:
            raise ImpossibleError(
                "some layers are computed on the host, whose bandwidth is not known",
                hint="name it: --host NAME, a processor's spec or a saved measurement",
            )
        return self.host
