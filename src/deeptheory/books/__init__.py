"""The four books: their chapters, items and errata, as data. Knows nothing of claims."""

from deeptheory.books.library import Book, Chapter, Erratum, Item, books, find, item, items, nearest

__all__ = ["Book", "Chapter", "Erratum", "Item", "books", "find", "item", "items", "nearest"]
