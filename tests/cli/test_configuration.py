"""What a project has written down is found upward, and what is wrong in it is named with its line."""

from pathlib import Path

import pytest

from tracekit.cli.configuration import find_configuration
from tracekit.errors import TracekitError


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_the_nearest_file_that_says_anything_holds(tmp_path: Path) -> None:
    upper = _write(tmp_path / "tracekit.toml", "[check]\nfail_on = ['stuck']\n")
    _write(tmp_path / "app" / "pyproject.toml", "[tool.ruff]\n# no tracekit here\n")
    below = tmp_path / "app" / "src"
    below.mkdir(parents=True)
    found = find_configuration(below)
    assert found.path == upper
    assert found.section("check") == {"fail_on": ["stuck"]}
    own = _write(tmp_path / "app" / "pyproject.toml", "[tool.tracekit.check]\nfail_on = ['network > 0']\n")
    assert find_configuration(below).path == own
    assert find_configuration(below).section("check") == {"fail_on": ["network > 0"]}


def test_its_own_file_goes_before_the_projects(tmp_path: Path) -> None:
    own = _write(tmp_path / "tracekit.toml", "[stuck]\n")
    _write(tmp_path / "pyproject.toml", "[tool.tracekit.check]\n")
    assert find_configuration(tmp_path).path == own


def test_no_file_is_no_setting(tmp_path: Path) -> None:
    found = find_configuration(tmp_path)
    assert (found.path, dict(found.section("check"))) == (None, {})


def test_the_working_directory_is_where_it_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _write(tmp_path / "tracekit.toml", "")
    monkeypatch.chdir(tmp_path)
    assert find_configuration().path == path


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("tracekit.toml", "[check]\nfail_on = [\n", 3),
        ("tracekit.toml", "a = 1\na = 2\n", 2),
        ("pyproject.toml", "[tool.tracekit]\nx ==\n", 2),
    ],
)
def test_what_is_no_toml_is_told_with_its_line(name: str, text: str, line: int, tmp_path: Path) -> None:
    path = _write(tmp_path / name, text)
    with pytest.raises(TracekitError, match="no valid TOML") as caught:
        find_configuration(tmp_path)
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert caught.value.slug == "configuration-invalid"


def test_what_is_no_utf_8_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "tracekit.toml").write_bytes(b"# one\nname = '\xff'\n")
    with pytest.raises(TracekitError, match="line 2: TOML is UTF-8"):
        find_configuration(tmp_path)


def test_a_broken_file_that_does_not_speak_of_tracekit_is_not_ours(tmp_path: Path) -> None:
    _write(tmp_path / "pyproject.toml", "[tool.ruff\n")
    assert find_configuration(tmp_path).path is None


@pytest.mark.parametrize(
    ("name", "text", "heading"),
    [
        ("tracekit.toml", "\ncheck = 'all'\n", r"\[check\]"),
        ("pyproject.toml", "[tool.tracekit]\ncheck = 'all'\n", r"\[tool\.tracekit\.check\]"),
    ],
)
def test_a_section_that_is_no_table_is_refused(name: str, text: str, heading: str, tmp_path: Path) -> None:
    _write(tmp_path / name, text)
    with pytest.raises(TracekitError, match=f"line 2: 'check' is to be a table, as {heading}"):
        find_configuration(tmp_path).section("check")


def test_tool_tracekit_itself_must_be_a_table(tmp_path: Path) -> None:
    _write(tmp_path / "pyproject.toml", "[tool]\ntracekit = 3\n")
    with pytest.raises(TracekitError, match=r"as \[tool\.tracekit\]"):
        find_configuration(tmp_path)
