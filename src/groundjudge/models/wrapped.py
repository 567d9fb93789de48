"""A wrapper that was put around a function of one object, put around the same function of another one."""

from __future__ import annotations

from collections.abc import Callable
from types import CellType, FunctionType, MethodType
from typing import Any, TypeAlias

Function: TypeAlias = Callable[..., Any]


def wrapped_alike(wrapper: Function, owner: object, replacement: Function) -> Function:
    """The wrapper with `replacement` in place of the method of `owner` that it calls.

    Tracers such as LangSmith's `wrap_openai` replace a method of one client by a function that calls the
    method. A copy of the client needs the same function around the copy's method.

    Args:
        wrapper: what stands in place of the method: the method itself, or a function that calls it, through
            as many further functions as there are.
        owner: the object that the method belongs to.
        replacement: the same method of another object.

    Returns:
        The wrapper itself if it does not call the method, as a mock does not.
    """
    if isinstance(wrapper, MethodType):
        return replacement if wrapper.__self__ is owner else wrapper
    if not isinstance(wrapper, FunctionType) or not wrapper.__closure__:
        return wrapper
    cells = tuple(_replaced(cell, owner, replacement) for cell in wrapper.__closure__)
    alike = FunctionType(wrapper.__code__, wrapper.__globals__, wrapper.__name__, wrapper.__defaults__, cells)
    alike.__kwdefaults__ = wrapper.__kwdefaults__
    alike.__dict__.update(wrapper.__dict__)
    return alike


def _replaced(cell: CellType, owner: object, replacement: Function) -> CellType:
    """The cell of a closure, or a new one if it holds the method or a wrapper around it."""
    try:
        held = cell.cell_contents
    except ValueError:  # an empty cell
        return cell
    if not isinstance(held, FunctionType | MethodType):
        return cell
    alike = wrapped_alike(held, owner, replacement)
    return cell if alike is held else CellType(alike)
