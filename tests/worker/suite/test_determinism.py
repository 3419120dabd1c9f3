"""Same seed, same curve and same bits at the end; another seed, another curve; the env backend changes nothing."""

from worker_cases import Case
from worker_runs import curve_of, final_files, train

from mosaic.spec.run_dir import RunDir


def test_the_same_seed_gives_the_same_bits(case: Case, straight: RunDir, run_dir: RunDir) -> None:
    train(run_dir, *case.flags)
    assert curve_of(run_dir) == curve_of(straight)
    assert final_files(run_dir) == final_files(straight)


def test_another_seed_gives_another_curve(case: Case, straight: RunDir, run_dir: RunDir) -> None:
    train(run_dir, *case.flags, "--seed=2")
    assert curve_of(run_dir) != curve_of(straight)


def test_gymnasiums_wrapped_environments_give_the_curve_of_the_bare_ones(
    case: Case, straight: RunDir, run_dir: RunDir
) -> None:
    train(run_dir, *case.flags, "--env-backend=sync")
    assert curve_of(run_dir) == curve_of(straight)
    assert final_files(run_dir)["policy"] == final_files(straight)["policy"]
