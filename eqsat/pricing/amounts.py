"""Costs as texts, in the unit of their cost model."""

from __future__ import annotations


def amount(value: float, unit: str = "ns") -> str:
    """1,234 ns; small costs, such as those of index expressions, with two decimals."""
    is_large = value >= 100 or (unit != "ns" and value == int(value))
    return f"{value:,.0f} {unit}" if is_large else f"{value:,.2f} {unit}"
