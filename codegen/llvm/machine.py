"""From LLVM IR to machine code: verify, optimize for the host, emit an object, link it into the process.

The one place that imports llvmlite, at first use.
"""

from __future__ import annotations

import functools
import itertools
import os
import threading
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from eqsat.codegen.builder import Abilities, Registers
from eqsat.codegen.elements import halves
from eqsat.codegen.llvm.archive import archive, members
from eqsat.codegen.llvm.backend_faults import MENDED, may_be_met, mended
from eqsat.codegen.llvm.long_calls import emit_object, run_passes
from eqsat.codegen.llvm.processors import is_processor
from eqsat.ir.errors import InternalError, UsageError

# how code is made for the host; objects on disk are named by it
TARGET = {"opt": 3, "reloc": "pic", "codemodel": "small"}
TUNING = {"speed_level": 3, "loop_vectorization": True, "slp_vectorization": True, "loop_unrolling": True, "loop_interleaving": True}

# vectors of processors that LLVM knows by name, where no features are listed
WIDE = ("avx2", "avx512f", "avx512vl", "avx512bw")
IMPLIED = {
    **dict.fromkeys(("haswell", "x86-64-v3", "znver2", "znver3"), ("avx2",)),
    **dict.fromkeys(("skylake-avx512", "cascadelake", "cooperlake", "x86-64-v4"), WIDE),
    **dict.fromkeys(("icelake-client", "icelake-server", "tigerlake", "sapphirerapids", "znver4", "znver5"), (*WIDE, "avx512vbmi")),
}

# processors of AMD, and those of no maker in particular, by the beginnings of their names
OF_AMD_OR_ANY = ("znver", "bdver", "btver", "amdfam", "x86-64")

# features of AVX-512 that choose elements of so many bits from registers
CHOOSING = (("avx512f", (32, 64)), ("avx512bw", (16,)), ("avx512vbmi", (8,)))

_lock = threading.RLock()
_libraries = itertools.count()


@functools.cache
def binding() -> Any:
    """llvmlite.binding, ready for the host."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


class Machine:
    """A machine that code is made for: an LLVM triple, the name of a processor, and its features as LLVM writes them."""

    def __init__(self, triple: str, cpu: str, features: str = "") -> None:
        self.triple, self.cpu, self.features = triple, cpu, features
        self.machine = binding().Target.from_triple(triple).create_target_machine(cpu=cpu, features=features, **TARGET)

    @property
    def known(self) -> frozenset[str]:
        """The names of its features, with those that its processor implies for vectors."""
        named = {feature.removeprefix("+") for feature in self.features.split(",") if feature.startswith("+")}
        return frozenset(named | set(IMPLIED.get(self.cpu, ())))

    @property
    def abilities(self) -> Abilities:
        """Taking floats apart is vgetmant and vgetexp, scaling vscalef; elsewhere fusing is a call."""
        wide = {"avx512f", "avx512vl"} <= self.known
        fuses = not {"fma", "avx2", "avx512f"}.isdisjoint(self.known) or self.triple.startswith("aarch64")
        floats = "x" if self.triple.startswith("x86_64") else "w" if self.triple.startswith("aarch64") else ""
        chooses = frozenset(bits for feature, sizes in CHOOSING for bits in sizes if wide and feature in self.known)
        looks_ahead = floats == "x" and not self.cpu.startswith(OF_AMD_OR_ANY)
        return Abilities(scales=wide, fuses=fuses, masks=wide, floats=floats, chooses=chooses, looks_ahead=looks_ahead)

    @property
    def registers(self) -> Registers:
        """Vector registers: of 32 or 16 a few are left for what is loaded.  Stores past the caches need a fence that x86-64 has."""
        if "avx512f" in self.known:
            return Registers(64, 28, streams=True, names=_named("zmm", 32))
        if self.triple.startswith("x86_64"):
            wide = "avx2" in self.known
            return Registers(32 if wide else 16, 12, streams=True, names=_named("ymm" if wide else "xmm", 16))
        return Registers(16, 24, names=_named("v", 32)) if self.triple.startswith("aarch64") else Registers(16, 12)


def _named(kind: str, count: int) -> tuple[str, ...]:
    return tuple(f"{kind}{number}" for number in range(count))


class Host(Machine):
    """The machine that runs this process, and the LLVM that compiles for it; EQSAT_CPU names another processor that it can stand in for."""

    def __init__(self) -> None:
        llvm = binding()
        self.version = ".".join(map(str, llvm.llvm_version_info))
        triple, chosen = llvm.get_process_triple(), os.environ.get("EQSAT_CPU", "")
        if chosen and not is_processor(llvm.Target.from_triple(triple), chosen):
            known = f"a processor that LLVM {self.version} knows for {triple}, such as {llvm.get_host_cpu_name()}"
            raise UsageError(f"EQSAT_CPU: found {chosen!r} in the environment, expected {known}")
        cpu, features = (chosen, "") if chosen else (llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
        super().__init__(triple, cpu, features)
        self.jit = llvm.create_lljit_compiler(self.machine, use_jit_link=True)

    @property
    def identity(self) -> tuple[str, ...]:
        """What machine code depends on besides the kernels: the machine, LLVM and its settings, where the data of Python's arrays is."""
        return self.triple, self.cpu, self.features, self.version, f"{TARGET} {TUNING} {MENDED}", f"head {object.__basicsize__}"


@functools.cache
def host() -> Host:
    with _lock:
        return Host()


def machine_of(triple: str, cpu: str) -> Machine:
    """Another machine, for which code can be written but not run."""
    binding().initialize_all_targets()
    binding().initialize_all_asmprinters()
    return Machine(triple, cpu)


def optimize(text: str, on: Machine) -> Any:
    """The module of `text` after verification and O3; InternalError with LLVM's reason if it is illegal."""
    llvm = binding()
    module = _parsed(text)
    module.triple = on.triple
    module.data_layout = str(on.machine.target_data)
    tuning = llvm.create_pipeline_tuning_options()
    for setting, value in TUNING.items():
        setattr(tuning, setting, value)
    builder = llvm.create_pass_builder(on.machine, tuning)
    run_passes(builder.getModulePassManager(), module, builder)
    if "alwaysinline" in text:
        _inline_late(module, builder)
    if may_be_met(text, (function.name for function in module.functions if function.is_declaration)):
        optimized = str(module)
        again = mended(optimized)
        return _parsed(again) if again != optimized else module
    return module


def _parsed(text: str) -> Any:
    llvm = binding()
    try:
        module = llvm.parse_assembly(text, context=llvm.create_context())
        module.verify()
    except RuntimeError as error:
        raise InternalError(f"codegen: LLVM rejects the module, expected legal IR: {' '.join(str(error).split())}") from error
    return module


def _inline_late(module: Any, builder: Any) -> None:
    """Put in place what had to be a function until loops were vectorized (codegen/math/rare.py, native.py), and drop it."""
    for function in module.functions:
        if function.visibility.name == "hidden":
            if function.linkage.name == "weak_any":
                function.add_function_attribute("alwaysinline")
            function.linkage = "internal"
    passes = binding().create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_global_dead_code_eliminate_pass()
    run_passes(passes, module, builder)


class Library:
    """Functions linked into the process, which stay as long as this object; `imports` are addresses of functions that they call.

    code  an object, or an archive of several
    """

    def __init__(self, code: bytes, symbols: tuple[str, ...], imports: Mapping[str, int] | None = None) -> None:
        with _lock:
            linker = binding().JITLibraryBuilder().add_current_process()
            for member in members(code):
                linker.add_object_img(member)
            for name, address in (imports or {}).items():
                linker.import_symbol(name, address)
            for symbol in symbols:
                linker.export_symbol(symbol)
            self._linked = linker.link(host().jit, f"eqsat{next(_libraries)}")

    def address(self, symbol: str) -> int:
        return int(self._linked[symbol])


@functools.cache
def _halves() -> Library:
    return Library(object_code(halves.CODE), halves.FUNCTIONS)


def _compiled(text: str, on: Machine) -> bytes:
    return emit_object(on.machine, optimize(text, on))


@dataclass(frozen=True)
class _Asked:
    """Modules to compile for a machine, and how many threads may do it, of which the result does not depend."""

    texts: tuple[str, ...]
    identity: tuple[str, ...]
    threads: int = field(compare=False)


@functools.lru_cache(maxsize=1024)
def _object_code(asked: _Asked) -> bytes:
    here, texts = host(), asked.texts
    if min(asked.threads, len(texts)) < 2:
        return archive([_compiled(text, here) for text in texts])
    made: dict[str, Future[bytes]] = {}
    with ThreadPoolExecutor(min(asked.threads, len(texts)), "eqsat-llvm") as pool:
        for text in sorted(texts, key=len, reverse=True):
            try:
                made[text] = pool.submit(_compiled, text, Machine(here.triple, here.cpu, here.features))
            except RuntimeError:  # there are no more threads where the interpreter ends
                break
        return archive([made[text].result() if text in made else _compiled(text, here) for text in texts])


def object_code(*texts: str, threads: int = 1) -> bytes:
    """The relocatable object of a module in the host's format, or an archive of those of several, which as many threads may compile; the
    same one for the same texts on the same machine."""
    with _lock:
        return _object_code(_Asked(texts, host().identity, threads))


@functools.lru_cache(maxsize=1024)
def _library(code: bytes, symbols: tuple[str, ...]) -> Library:
    return Library(code, symbols, {name: _halves().address(name) for name in halves.called(code)})


def library(code: bytes, symbols: tuple[str, ...]) -> Library:
    """The linked object, which must be one of this machine; the same library for the same code."""
    with _lock:
        return _library(code, symbols)


def optimized_text(text: str) -> str:
    """The module after O3."""
    with _lock:
        return str(optimize(text, host()))


def assembly_text(text: str, on: Machine | None = None) -> str:
    """The assembly of the module, of the host or another machine."""
    with _lock:
        on = on or host()
        return str(on.machine.emit_assembly(optimize(text, on)))
