"""Every item says where it stands in its book: the table from which reports cite."""

import pytest

from deeptheory import books


@pytest.mark.item("A20.1")
def test_every_item_is_cited_by_a_place_or_title_that_leads_back_to_it():
    lost = [
        item.id
        for book in books.books()
        for item in book.items
        if not any(item in books.find(f"{book.id} {words}") for words in (*item.where, item.title))
    ]
    assert lost == []
