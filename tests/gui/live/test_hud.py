"""Chips of the live view: each as wide as its text, and only those for which there is room."""

from PySide6.QtWidgets import QApplication, QLabel

from mosaic.gui.widgets.live.hud import Hud


def test_chips_without_room_give_way_and_none_is_cut(application: QApplication) -> None:
    hud = Hud("state", "fps", "envs", "step", give_way=("envs", "fps"))
    for name, text in (("state", "● live"), ("fps", "30 fps"), ("envs", "8 envs"), ("step", "step 9,000")):
        hud.show_chip(name, text)
    hud.resize(hud.sizeHint())
    hud.show()
    assert hud.shown() == ["state", "fps", "envs", "step"]
    hud.show_chip("step", "step 10,000")
    assert hud.shown() == ["state", "fps", "step"], "before it is painted"
    step = next(chip for chip in hud.findChildren(QLabel) if chip.text() == "step 10,000")
    assert step.width() == step.sizeHint().width()
    hud.resize(hud.minimumSizeHint())
    assert hud.shown() == ["state"]
    hud.resize(hud.sizeHint())
    assert hud.shown() == ["state", "fps", "envs", "step"]
    hud.close()
