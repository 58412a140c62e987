"""The shop window: what `__all__` promises can be had, and nothing is offered without being promised."""

import ast
import importlib
from pathlib import Path

import pytest

import tracekit
from tracekit import errors, instrument, model, traces

ROOT = Path(__file__).parents[1]
ROOMS = sorted(path.parent for path in (ROOT / "tracekit").rglob("__init__.py"))


def _module(room: Path) -> str:
    return ".".join(room.relative_to(ROOT).parts)


def test_the_root_offers_the_model_the_error_the_questions_and_the_recorders() -> None:
    own = {"__version__", "TracekitError", "instrument", "uninstrument"}
    inner = {"FORMAT", "NO_ATTRIBUTES"}
    assert set(tracekit.__all__) == set(model.__all__) - inner | own | set(traces.__all__)


@pytest.mark.parametrize("name", tracekit.__all__)
def test_a_name_of_the_root_is_the_one_of_its_room(name: str) -> None:
    homes = {"TracekitError": errors, "__version__": tracekit, "uninstrument": instrument} | dict.fromkeys(traces.__all__, traces)
    found = instrument if name == "instrument" else getattr(homes.get(name, model), name)
    assert getattr(tracekit, name) is found
    assert name in dir(tracekit)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'utils'"):
        _ = tracekit.utils  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType, reportUnknownMemberType]


@pytest.mark.parametrize("room", ROOMS, ids=_module)
def test_a_room_promises_what_it_offers(room: Path) -> None:
    """Each name in a room's `__all__` can be had, and no public name that the room's `__init__` defines is forgotten there."""
    module = importlib.import_module(_module(room))
    defined = _defined(room / "__init__.py")
    promised: list[str] = getattr(module, "__all__", sorted(defined))
    assert [name for name in promised if not hasattr(module, name)] == []
    assert defined - set(promised) == set()


def _defined(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names: set[str] = set()
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]):
                names.add(name)
            case _:
                pass
    return {name for name in names if not name.startswith("_")}
