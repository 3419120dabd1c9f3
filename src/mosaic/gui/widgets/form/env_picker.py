"""A field for the environment: type to search in the families, or type any other Gymnasium id."""

from collections.abc import Iterable, Iterator

from mosaic.gui.models.form.catalogue_model import CatalogueModel, Family
from mosaic.gui.models.form.train_form import TrainForm
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.grouped_picker import GroupedPicker, Offer
from mosaic.gui.widgets.value_editors import Typed

PLACEHOLDER = "Search environments…"


class EnvPicker(GroupedPicker):
    """What is typed stays, listed or not."""

    def __init__(self, catalogue: CatalogueModel, form: TrainForm, theme: Theme, typed: Typed) -> None:
        self._catalogue, self._form = catalogue, form
        super().__init__(theme, self._offers, PLACEHOLDER, free=True)
        self.setProperty("wide", True)
        self.typed.connect(typed)

    def _offers(self, text: str) -> list[Offer]:
        algo = self._form.algo
        found = list(offers_of(self._catalogue.search(text, algo)))
        return found or near_offers(self._catalogue.near(text, algo))


def offers_of(families: Iterable[Family]) -> Iterator[Offer]:
    for family in families:
        yield Offer(family.name, "heading")
        if family.advice:
            yield Offer(family.advice, "advice")
        for env_id, actions in family.environments:
            yield Offer(env_id, aside=actions)


def near_offers(env_ids: Iterable[str]) -> list[Offer]:
    """What may have been meant."""
    found = [Offer(env_id) for env_id in env_ids]
    return [Offer("Did you mean", "heading"), *found] if found else []
