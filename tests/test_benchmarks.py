"""The benchmark suite measures the right thing: every peer computes the same numbers, and demands are judged rightly.

How fast anything is, is no test: times depend on the machine. What can be tested is that the peers run one and the
same computation, that rounds are interleaved, and that the report says what was measured.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks import environment, import_time, memory, package_size, report, timing
from benchmarks.__main__ import main, parse
from benchmarks.chart import draw
from benchmarks.demands import Demand, Limit, Operand, Ratio, judge, second_thread, torch_over_cygrad
from benchmarks.measures import MEASURES
from benchmarks.peers import PEERS, load
from benchmarks.peers.base import Peer
from benchmarks.results import Cell, Judgement, Report, Row
from benchmarks.suite import Options, chosen, row_names, run
from benchmarks.workloads import WORKLOADS, Workload

ROOT = Path(__file__).resolve().parent.parent
PNG = b"\x89PNG\r\n\x1a\n"


def _loadable() -> dict[str, Peer]:
    peers = {}
    for name in PEERS:
        try:
            peers[name] = load(name)
        except ImportError:
            continue
    return peers


LOADED = _loadable()
PROGRAMS = {workload.program: workload for workload in reversed(WORKLOADS)}


def _ids(workload: Workload) -> str:
    return workload.program


def lacks(name: str, workload: Workload) -> bool:
    """Whether a peer cannot run a workload: it has no such words, or (MyGrad) no second derivatives."""
    return (name, workload.program) == ("mygrad", "hvp") or bool(workload.peers and name not in workload.peers)


# --- the computation ------------------------------------------------------------------------------------------------


def test_the_oracle_and_the_floor_run_everything() -> None:
    assert {"torch", "numpy"} <= set(LOADED)
    for name in ("torch", "numpy"):
        assert set(LOADED[name].jobs) == set(PROGRAMS)


@pytest.mark.parametrize("name", [name for name in LOADED if name != "numpy"])
@pytest.mark.parametrize("workload", PROGRAMS.values(), ids=_ids)
def test_peers_compute_what_the_hand_written_floor_computes(workload: Workload, name: str) -> None:
    if lacks(name, workload):
        assert workload.program not in LOADED[name].jobs
        return
    expected = LOADED["numpy"].jobs[workload.program](workload.inputs(small=True)).outputs()
    found = LOADED[name].jobs[workload.program](workload.inputs(small=True)).outputs()
    assert len(found) == len(expected)
    for mine, floor in zip(found, expected, strict=True):
        assert mine.dtype == floor.dtype
        assert mine.shape == floor.shape
        tolerance = 1e-12 if floor.dtype == np.float64 else 1e-5
        np.testing.assert_allclose(mine, floor, rtol=tolerance, atol=tolerance * float(np.abs(floor).max()))


@pytest.mark.parametrize("workload", PROGRAMS.values(), ids=_ids)
def test_every_output_is_named_and_carries_numbers(workload: Workload) -> None:
    outputs = LOADED["numpy"].jobs[workload.program](workload.inputs(small=True)).outputs()
    if workload.program == "branches":  # one gradient for each of the weights
        assert len(outputs) == 1 + 3 * len(workload.inputs(small=True)["weights"])
    else:
        assert len(outputs) == len(workload.outputs)
    assert all(np.isfinite(output).all() and np.abs(output).max() > 0 for output in outputs)


@pytest.mark.parametrize("workload", PROGRAMS.values(), ids=_ids)
@pytest.mark.parametrize("name", LOADED)
def test_steps_do_not_accumulate(workload: Workload, name: str) -> None:
    if workload.program not in LOADED[name].jobs:
        assert lacks(name, workload)
        return
    job = LOADED[name].jobs[workload.program](workload.inputs(small=True))
    first = job.outputs()
    job.run()
    for before, after in zip(first, job.outputs(), strict=True):
        np.testing.assert_array_equal(before, after)


def test_sizes_are_those_of_the_descriptions() -> None:
    inputs = {program: workload.inputs() for program, workload in PROGRAMS.items()}
    assert inputs["chain"]["x"].shape == (8,)
    assert inputs["chain"].count == 100
    assert inputs["chain"]["x"].dtype == np.float64
    assert inputs["deep-chain"].count == 100_000
    assert [inputs["tiny-mlp"][name].shape for name in ("x", "w1", "w2", "w3")] == [(1, 2), (2, 16), (16, 16), (16, 1)]
    assert inputs["rnn"]["frames"].shape == (100, 8, 32)
    assert inputs["rnn"]["w_hidden"].shape == (32, 32)
    assert [inputs["mlp"][name].shape for name in ("x", "w1", "w2", "w3")] == [
        (64, 784),
        (784, 512),
        (512, 256),
        (256, 10),
    ]
    assert inputs["elementwise"]["x"].shape == (4 * 1024**2,)
    assert inputs["elementwise"]["x"].dtype == np.float32
    assert inputs["branches"]["weights"].shape == (16, 3, 256, 256)
    assert inputs["hvp"]["x"].shape == (32,)


def test_data_is_the_same_at_every_call() -> None:
    for workload in PROGRAMS.values():
        for name, array in workload.inputs(small=True).arrays.items():
            np.testing.assert_array_equal(array, workload.inputs(small=True)[name])


def test_cygrad_without_its_core_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cygrad", types.ModuleType("cygrad"))
    with pytest.raises(ImportError, match=r"pip install \."):
        load("cygrad")


def test_cygrad_runs_the_programs_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    # torch stands in for cygrad here, so that this peer and the judging are tested whether or not a core is built.
    monkeypatch.setitem(sys.modules, "cygrad", importlib.import_module("torch"))
    assert set(load("cygrad").jobs) == set(PROGRAMS)
    found = run(Options(("chain", "hvp"), ("cygrad", "torch"), "cygrad", 1, 0.02), lambda _: None)
    rows = {row.name: row for row in found.rows}
    assert set(rows["hvp"].cells) == {"cygrad", "torch"}
    assert rows["hvp"].empty == {}
    judged = {(judgement.row, judgement.demand): judgement.met for judgement in found.judgements}
    assert judged["chain", "torch / cygrad at least 20"] is False  # nobody is twenty times as fast as himself
    assert judged["chain", "jax / cygrad at least 0.4"] is None
    assert judged["hvp-2-threads", "cygrad (hvp) / cygrad at least 0.952"] is not None


# --- the registry ---------------------------------------------------------------------------------------------------


def test_rows_have_names_of_their_own() -> None:
    names = row_names()
    assert len(names) == len(set(names)) == len(WORKLOADS) + len(MEASURES)


def _demanded(name: str) -> dict[tuple[str, str, str], float]:
    rows: dict[str, tuple[Demand, ...]] = {workload.name: workload.demands for workload in WORKLOADS}
    return {
        (
            demand.numerator.peer,
            demand.denominator.peer,
            demand.denominator.row or demand.numerator.row,
        ): demand.at_least
        for demand in rows[name]
        if isinstance(demand, Ratio) and demand.firm
    }


def test_demands_are_those_that_cygrad_set_itself() -> None:
    over_torch = {
        "chain-forward": 8.0,
        "chain": 20.0,
        "tiny-mlp": 10.0,
        "rnn": 6.0,
        "mlp": 1.1,
        "elementwise": 1.5,
        "hvp": 6.0,
        "deep-chain": 12.0,
        "functions": 4.0,
        "hooks": 6.0,
        "forward-mode": 6.0,
        "checkpoints": 4.0,
        "rows": 6.0,
        "augmented": 10.0,
        "basic-index": 5.0,
        "branches-2-threads": 1.2,
    }
    for name, at_least in over_torch.items():
        assert _demanded(name)["torch", "cygrad", ""] == at_least
    assert _demanded("branches-2-threads")["cygrad", "cygrad", "branches"] == 1.6
    for name in ("chain-forward", "chain", "tiny-mlp", "rnn", "hvp"):
        assert _demanded(f"{name}-2-threads")["cygrad", "cygrad", name] == pytest.approx(1 / 1.05)
    assert _demanded("small-graphs-8-threads")["cygrad", "cygrad", "small-graphs"] == pytest.approx(1 / 1.05)
    assert _demanded("large-graphs-8-threads")["cygrad", "cygrad", "large-graphs"] == 1.5


def test_every_demand_names_known_rows_and_peers() -> None:
    carried = [demand for name in row_names() for demand in _demands(name)]
    assert len(carried) > 10
    for demand in carried:
        operands = [demand.operand] if isinstance(demand, Limit) else [demand.numerator, demand.denominator]
        for operand in operands:
            assert operand.peer in PEERS
            assert operand.row == "" or operand.row in row_names()


def _demands(name: str) -> tuple[Demand, ...]:
    for workload in WORKLOADS:
        if workload.name == name:
            return workload.demands
    return next(measure.demands for measure in MEASURES if measure.name == name)


def test_rows_of_one_program_race_together() -> None:
    heats = {workload.name: workload.heat for workload in WORKLOADS}
    assert heats["branches"] == heats["branches-2-threads"] != heats["chain"]


# --- timing ---------------------------------------------------------------------------------------------------------


def _entrant(name: str, run: Callable[[], object], log: list[str]) -> timing.Entrant:
    return timing.Entrant(("row", name), lambda: log.append(name), run)


def _work() -> int:
    return sum(range(20_000))


def test_warm_up_then_rounds() -> None:
    log: list[str] = []
    cells, failed = timing.race([_entrant(name, _work, log) for name in "abc"], seconds=0.0)
    assert failed == {}
    assert set(cells) == {("row", "a"), ("row", "b"), ("row", "c")}
    assert "".join(log[:3]) == "abc"  # warm-up
    rounds = ["".join(log[i : i + 3]) for i in range(3, len(log), 3)]
    assert rounds == ["abc"]  # no budget at all still gives everybody a number


def test_rounds_rotate_and_give_everybody_the_same_number() -> None:
    log: list[str] = []
    cells, _ = timing.race([_entrant(name, _work, log) for name in "abc"], seconds=0.05)
    rounds = ["".join(log[i : i + 3]) for i in range(3, len(log), 3)]
    assert rounds[:4] == ["abc", "bca", "cab", "abc"]
    for cell in cells.values():
        assert cell.rounds >= timing.MIN_ROUNDS
        assert 0 < cell.minimum <= cell.median
        assert cell.calls >= 1


def test_a_workload_that_raises_is_an_empty_cell_with_its_reason() -> None:
    def broken() -> None:
        raise NotImplementedError("no such\noperation")

    log: list[str] = []
    cells, failed = timing.race([_entrant("a", _work, log), _entrant("b", broken, log)], seconds=0.02)
    assert set(cells) == {("row", "a")}
    assert failed == {("row", "b"): "NotImplementedError: no such operation"}
    assert log.count("b") == 1


def test_spread_shrinks_with_samples_and_is_zero_for_equal_times() -> None:
    assert timing.spread([1.0, 1.0, 1.0, 1.0, 1.0]) == 0.0
    few, many = [0.9, 1.0, 1.1] * 2, [0.9, 1.0, 1.1] * 50
    assert 0 < timing.spread(many) < timing.spread(few)


# --- judging and reporting ------------------------------------------------------------------------------------------


def _row(name: str, threads: int = 1, **medians: float) -> Row:
    return Row(name, f"about {name}", "s", threads, {peer: Cell(t, t / 2, 7, 3) for peer, t in medians.items()})


FOLLOWS = frozenset({"chain", "branches"})


def test_ratio_is_met_or_missed_by_its_medians() -> None:
    rows = {"chain": _row("chain", cygrad=2e-5, torch=5e-4)}
    met = judge("chain", torch_over_cygrad(20.0), rows, FOLLOWS, 1)
    assert met.met is True
    assert met.found == pytest.approx(25.0)
    assert met.minimum == pytest.approx(25.0)
    assert judge("chain", torch_over_cygrad(25.5), rows, FOLLOWS, 1).met is False


def test_ratio_between_rows() -> None:
    rows = {"branches": _row("branches", cygrad=1.7), "branches-2-threads": _row("branches-2-threads", 2, cygrad=1.0)}
    assert judge("branches-2-threads", second_thread("branches", 1.6), rows, FOLLOWS, 1).met is True
    assert judge("branches-2-threads", second_thread("branches", 1.8), rows, FOLLOWS, 1).met is False
    # With another number of threads the row compared with is not the single thread that the demand speaks of.
    assert judge("branches-2-threads", second_thread("branches", 1.6), rows, FOLLOWS, 2).met is None


def test_what_was_not_measured_is_not_judged() -> None:
    rows = {"chain": _row("chain", cygrad=2e-5)}
    assert judge("chain", torch_over_cygrad(20.0), rows, FOLLOWS, 1).met is None
    assert judge("x", second_thread("chain", 1.6), rows, FOLLOWS, 1).met is None
    both = {"chain": _row("chain", cygrad=2e-5, torch=5e-4)}
    assert judge("chain", torch_over_cygrad(20.0), both, FOLLOWS, 4).met is None


def test_limit() -> None:
    rows = {"wheel-size": Row("wheel-size", "", "bytes", 1, {"cygrad": Cell(4e6, 4e6, 1)})}
    assert judge("wheel-size", Limit(Operand("cygrad"), 5e6, "at most 5 MB"), rows, FOLLOWS, 1).met is True
    assert judge("wheel-size", Limit(Operand("cygrad"), 3e6, "at most 3 MB"), rows, FOLLOWS, 1).met is False


def _report(*judgements: Judgement) -> Report:
    rows = (
        _row("chain", cygrad=2.345e-5, torch=4.69e-4, jax=1.38e-5),
        Row("hvp", "", "s", 1, {"cygrad": Cell(1e-4, 1e-4, 5)}, {"torch": "not importable: No module named 'torch'"}),
    )
    return Report({"processor": "abacus"}, {"cygrad": "0.1", "torch": "2.13.0"}, "cygrad", 1, rows, judgements)


def test_table_shows_medians_ratios_and_verdicts() -> None:
    missed = Judgement("chain", "torch / cygrad at least 30", ">= 30", True, 20.0, 20.5, False)
    hoped = Judgement("chain", "jax / cygrad at least 0.7", ">= 0.7", False, 0.588, 0.6, False)
    text = report.text(_report(missed, hoped), ("cygrad", "torch", "jax"))
    (line,) = [line for line in text.splitlines() if line.startswith("chain ")]
    for part in ("23.5 us", "469 us  20.0x", "13.8 us  0.59x", ">= 30 MISSED", ">= 0.7 hope unmet"):
        assert part in line
    assert "MISSED  chain: torch / cygrad at least 30: 20 (of minima 20.5)" in text
    assert "faults to explain: 1 (chain); demands judged: 2 of 2" in text
    assert "torch: not importable: No module named 'torch' (hvp)" in text


def test_no_fault_is_said_when_all_is_met() -> None:
    met = Judgement("chain", "torch / cygrad at least 10", ">= 10", True, 20.0, 20.5, True)
    unjudged = Judgement("hvp", "torch / cygrad at least 6", ">= 6", True)
    text = report.text(_report(met, unjudged), ("cygrad", "torch"))
    assert "faults to explain: none; demands judged: 1 of 2" in text
    assert "not judged  hvp: torch / cygrad at least 6" in text
    assert "faults" not in report.text(_report(), ("cygrad", "torch"))


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (2.345e-5, "s", "23.5 us"),
        (9.996e-4, "s", "1.00 ms"),
        (1.5, "s", "1.50 s"),
        (3e-10, "s", "0.30 ns"),
        (4.2e6, "bytes", "4.20 MB"),
        (0.0, "bytes", "0.00 B"),
    ],
)
def test_quantities(value: float, unit: str, text: str) -> None:
    assert report.quantity(value, "s" if unit == "s" else "bytes") == text


def test_json_holds_the_whole_report() -> None:
    data = json.loads(report.to_json(_report()))
    assert data["rows"][0]["cells"]["torch"] == {"median": 4.69e-4, "minimum": 2.345e-4, "rounds": 7, "calls": 3}
    assert data["rows"][1]["empty"]["torch"].startswith("not importable")
    assert data["reference"] == "cygrad"
    assert data["threads"] == 1


def test_chart(tmp_path: Path) -> None:
    draw(_report(), tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes().startswith(PNG)


def test_chart_without_reference_is_refused(tmp_path: Path) -> None:
    nothing = Report({}, {}, "cygrad", 1, (_row("chain", torch=1.0),), ())
    with pytest.raises(ValueError, match=r"cygrad.*--reference"):
        draw(nothing, tmp_path / "chart.png")
    assert not (tmp_path / "chart.png").exists()


# --- measures with processes of their own ---------------------------------------------------------------------------


def test_memory_of_a_step_covers_its_gradients() -> None:
    (growth,) = memory.measure("numpy", repeats=1)
    weights = sum(array.nbytes for array in PROGRAMS["mlp"].inputs().arrays.values())
    assert weights < growth < 100 * weights


def test_memory_of_a_peer_that_fails_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="no_such_peer"):
        memory.measure("no_such_peer", repeats=1)


def test_import_time_has_a_number_a_round() -> None:
    times = import_time.measure([PEERS["numpy"]], rounds=2)
    assert list(times) == ["numpy"]
    assert len(times["numpy"]) == 2
    assert min(times["numpy"]) > 0


def test_wheel_is_packed_from_what_ships(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "tiny_package_for_size"
    (package / "sub").mkdir(parents=True)
    (package / "__init__.py").write_text("x = 1\n" * 1000, encoding="utf-8")
    (package / "sub" / "more.pyi").write_text("x: int\n", encoding="utf-8")
    (package / "built.cpp").write_text("int x;\n" * 1000, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    names = [name for _, name in package_size.package_files(package.name)]
    assert names == [f"{package.name}/__init__.py", f"{package.name}/sub/more.pyi"]
    assert 0 < package_size.wheel_size(package.name) < 6000
    with pytest.raises(ImportError, match="no_such_package"):
        package_size.wheel_size("no_such_package")


def test_installed_size_counts_the_distribution_alone() -> None:
    assert package_size.installed_size("numpy") > 1_000_000


# --- the command line -----------------------------------------------------------------------------------------------


def _cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)


def test_a_run_end_to_end(tmp_path: Path) -> None:
    done = _cli(
        *("--reference", "torch", "--peers", "torch,numpy", "--only", "chain-forward,tiny", "--seconds", "0.05"),
        *("--json", str(tmp_path / "run.json"), "--chart", str(tmp_path / "run.png")),
    )
    assert done.returncode == 0, done.stderr
    assert "measuring chain-forward and chain-forward-2-threads" in done.stderr
    assert "not judged  chain-forward: torch / cygrad at least 8" in done.stdout
    data = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    rows = {row["name"]: row for row in data["rows"]}
    assert list(rows) == ["chain-forward", "tiny-mlp", "chain-forward-2-threads", "tiny-mlp-2-threads"]
    assert set(rows["chain-forward"]["cells"]) == {"torch", "numpy"}
    assert [rows[name]["threads"] for name in rows] == [1, 1, 2, 2]
    assert set(data["versions"]) == {"torch", "numpy"}
    assert all(cell["rounds"] >= 1 for row in rows.values() for cell in row["cells"].values())
    assert (tmp_path / "run.png").read_bytes().startswith(PNG)


def test_threads_reach_the_libraries(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    arguments = ("--peers", "torch", "--reference", "torch", "--only", "hvp", "--threads", "2", "--seconds", "0.02")
    done = _cli(*arguments, "--json", str(path))
    assert done.returncode == 0, done.stderr
    data = json.loads(path.read_text(encoding="utf-8"))
    assert data["threads"] == 2
    assert {row["threads"] for row in data["rows"]} == {2}


def test_thread_environment_sets_every_library() -> None:
    one = environment.thread_environment(1, {"PATH": "/bin", "XLA_FLAGS": "--xla_foo=1"})
    assert one["OMP_NUM_THREADS"] == one["OPENBLAS_NUM_THREADS"] == one["MKL_NUM_THREADS"] == one["NPROC"] == "1"
    assert one["XLA_FLAGS"] == "--xla_foo=1 --xla_cpu_multi_thread_eigen=false"
    assert one["PATH"] == "/bin"
    two = environment.thread_environment(2, one | {"XLA_FLAGS": ""})
    assert two["OMP_NUM_THREADS"] == "2"
    assert two["XLA_FLAGS"] == ""


def test_restart_happens_once(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[dict[str, str]] = []
    monkeypatch.setattr(os, "execve", lambda _path, _argv, env: started.append(env))
    monkeypatch.delenv(environment.THREADS_VARIABLE, raising=False)
    environment.restart_with_threads(3)
    assert [env["OMP_NUM_THREADS"] for env in started] == ["3"]
    monkeypatch.setenv(environment.THREADS_VARIABLE, "3")
    environment.restart_with_threads(3)
    assert len(started) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--peers", "torch,tensorflow"], "unknown peer 'tensorflow'"),
        (["--reference", "nobody"], "unknown peer 'nobody'"),
        (["--only", "no-such-row"], "no row has no-such-row in its name"),
        (["--threads", "0"], "must be at least 1"),
        (["--seconds", "0"], "must be above 0"),
        (["--json", "no/such/folder/run.json"], "does not exist"),
    ],
)
def test_mistakes_are_named(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    assert message in capsys.readouterr().err


def test_list_prints_the_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    assert capsys.readouterr().out.split() == row_names()


def test_the_reference_always_takes_part() -> None:
    assert parse(["--peers", "numpy"]).peers == ("cygrad", "numpy")
    assert parse(["--peers", "numpy torch", "--reference", "torch"]).peers == ("numpy", "torch")


def test_only_takes_parts_of_names() -> None:
    assert [name for name in row_names() if chosen(name, ("size",))] == ["wheel-size", "installed-size"]
    assert all(chosen(name, ()) for name in row_names())


def test_peers_that_are_not_there_are_empty_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)  # makes `import jax` raise
    told: list[str] = []
    found = run(Options(("elementwise-no", "hvp"), ("numpy", "jax", "mygrad"), "numpy", 1, 0.02), told.append)
    rows = {row.name: row for row in found.rows}
    assert told == ["hvp and hvp-2-threads"]
    assert set(rows["hvp"].cells) == {"numpy"}
    assert rows["hvp"].empty["jax"].startswith("not importable")
    assert rows["hvp-2-threads"].cells == {}
    assert rows["hvp-2-threads"].empty == {}
