"""For other programs: each exporter is one file that renders findings or spans in a form that some program reads.

`tracekit.report` is for eyes. OpenTelemetry calls the in-process end of its SDK an exporter too; that one is another thing.
"""
