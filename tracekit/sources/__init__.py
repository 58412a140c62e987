"""The ways in: one module a foreign form, each lazy, each giving a Span for what it sees and a Problem for what it cannot read."""

from tracekit.sources.forms import FORMS, Form, recognise

__all__ = ["FORMS", "Form", "recognise"]
