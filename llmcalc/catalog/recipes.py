"""Data that ships beside the code: how models are trained."""

from __future__ import annotations

from llmcalc.catalog.shelf import Shelf
from llmcalc.spec.algorithm import Algorithm
from llmcalc.spec.framework import Framework
from llmcalc.spec.modules import Modules
from llmcalc.spec.optimizer import Optimizer
from llmcalc.spec.recipe import Recipe

RECIPES: Shelf[Recipe] = Shelf(kind=Recipe, word="precision recipe", folder="recipes")
OPTIMIZERS: Shelf[Optimizer] = Shelf(kind=Optimizer, word="optimizer", folder="optimizers")
FRAMEWORKS: Shelf[Framework] = Shelf(kind=Framework, word="training framework", folder="frameworks")
MODULES: Shelf[Modules] = Shelf(kind=Modules, word="names of layers", folder="modules")
ALGORITHMS: Shelf[Algorithm] = Shelf(kind=Algorithm, word="algorithm", folder="rlhf")


def recipe(name: str) -> Recipe:
    """The training recipe of that name or alias. Raises UsageError where there is none."""
    return RECIPES.named(name)


def optimizer(name: str) -> Optimizer:
    """The optimizer of that name or alias. Raises UsageError where there is none."""
    return OPTIMIZERS.named(name)


def framework(name: str) -> Framework:
    """The training framework of that name or alias. Raises UsageError where there is none."""
    return FRAMEWORKS.named(name)


def algorithm(name: str) -> Algorithm:
    """The algorithm of that name or alias. Raises UsageError where there is none."""
    return ALGORITHMS.named(name)
