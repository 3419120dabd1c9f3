"""`python without_packages.py NAME,NAME MODULE [word…]`: run a module as if these packages were not installed."""

import importlib.abc
import importlib.util
import runpy
import sys

missing = set(sys.argv[1].split(","))
found = importlib.util.find_spec


class Nothing(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path, target=None):
        if fullname.partition(".")[0] in missing:
            raise ModuleNotFoundError(f"No module named '{fullname}'", name=fullname)


importlib.util.find_spec = lambda name, package=None: None if name in missing else found(name, package)
sys.meta_path.insert(0, Nothing())
sys.argv = sys.argv[2:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
