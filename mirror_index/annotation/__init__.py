"""The concepts that running texts name, and where; documents in, annotations out."""

from mirror_index.annotation.annotator import AnnotateOptions, Annotation, Annotator, annotate
from mirror_index.annotation.documents import Document, read_documents
from mirror_index.annotation.files import AnnotateReport, annotate_documents

__all__ = [
    "AnnotateOptions",
    "AnnotateReport",
    "Annotation",
    "Annotator",
    "Document",
    "annotate",
    "annotate_documents",
    "read_documents",
]
